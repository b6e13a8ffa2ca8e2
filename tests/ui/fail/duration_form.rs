use idem_runtime::{Error, idempotent};

#[idempotent(key = order, lease = 30, ttl = "1 day", deadline = "1.5m", retention = "", on_duplicate = wait(10s))]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order)
}

const LEASE: &str = "30s";

#[idempotent(key = order, lease = LEASE, ttl = "h", deadline = "99999999999999999999d")]
async fn refund(order: u64) -> Result<u64, Error> {
    Ok(order)
}

fn main() {}
