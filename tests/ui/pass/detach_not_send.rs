#![deny(warnings)]

use idem_runtime::{Error, idempotent};

use std::{rc::Rc, sync::Arc};

#[derive(Debug, thiserror::Error)]
enum Wrong {
    #[error("{0}")]
    Name(Arc<str>),
    #[error(transparent)]
    Idempotency(#[from] Error),
}

#[idempotent(key = order, on_drop = detach)]
async fn result(order: u64) -> Result<u64, Wrong> {
    if order == 0 { Err(Wrong::Name("zero".into())) } else { Ok(order) }
}

#[idempotent(key = order, on_drop = hold)]
async fn body(order: u64) -> Result<u64, Error> {
    let shared = Rc::new(order);
    tokio::task::yield_now().await;
    Ok(*shared)
}

#[test]
fn compiles() {
    drop((result(1), body(1)));
}
