#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<(), Error> {
    println!("{order}");
    Ok(())
}

fn main() {
    drop(charge(1));
}
