use std::rc::Rc;

use idem_runtime::{Error, idempotent};

#[idempotent(key = 1)]
async fn local(count: Rc<u64>) -> Result<u64, Error> {
    tokio::task::yield_now().await;
    Ok(*count)
}

fn send(_: impl Future + Send) {}

fn main() {
    send(local(Rc::new(1)));
}
