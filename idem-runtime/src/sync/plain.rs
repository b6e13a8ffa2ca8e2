//! The ordinary parts: std's and tokio's.

#[cfg(not(all(test, idem_interleave = "loom")))]
pub(crate) use std::sync::atomic;
pub(crate) use std::sync::{Mutex, MutexGuard};
pub(crate) use std::thread_local;

pub(crate) use atomic_waker::AtomicWaker;
pub(crate) use tokio::sync::futures::Notified;
pub(crate) use tokio::sync::{Notify, watch};
pub(crate) use tokio::{select, spawn, time};

#[cfg(all(test, idem_interleave = "loom"))]
pub(crate) use super::reordered as atomic;
