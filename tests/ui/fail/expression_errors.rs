use idem_runtime::{Error, idempotent};

struct Opaque(u64);

#[derive(serde::Serialize, serde::Deserialize)]
struct Stored;

impl From<Error> for Stored {
    fn from(_: Error) -> Self {
        Self
    }
}

async fn find(order: u64) -> Result<Option<String>, Error> {
    Ok(Some(order.to_string()))
}

fn odd(order: u64) -> bool {
    order % 2 == 1
}

#[idempotent(key = order.number, fingerprint = Opaque(order), runtime = order)]
async fn expressions(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(key = "{tennant}/{order}")]
async fn misspelt(tenant: u64, order: u64) -> Result<u64, Error> {
    Ok(tenant + order)
}

#[idempotent(key = order, on_crash = reconcile(order))]
async fn not_async(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(key = order, on_crash = reconcile(find(order)))]
async fn other_type(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(key = order, on_error = store_if(odd))]
async fn predicate(order: u64) -> Result<u64, Stored> {
    Ok(order)
}

#[idempotent(key = order, codec = Opaque)]
async fn codec(order: u64) -> Result<u64, Error> {
    Ok(order)
}

fn main() {}
