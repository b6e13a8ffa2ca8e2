use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn lines(order: u64) -> Result<impl Iterator<Item = u64>, Error> {
    Ok([order].into_iter())
}

fn main() {}
