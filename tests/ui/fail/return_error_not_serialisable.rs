use idem_runtime::idempotent;

#[derive(Debug, thiserror::Error)]
enum ChargeError {
    #[error("declined")]
    Declined,
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
}

impl ChargeError {
    fn is_permanent(&self) -> bool {
        matches!(self, Self::Declined)
    }
}

#[idempotent(key = order, on_error = store)]
async fn charge(order: u64) -> Result<u64, ChargeError> {
    if order == 0 { Err(ChargeError::Declined) } else { Ok(order) }
}

#[idempotent(key = order, on_error = store_if(ChargeError::is_permanent))]
async fn refund(order: u64) -> Result<u64, ChargeError> {
    if order == 0 { Err(ChargeError::Declined) } else { Ok(order) }
}

fn main() {}
