//! What surrounds a call in its task: the `Idem` in scope, the lease of the body around it, and who
//! observes.

use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use pin_project_lite::pin_project;

use crate::attempt::Attempt;
use crate::idem::{Core, Idem};
use crate::observe::Slot;
use crate::record_key::RecordKey;
use crate::sync::thread_local;

thread_local!(static CURRENT: RefCell<Option<Context>> = const { RefCell::new(None) });

#[derive(Clone, Default)]
pub(crate) struct Context {
    /// Set by `Idem::scope`.
    pub(crate) idem: Option<Idem>,
    /// What the running body holds.
    pub(crate) footing: Option<Footing>,
    /// Set by `observe`, hidden from calls inside a body.
    pub(crate) slot: Option<Slot>,
}

/// What a body stands on.
#[derive(Clone)]
pub(crate) enum Footing {
    Held(Arc<Attempt>),
    /// The store was out of reach: no lease on this key.
    Unprotected(Arc<Core>, RecordKey),
}

impl Context {
    pub(crate) fn attempt(&self) -> Option<&Arc<Attempt>> {
        match &self.footing {
            Some(Footing::Held(attempt)) => Some(attempt),
            Some(Footing::Unprotected(..)) | None => None,
        }
    }

    /// Whether the body around runs under this key, with a lease or without.
    pub(crate) fn runs_under(&self, core: &Arc<Core>, key: &RecordKey) -> bool {
        match &self.footing {
            Some(Footing::Held(attempt)) => attempt.runs_under(core, key),
            Some(Footing::Unprotected(around, held)) => Arc::ptr_eq(around, core) && held == key,
            None => false,
        }
    }

    /// The context of a body that runs on `footing`, called in this context.
    pub(crate) fn of_body(&self, footing: Footing) -> Self {
        Self { idem: self.idem.clone(), footing: Some(footing), slot: None }
    }
}

/// The context of the current task; empty outside of any.
pub(crate) fn current() -> Context {
    CURRENT.try_with(|current| current.borrow().clone()).ok().flatten().unwrap_or_default()
}

/// A context is current until this is dropped, also by a panic.
pub(crate) struct Entered {
    outer: Option<Context>,
    /// It belongs to the thread that made it.
    _not_send: PhantomData<*const ()>,
}

/// Makes a context current: for a poll, or a drop, of what lives in it.
pub(crate) fn enter(context: &Context) -> Entered {
    let context = Some(context.clone());
    // Outside of the thread's life there is no context to be had.
    let outer = CURRENT.try_with(|current| current.replace(context)).ok().flatten();
    Entered { outer, _not_send: PhantomData }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let inner = CURRENT.try_with(|current| current.replace(self.outer.take()));
        // Not while it is borrowed: what a context holds may be dropped with it.
        drop(inner);
    }
}

/// Runs `future` in `context`, its drop as well.
pub(crate) fn within<F: Future>(context: Context, future: F) -> Within<F> {
    Within { context, future: Some(future) }
}

pin_project! {
    /// A future in its context.
    pub(crate) struct Within<F> {
        context: Context,
        #[pin]
        future: Option<F>,
    }

    impl<F> PinnedDrop for Within<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            let _entered = enter(this.context);
            this.future.set(None);
        }
    }
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _entered = enter(this.context);
        match this.future.as_pin_mut() {
            Some(future) => future.poll(task),
            None => unreachable!("it is dropped only with this"),
        }
    }
}
