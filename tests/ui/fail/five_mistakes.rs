use idem_runtime::{Error, idempotent};

#[idempotent(name = "payments charge", leese = "30s", key = "{order:?}")]
fn charge(order: u64) -> Result<u64, Error> {
    std::thread::sleep(std::time::Duration::from_secs(1));
    Ok(order)
}

fn main() {}
