use idem_runtime::{Error, idempotent};

#[idempotent(name = "payments.charge")]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent]
async fn refund(order: u64) -> Result<u64, Error> {
    Ok(order)
}

fn main() {}
