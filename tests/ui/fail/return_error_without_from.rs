use idem_runtime::idempotent;

#[derive(Debug, thiserror::Error)]
#[error("declined")]
struct ChargeError;

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, ChargeError> {
    if order == 0 { Err(ChargeError) } else { Ok(order) }
}

fn main() {}
