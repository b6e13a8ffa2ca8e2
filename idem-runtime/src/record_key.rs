//! Where a record lives: prefix, operation and key.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, LazyLock};

use crate::key::Key;

/// Under which name a record is stored: prefix, operation and key. Cheap to clone.
///
/// Two are equal exactly if all three parts are, compared as text.
#[derive(Clone)]
pub struct RecordKey(Arc<Parts>);

struct Parts {
    hash: u64,
    /// `None`: empty, which need not be counted.
    prefix: Option<Arc<str>>,
    operation: Cow<'static, str>,
    key: Key,
}

impl RecordKey {
    /// The record of `key` under `operation`, for services that share a store under `prefix`.
    #[must_use]
    pub fn new(prefix: Arc<str>, operation: Cow<'static, str>, key: Key) -> Self {
        Self::under((!prefix.is_empty()).then_some(prefix), operation, key)
    }

    /// The same, with `None` for an empty prefix.
    pub(crate) fn under(prefix: Option<Arc<str>>, operation: Cow<'static, str>, key: Key) -> Self {
        // Random per process: nobody who chooses keys can choose where they meet.
        static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        let mut hasher = HASHER.build_hasher();
        operation.hash(&mut hasher);
        key.as_str().hash(&mut hasher);
        let hash = hasher.finish();
        Self(Arc::new(Parts { hash, prefix, operation, key }))
    }

    /// What services that share a store are told apart by; may be empty.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.0.prefix.as_deref().unwrap_or_default()
    }

    /// The operation's name.
    #[must_use]
    pub fn operation(&self) -> &str {
        &self.0.operation
    }

    /// The key's text.
    #[must_use]
    pub fn key(&self) -> &str {
        self.0.key.as_str()
    }

    /// A hash of operation and key, for maps and shards within this process only.
    #[must_use]
    pub fn local_hash(&self) -> u64 {
        self.0.hash
    }

    /// The key as it may appear in logs: the first eight hex digits of its BLAKE3 hash.
    #[must_use]
    pub fn key_tag(&self) -> String {
        blake3::hash(self.key().as_bytes()).to_hex()[..8].to_owned()
    }
}

impl PartialEq for RecordKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.hash == other.0.hash
                && self.key() == other.key()
                && self.operation() == other.operation()
                && self.prefix() == other.prefix())
    }
}

impl Eq for RecordKey {}

impl Hash for RecordKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl fmt::Debug for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys may be confidential.
        write!(f, "RecordKey({}, #{})", self.operation(), self.key_tag())
    }
}
