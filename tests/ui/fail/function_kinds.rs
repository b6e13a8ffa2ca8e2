use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
const fn constant(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(key = order)]
async unsafe fn dangerous(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(key = order)]
async extern "C" fn foreign(order: u64) -> Result<u64, Error> {
    Ok(order)
}

fn main() {}
