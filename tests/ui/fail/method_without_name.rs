use std::sync::Arc;

use idem_runtime::{Error, idempotent};

struct Card;
struct Transfer;

impl Card {
    #[idempotent(key = order)]
    async fn charge(&self, order: u64) -> Result<u64, Error> {
        Ok(order)
    }

    #[idempotent(key = order)]
    async fn r#move(self: Arc<Self>, order: u64) -> Result<u64, Error> {
        Ok(order)
    }
}

trait Payments {
    async fn charge(&mut self, order: u64) -> Result<u64, Error>;

    #[idempotent(key = order)]
    async fn refund(&self, order: u64) -> Result<u64, Error> {
        Ok(order)
    }
}

impl Payments for Transfer {
    #[idempotent(key = order)]
    async fn charge(&mut self, order: u64) -> Result<u64, Error> {
        Ok(order)
    }
}

fn main() {}
