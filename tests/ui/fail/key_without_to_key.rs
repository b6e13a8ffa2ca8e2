use idem_runtime::{Error, idempotent};

struct Order {
    id: u64,
    cents: f64,
}

#[idempotent(key = order)]
async fn whole(order: &Order) -> Result<u64, Error> {
    Ok(order.id)
}

#[idempotent(key = (order.id, order.cents))]
async fn tuple(order: &Order) -> Result<u64, Error> {
    Ok(order.id)
}

#[idempotent(key = "{order.id}/{order.cents}")]
async fn template(order: &Order) -> Result<u64, Error> {
    Ok(order.id)
}

fn main() {}
