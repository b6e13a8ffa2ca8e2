use idem_runtime::{Error, idempotent};

#[idempotent(key = order, lease = "30s", deadline = "10s", ttl = "20s")]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(key = order, lease = "1500ms", deadline = "1s", ttl = "1s")]
async fn refund(order: u64) -> Result<u64, Error> {
    Ok(order)
}

fn main() {}
