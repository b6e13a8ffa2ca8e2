use idem_runtime::{Error, idempotent};

#[idempotent(key = 1)]
unsafe extern "C" fn variadic(order: u64, _: ...) -> Result<u64, Error> {
    Ok(order)
}

fn main() {}
