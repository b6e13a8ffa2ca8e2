#![deny(warnings)]

use idem_runtime::{Error, idempotent};

mod reqwest {
    pub async fn get(_: &str) {}
}

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    reqwest::get("http://localhost").await;
    Ok(order)
}

fn main() {
    drop(charge(1));
}
