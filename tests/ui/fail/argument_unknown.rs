use idem_runtime::{Error, idempotent};

#[idempotent(key = order, timeout = "5m")]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order)
}

// What is misspelt is not missing.
#[idempotent(kye = order)]
async fn refund(order: u64) -> Result<u64, Error> {
    Ok(order)
}

struct Card;

impl Card {
    #[idempotent(nam = "cards.block", key = id, alow(blocking), on_dorp = hold, keyy = id)]
    async fn block(&self, id: u64) -> Result<u64, Error> {
        Ok(id)
    }
}

#[idempotent(key = order, queue = "payments")]
async fn cancel(order: u64) -> Result<u64, Error> {
    Ok(order)
}

fn main() {}
