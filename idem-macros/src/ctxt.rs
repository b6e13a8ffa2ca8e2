//! Collects the problems of one item, so that they are reported together.

use std::{cell::RefCell, fmt::Display, thread};

use quote::ToTokens;

/// The problems found so far. Every stage gets a reference and goes on after an error as well as it
/// can.
///
/// Dropping one without [`check`](Self::check) panics: errors that nobody looks at would make wrong
/// code compile.
pub(crate) struct Ctxt {
    /// `None` once checked.
    errors: RefCell<Option<Vec<syn::Error>>>,
}

impl Ctxt {
    pub(crate) fn new() -> Self {
        Self { errors: RefCell::new(Some(Vec::new())) }
    }

    /// Reports `message` at all of `tokens`.
    pub(crate) fn error_at(&self, tokens: impl ToTokens, message: impl Display) {
        self.error(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn error(&self, error: syn::Error) {
        self.errors.borrow_mut().as_mut().expect("the context is consumed by `check`").push(error);
    }

    /// All problems as one error, or nothing.
    pub(crate) fn check(self) -> syn::Result<()> {
        let errors = self.errors.take().unwrap_or_default();
        errors
            .into_iter()
            .reduce(|mut all, error| {
                all.combine(error);
                all
            })
            .map_or(Ok(()), Err)
    }
}

impl Drop for Ctxt {
    fn drop(&mut self) {
        // A second panic while the first unwinds would abort and hide the first.
        if !thread::panicking() && self.errors.get_mut().is_some() {
            panic!("errors of an item were collected and not checked");
        }
    }
}
