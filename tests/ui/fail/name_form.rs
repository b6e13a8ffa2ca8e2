use idem_runtime::{Error, idempotent};

#[idempotent(name = "payments charge", key = order)]
async fn space(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(name = "zahlung.für", key = order)]
async fn umlaut(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(name = "", key = order)]
async fn empty(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(name = "idem.charge", key = order)]
async fn reserved(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(name = payments.charge, key = order)]
async fn unquoted(order: u64) -> Result<u64, Error> {
    Ok(order)
}

fn main() {}
