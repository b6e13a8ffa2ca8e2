use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    std::thread::sleep(std::time::Duration::from_secs(1));
    Ok(order)
}

fn main() {}
