#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = const { "nightly" })]
#[tokio::main]
async fn report() -> Result<(), Error> {
    Ok(())
}

#[test]
fn compiles() {
    let _: fn() -> Result<(), Error> = report;
}
