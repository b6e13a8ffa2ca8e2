#![deny(warnings)]

use idem_runtime::{Error, idempotent};

const NIGHTLY: &str = "nightly";

struct Order {
    id: u64,
}

#[idempotent(key = order.id)]
async fn field(order: &Order) -> Result<u64, Error> {
    Ok(order.id)
}

#[idempotent(key = "{order.id}")]
async fn template(order: &Order) -> Result<u64, Error> {
    Ok(order.id)
}

#[idempotent(key = const { "nightly" })]
async fn inline_constant() -> Result<(), Error> {
    Ok(())
}

#[idempotent(key = NIGHTLY)]
async fn constant() -> Result<(), Error> {
    Ok(())
}

#[idempotent(key = 1)]
async fn number() -> Result<(), Error> {
    Ok(())
}

#[test]
fn compiles() {
    let order = Order { id: 1 };
    drop((field(&order), template(&order), inline_constant(), constant(), number()));
}
