//! The bare store: what a memory call is measured against.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A map behind a lock, with the standard hasher: the least that remembers an outcome under a key.
///
/// It does what a store cannot do without, and nothing more: it owns its key (a copy, made before
/// the lock is taken), it owns the bytes, and a reader gets bytes of its own. It encodes nothing,
/// knows no owner, no lease, no expiry and no fingerprint.
#[derive(Debug, Default)]
pub struct Bare(Mutex<HashMap<String, Vec<u8>>>);

impl Bare {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a copy of the bytes under a copy of the key.
    pub fn write(&self, key: &str, bytes: &[u8]) {
        let (key, bytes) = (key.to_owned(), bytes.to_owned());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, bytes);
    }

    /// A copy of the bytes under the key.
    #[must_use]
    pub fn read(&self, key: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }
}
