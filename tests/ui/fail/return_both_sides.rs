use idem_runtime::idempotent;

struct Receipt;

struct ChargeError;

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<Receipt, ChargeError> {
    if order == 0 { Err(ChargeError) } else { Ok(Receipt) }
}

fn main() {}
