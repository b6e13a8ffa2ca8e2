use idem_runtime::{Error, idempotent};

#[idempotent(key = order, lease = "30s", lease = "1m")]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(key = order, on_lost = cancel, on_lost = ignore, allow(blocking), allow(blocking))]
async fn refund(order: u64) -> Result<u64, Error> {
    Ok(order)
}

fn main() {}
