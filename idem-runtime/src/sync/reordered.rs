//! Atomics whose memory order loom explores.
//!
//! loom takes a sequentially consistent access for an acquire or release, which is less than it is.
//! So each is preceded by a sequentially consistent fence here, which is how compilers for processors
//! of weak order make one.

pub(crate) use std::sync::atomic::Ordering;

use loom::sync::atomic::fence;

macro_rules! atomic {
    ($($name:ident: $type:ty;)*) => {
        $(
            #[derive(Debug, Default)]
            pub(crate) struct $name(loom::sync::atomic::$name);

            #[allow(dead_code, reason = "not each type needs each access")]
            impl $name {
                pub(crate) fn new(value: $type) -> Self {
                    Self(loom::sync::atomic::$name::new(value))
                }

                pub(crate) fn load(&self, order: Ordering) -> $type {
                    fence_for(order);
                    self.0.load(order)
                }

                pub(crate) fn store(&self, value: $type, order: Ordering) {
                    fence_for(order);
                    self.0.store(value, order);
                }

                pub(crate) fn swap(&self, value: $type, order: Ordering) -> $type {
                    fence_for(order);
                    self.0.swap(value, order)
                }

                pub(crate) fn fetch_update(
                    &self,
                    set: Ordering,
                    fetch: Ordering,
                    change: impl FnMut($type) -> Option<$type>,
                ) -> Result<$type, $type> {
                    fence_for(set);
                    self.0.fetch_update(set, fetch, change)
                }
            }
        )*
    };
}

/// The accesses of numbers.
macro_rules! number {
    ($($name:ident: $type:ty;)*) => {
        atomic! { $($name: $type;)* }
        $(
            #[allow(dead_code, reason = "not each type needs each access")]
            impl $name {
                pub(crate) fn fetch_add(&self, value: $type, order: Ordering) -> $type {
                    fence_for(order);
                    self.0.fetch_add(value, order)
                }

                pub(crate) fn fetch_sub(&self, value: $type, order: Ordering) -> $type {
                    fence_for(order);
                    self.0.fetch_sub(value, order)
                }

                pub(crate) fn fetch_min(&self, value: $type, order: Ordering) -> $type {
                    fence_for(order);
                    self.0.fetch_min(value, order)
                }

                pub(crate) fn fetch_max(&self, value: $type, order: Ordering) -> $type {
                    fence_for(order);
                    self.0.fetch_max(value, order)
                }
            }
        )*
    };
}

atomic! { AtomicBool: bool; }
number! { AtomicU8: u8; AtomicU64: u64; AtomicUsize: usize; }

fn fence_for(order: Ordering) {
    if order == Ordering::SeqCst {
        fence(order);
    }
}
