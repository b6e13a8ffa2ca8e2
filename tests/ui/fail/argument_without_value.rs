use idem_runtime::{Error, idempotent};

#[idempotent(key, lease = , ttl("1h"))]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent("charge/{order}")]
async fn refund(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(key = order lease = "30s", allow(everything))]
async fn cancel(order: u64) -> Result<u64, Error> {
    Ok(order)
}

fn main() {}
