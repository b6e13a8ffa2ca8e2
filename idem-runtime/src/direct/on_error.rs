//! What an `Err` does, as types: only where errors are stored have they to be serialisable.

use std::borrow::Cow;
use std::fmt;

use crate::bounds::{FromRefusal, Storable, StorableError};
use crate::call::Call;
use crate::codec::Codec;
use crate::settings::Overrides;
use crate::value::{Freed, Table, Which};

/// `on_error = release`: an `Err` frees the key. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Release;

/// `on_error = store`: errors are outcomes too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Store;

/// `on_error = store_if(…)`: the errors that the function picks are outcomes.
pub struct StoreIf<E>(pub fn(&E) -> bool);

impl<E> fmt::Debug for StoreIf<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreIf(…)")
    }
}

/// What an `Err` does: [`Release`], [`Store`] or [`StoreIf`].
pub trait OnError<T, E>: sealed::Sealed {
    #[doc(hidden)]
    type Which: Copy + Send + Sync + 'static;

    #[doc(hidden)]
    fn call<C: Codec>(self) -> Call<Result<T, E>, Self::Which>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Release {}
    impl Sealed for super::Store {}
    impl<E> Sealed for super::StoreIf<E> {}
}

fn blank<R, W>(table: Table<R, W>) -> Call<R, W> {
    Call { name: Cow::Borrowed(""), overrides: Overrides::NONE, table }
}

impl<T: Storable, E: FromRefusal> OnError<T, E> for Release {
    type Which = Freed;

    fn call<C: Codec>(self) -> Call<Result<T, E>, Freed> {
        blank(Table::freeing::<C>())
    }
}

impl<T: Storable, E: FromRefusal + StorableError + 'static> OnError<T, E> for Store {
    type Which = Which<Result<T, E>>;

    fn call<C: Codec>(self) -> Call<Result<T, E>, Self::Which> {
        blank(Table::storing::<C>(None))
    }
}

impl<T: Storable, E: FromRefusal + StorableError + 'static> OnError<T, E> for StoreIf<E> {
    type Which = Which<Result<T, E>>;

    fn call<C: Codec>(self) -> Call<Result<T, E>, Self::Which> {
        blank(Table::storing::<C>(Some(self.0)))
    }
}
