use idem_runtime::{Error, idempotent};

#[idempotent(key = order, lease = "0s", retention = "0h", on_duplicate = wait("0ms"))]
async fn zero(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(key = order, lease = "99ms", ttl = "50ms", deadline = "50ms")]
async fn short(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(key = order, lease = "25h", ttl = "3651d")]
async fn long(order: u64) -> Result<u64, Error> {
    Ok(order)
}

fn main() {}
