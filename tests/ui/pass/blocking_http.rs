#![deny(warnings)]

use idem_runtime::{Error, idempotent};

mod reqwest {
    pub(super) async fn get(_: &str) {}
}

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    reqwest::get("http://localhost").await;
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
