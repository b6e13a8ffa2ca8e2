#![deny(warnings)]

use idem_runtime::{Error, idempotent};

trait Payments {
    async fn charge(&self, order: u64) -> Result<u64, Error>;

    #[idempotent(key = order)]
    async fn refund(&self, order: u64) -> Result<u64, Error> {
        self.charge(order).await
    }
}

struct Stripe;

impl Payments for Stripe {
    #[idempotent(key = order)]
    async fn charge(&self, order: u64) -> Result<u64, Error> {
        Ok(order)
    }
}

fn main() {
    drop(Stripe.refund(1));
}
