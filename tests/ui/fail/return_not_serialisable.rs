use idem_runtime::{Error, idempotent};

struct Receipt {
    id: u64,
}

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<Receipt, Error> {
    Ok(Receipt { id: order })
}

#[idempotent(key = order)]
async fn refund(order: u64) -> Result<Vec<Receipt>, Error> {
    Ok(vec![Receipt { id: order }])
}

fn main() {}
