use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn tail(order: u64) -> Result<u64, Error> {
    "receipt"
}

#[idempotent(key = order)]
async fn inside(order: u64) -> Result<u64, Error> {
    Ok(format!("{order}"))
}

#[idempotent(key = order)]
async fn early(order: u64) -> Result<u64, Error> {
    if order == 0 {
        return Ok("receipt");
    }
    Ok(order)
}

#[idempotent(key = order)]
async fn missing(order: u64) -> Result<u64, Error> {
    println!("{order}");
}

#[idempotent(key = order)]
async fn question(order: u64) -> Result<u64, Error> {
    Ok(order + "1".parse::<u64>()?)
}

fn main() {}
