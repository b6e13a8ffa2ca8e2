//! What makes a call: its key, its fingerprint, and the `Idem` it goes to, computed once.

use serde::Serialize;

use crate::call::Call;
use crate::fingerprint::{Fingerprint, FingerprintError};
use crate::idem::Idem;
use crate::key::{InvalidKey, Key, ToKey};

/// A call's key and fingerprint, owned.
#[derive(Debug)]
pub struct Ident {
    pub(crate) key: Result<Key, InvalidKey>,
    pub(crate) fingerprint: Result<Fingerprint, FingerprintError>,
    pub(crate) idem: Option<Idem>,
}

/// The ident of a call with this key.
pub fn ident<R, W, K: ToKey + ?Sized>(_call: &Call<R, W>, key: &K) -> Ident {
    Ident::of(key)
}

impl Ident {
    pub(crate) fn of<K: ToKey + ?Sized>(key: &K) -> Self {
        Self { key: Key::of(key), fingerprint: Ok(Fingerprint::NONE), idem: None }
    }

    /// With a fingerprint of these arguments.
    #[must_use]
    pub fn fingerprint<F: Serialize + ?Sized>(mut self, arguments: &F) -> Self {
        self.fingerprint = Fingerprint::of(arguments);
        self
    }

    /// For this `Idem`, whatever is in scope or installed.
    #[must_use]
    pub fn on(mut self, idem: &Idem) -> Self {
        self.idem = Some(idem.clone());
        self
    }
}
