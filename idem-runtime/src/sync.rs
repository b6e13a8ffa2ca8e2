//! What shared state is made of, and small helpers around it.
//!
//! In an ordinary build these are the parts of std and tokio themselves. The tests of interleavings
//! have them from a scheduler that decides at each of their steps who goes on: what calls and the
//! keeper share takes its parts from here, by these names.

use std::ops::Deref;
use std::sync::PoisonError;

#[cfg(not(all(test, idem_interleave = "shuttle")))]
mod plain;
#[cfg(all(test, idem_interleave = "loom"))]
pub(crate) mod reordered;
#[cfg(all(test, idem_interleave = "shuttle"))]
pub(crate) mod scheduled;

#[cfg(not(all(test, idem_interleave = "shuttle")))]
pub(crate) use plain::*;
#[cfg(all(test, idem_interleave = "shuttle"))]
pub(crate) use scheduled::*;

/// Locks, also after a panic elsewhere: every critical section here leaves its data whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps neighbours in an array off each other's cache lines (two of 64 bytes: some processors
/// fetch them in pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> Deref for Padded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
