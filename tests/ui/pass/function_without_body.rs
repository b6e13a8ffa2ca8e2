#![deny(warnings)]

use idem_runtime::{Error, idempotent};

trait Payments {
    async fn charge(&self, order: u64) -> Result<u64, Error>;

    #[idempotent(name = "function_without_body.refund", key = order)]
    async fn refund(&self, order: u64) -> Result<u64, Error> {
        self.charge(order).await
    }
}

struct Stripe;

impl Payments for Stripe {
    #[idempotent(name = "function_without_body.charge", key = order)]
    async fn charge(&self, order: u64) -> Result<u64, Error> {
        Ok(order)
    }
}

#[test]
fn compiles() {
    drop(Stripe.refund(1));
}
