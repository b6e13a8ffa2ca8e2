use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn note(order: u64) -> Result<Option<Option<String>>, Error> {
    Ok((order > 0).then_some(None))
}

#[idempotent(key = order, codec = json)]
async fn done(order: u64) -> Result<Vec<std::option::Option<()>>, Error> {
    Ok(vec![(order > 0).then_some(())])
}

fn main() {}
