use idem_runtime::{Error, idempotent};

use std::{marker::PhantomData, pin::Pin};

struct Shop;
struct View<'a>(PhantomData<&'a Shop>);

#[derive(Debug, thiserror::Error)]
enum Wrong<'a> {
    #[error("{0}")]
    Name(&'a str),
    #[error(transparent)]
    Idempotency(#[from] Error),
}

impl Shop {
    #[idempotent(name = "detach_borrows.by_reference", key = order, on_drop = detach)]
    async fn by_reference(&self, order: u64) -> Result<u64, Error> {
        Ok(order)
    }

    #[idempotent(name = "detach_borrows.pinned", key = order, on_drop = detach)]
    async fn pinned(self: Pin<&mut Self>, order: u64) -> Result<u64, Error> {
        Ok(order)
    }

    #[idempotent(key = name, on_drop = detach)]
    async fn arguments(name: &str, views: Vec<&Shop>, view: View<'_>) -> Result<usize, Error> {
        drop(view);
        Ok(name.len() + views.len())
    }

    #[idempotent(key = name, on_drop = detach)]
    async fn error<'a>(name: &'a str) -> Result<(), Wrong<'a>> {
        Err(Wrong::Name(name))
    }
}

fn main() {}
