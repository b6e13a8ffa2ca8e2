#![deny(warnings)]

use idem_runtime::{Error, idempotent};

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Receipt {
    id: u64,
}

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<Receipt, Error> {
    Ok(Receipt { id: order })
}

#[test]
fn compiles() {
    drop(charge(1));
}
