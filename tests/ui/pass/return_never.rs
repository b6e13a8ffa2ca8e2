#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn serve(order: u64) -> Result<(), Error> {
    loop {
        tokio::task::yield_now().await;
        println!("{order}");
    }
}

#[test]
fn compiles() {
    drop(serve(1));
}
