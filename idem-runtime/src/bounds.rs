//! What a function's return type must offer, each demand with the words for its absence.
//!
//! The attribute states these bounds once, on [`Call`](super::Call)'s constructors, at the declared
//! return type. Each trait is an alias: one blanket impl and nothing to implement by hand. The
//! impls carry `do_not_recommend`, because the compiler otherwise skips the alias and explains what
//! the *impl* asks for (`for<'de> Receipt: Deserialize<'de>`), and the texts below would never be
//! seen.

use serde::{Serialize, de::DeserializeOwned};

use crate::Error;

/// The declared return type: `Result<T, E>`, under whatever alias.
///
/// A trait rather than a look at the tokens, since `io::Result<T>` and `type Answer = Result<…>`
/// are as good.
#[diagnostic::on_unimplemented(
    message = "an idempotent function returns a `Result`, and `{Self}` is none",
    label = "return `Result<{Self}, E>` here",
    note = "a call that is refused (in progress, lease lost, store unreachable, …) has no other \
            way to say so; `E` is an error type with `From<idem_runtime::Error>`"
)]
pub trait Returned: Sized {
    /// What a call that succeeded gives, and what is stored.
    type Ok;
    /// What a call that failed or was refused gives.
    type Err;

    /// The same value under its plain name.
    fn into_result(self) -> Result<Self::Ok, Self::Err>;

    /// The way back from [`into_result`](Self::into_result).
    fn from_result(result: Result<Self::Ok, Self::Err>) -> Self;

    /// A look without taking: whether and what to store is decided on this.
    fn as_result(&self) -> Result<&Self::Ok, &Self::Err>;
}

impl<T, E> Returned for Result<T, E> {
    type Ok = T;
    type Err = E;

    fn into_result(self) -> Self {
        self
    }

    fn from_result(result: Self) -> Self {
        result
    }

    fn as_result(&self) -> Result<&T, &E> {
        self.as_ref()
    }
}

/// A success that can be stored and given out again: owned, and `Serialize + DeserializeOwned`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as the outcome of an idempotent function",
    label = "`{Self}` is not `Serialize + DeserializeOwned`",
    note = "return an owned, serialisable value: put `#[derive(serde::Serialize, \
            serde::Deserialize)]` on its type and on those of its fields, or return the few fields \
            that callers need"
)]
pub trait Storable: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Storable for T {}

/// An error that is stored as an outcome, as `on_error = store` and `store_if(…)` ask.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored, as this function's `on_error` asks",
    label = "`{Self}` is not `Serialize + DeserializeOwned`",
    note = "put `#[derive(serde::Serialize, serde::Deserialize)]` on the error type and on those \
            of its fields, or say `on_error = release`, under which an error frees the key and is \
            never stored",
    note = "an `idem_runtime::Error` inside of it is not stored: keep its text, in a variant with a \
            `String` that `From<idem_runtime::Error>` makes with `to_string()`"
)]
pub trait StorableError: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<E: Serialize + DeserializeOwned> StorableError for E {}

/// An error type that can say "this call was refused".
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot tell a caller that the call was refused",
    label = "`{Self}` lacks `From<idem_runtime::Error>`",
    note = "add a variant to the error enum, with thiserror: `#[error(transparent)] \
            Idempotency(#[from] idem_runtime::Error)`"
)]
pub trait FromRefusal: Sized {
    /// The refusal, in the function's own error type.
    fn from_refusal(refusal: Error) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E: From<Error>> FromRefusal for E {
    fn from_refusal(refusal: Error) -> Self {
        Self::from(refusal)
    }
}

/// The outcome of a body that runs on as a task of its own (`on_drop = detach`).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot leave the task that a detached body runs in",
    label = "`{Self}` is not `Send`",
    note = "`on_drop = detach` runs the body as a task of its own: return a value that is `Send + \
            'static`, or say `on_drop = hold`"
)]
pub trait Detachable: Send + 'static {}

#[diagnostic::do_not_recommend]
impl<R: Send + 'static> Detachable for R {}
