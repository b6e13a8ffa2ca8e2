#![deny(warnings)]

use idem_runtime::idempotent;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
enum ChargeError {
    #[error("declined")]
    Declined,
    #[error("refused: {0}")]
    Refused(String),
}

impl ChargeError {
    fn is_permanent(&self) -> bool {
        matches!(self, Self::Declined)
    }
}

impl From<idem_runtime::Error> for ChargeError {
    fn from(error: idem_runtime::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

async fn find(order: u64) -> Result<Option<u64>, std::io::Error> {
    Ok(Some(order))
}

mod my_reexport {
    pub(super) use ::idem_runtime;
}

#[idempotent(
    key = order,
    on_duplicate = wait,
    on_error = release,
    on_lost = finish,
    on_drop = hold,
    on_crash = rerun,
    on_outage = refuse,
    codec = messagepack,
)]
async fn defaults(order: u64) -> Result<u64, ChargeError> {
    Ok(order)
}

#[idempotent(
    key = order,
    on_duplicate = wait("10s"),
    on_error = store,
    on_lost = cancel,
    on_drop = release,
    on_crash = refuse,
    on_outage = run,
    codec = json,
    version = 2,
)]
async fn second(order: u64) -> Result<u64, ChargeError> {
    if order == 0 { Err(ChargeError::Declined) } else { Ok(order) }
}

#[idempotent(
    key = order,
    on_duplicate = reject,
    on_error = store_if(ChargeError::is_permanent),
    on_lost = ignore,
    on_drop = detach,
    on_crash = reconcile(find(order)),
    retention = "48h",
    codec = bincode,
    crate = my_reexport::idem_runtime,
)]
async fn third(order: u64) -> Result<u64, ChargeError> {
    Ok(order)
}

#[test]
fn compiles() {
    drop((defaults(1), second(1), third(1)));
}
