#![deny(warnings)]

use idem_runtime::{Error, idempotent};

struct Order {
    id: u64,
    cents: u64,
}

#[idempotent(key = order.id)]
async fn whole(order: &Order) -> Result<u64, Error> {
    Ok(order.id)
}

#[idempotent(key = (order.id, order.cents))]
async fn tuple(order: &Order) -> Result<u64, Error> {
    Ok(order.id)
}

#[idempotent(key = "{order.id}/{order.cents}/{{literal}}")]
async fn template(order: &Order) -> Result<u64, Error> {
    Ok(order.id)
}

#[idempotent(key = format!("{}-{}", order.id, order.cents))]
async fn text(order: &Order) -> Result<u64, Error> {
    Ok(order.id)
}

#[test]
fn compiles() {
    let order = Order { id: 1, cents: 2 };
    drop((whole(&order), tuple(&order), template(&order), text(&order)));
}
