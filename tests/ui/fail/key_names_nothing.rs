use idem_runtime::{Error, idempotent};

struct Order {
    id: u64,
}

#[idempotent(key = "order.id")]
async fn quoted(order: &Order) -> Result<u64, Error> {
    Ok(order.id)
}

#[idempotent(key = "charge-order")]
async fn text(order: &Order) -> Result<u64, Error> {
    Ok(order.id)
}

#[idempotent(key = ("{{order.id}}"))]
async fn doubled_braces(order: &Order) -> Result<u64, Error> {
    Ok(order.id)
}

fn main() {}
