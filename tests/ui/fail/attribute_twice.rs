use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order)
}

fn main() {}
