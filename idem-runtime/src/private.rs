//! What the attribute's expansion names, and nobody else.

pub use std::boxed::Box;
pub use std::option::Option::{self, None, Some};
pub use std::result::Result::{self, Err, Ok};
pub use std::time::Duration;

pub use crate::__idem_operation_name as operation_name;
pub use crate::bounds::{Detachable, FromRefusal, Returned, Storable, StorableError};
pub use crate::call::{Begun, Call, RenewWhile, Running};
#[cfg(feature = "bincode")]
pub use crate::codec::Bincode;
pub use crate::codec::{Json, MessagePack};
pub use crate::ident::{Ident, ident};
pub use crate::key::Template;
pub use crate::name::{name_bytes, name_len, name_str};
pub use crate::policy::{OnCrash, OnDrop, OnDuplicate, OnLost, OnOutage};

/// A value of the declared type, for code that is never run: it stands before the body, so that the
/// compiler knows the type when it comes to the body.
pub fn declared<R>() -> R {
    unreachable!("stands in a branch that is never taken, for its type alone")
}
