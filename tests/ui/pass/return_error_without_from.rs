#![deny(warnings)]

use idem_runtime::idempotent;

#[derive(Debug, thiserror::Error)]
enum ChargeError {
    #[error("declined")]
    Declined,
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
}

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, ChargeError> {
    if order == 0 { Err(ChargeError::Declined) } else { Ok(order) }
}

#[test]
fn compiles() {
    drop(charge(1));
}
