use idem_runtime::{Error, idempotent};

#[idempotent(key = (order, 1))]
async fn tuple(order: String) -> Result<usize, Error> {
    Ok(order.len())
}

#[idempotent(key = 1, fingerprint = { let all = order; all.len() })]
async fn block(order: String) -> Result<usize, Error> {
    Ok(order.len())
}

fn main() {}
