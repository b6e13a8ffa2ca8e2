use idem_runtime::{Error, idempotent};

#[idempotent(key = "{tenant}/{order:?}")]
async fn spec(tenant: u64, order: u64) -> Result<u64, Error> {
    Ok(tenant + order)
}

#[idempotent(key = "{tenant}{order}")]
async fn touching(tenant: u64, order: u64) -> Result<u64, Error> {
    Ok(tenant + order)
}

#[idempotent(key = "{}/{0}")]
async fn positional(tenant: u64, order: u64) -> Result<u64, Error> {
    Ok(tenant + order)
}

#[idempotent(key = "{tenant}/{order")]
async fn unclosed(tenant: u64, order: u64) -> Result<u64, Error> {
    Ok(tenant + order)
}

#[idempotent(key = "{tenant}}/{order}")]
async fn unopened(tenant: u64, order: u64) -> Result<u64, Error> {
    Ok(tenant + order)
}

#[idempotent(key = "{tenant}/{order.pow(2)}")]
async fn call(tenant: u64, order: u64) -> Result<u64, Error> {
    Ok(tenant + order)
}

#[idempotent(key = "")]
async fn empty(tenant: u64, order: u64) -> Result<u64, Error> {
    Ok(tenant + order)
}

fn main() {}
