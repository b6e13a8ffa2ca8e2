#![deny(warnings)]

use idem_runtime::idempotent;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
enum ChargeError {
    #[error("declined")]
    Declined,
    // `idem_runtime::Error` is about this call and is not stored itself.
    #[error("{0}")]
    Idempotency(String),
}

impl From<idem_runtime::Error> for ChargeError {
    fn from(error: idem_runtime::Error) -> Self {
        Self::Idempotency(error.to_string())
    }
}

#[idempotent(key = order, on_error = store)]
async fn charge(order: u64) -> Result<u64, ChargeError> {
    if order == 0 { Err(ChargeError::Declined) } else { Ok(order) }
}

#[test]
fn compiles() {
    drop(charge(1));
}
