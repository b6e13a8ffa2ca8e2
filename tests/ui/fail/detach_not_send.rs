use idem_runtime::{Error, idempotent};

use std::rc::Rc;

#[derive(Debug, thiserror::Error)]
enum Wrong {
    #[error("{0}")]
    Name(Rc<str>),
    #[error(transparent)]
    Idempotency(#[from] Error),
}

#[idempotent(key = order, on_drop = detach)]
async fn result(order: u64) -> Result<u64, Wrong> {
    if order == 0 { Err(Wrong::Name("zero".into())) } else { Ok(order) }
}

#[idempotent(key = order, on_drop = detach)]
async fn body(order: u64) -> Result<u64, Error> {
    let shared = Rc::new(order);
    tokio::task::yield_now().await;
    Ok(*shared)
}

#[idempotent(key = 1, on_drop = detach)]
async fn argument(shared: Rc<u64>) -> Result<u64, Error> {
    Ok(*shared)
}

#[idempotent(key = 1, on_drop = detach)]
async fn generic<T: AsRef<str> + Send>(name: T) -> Result<usize, Error> {
    Ok(name.as_ref().len())
}

fn main() {}
