#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[async_trait::async_trait]
trait Payments {
    async fn charge(&self, order: u64) -> Result<u64, Error>;
}

struct Stripe;

impl Stripe {
    #[idempotent(name = "function_under_async_trait.charge_once", key = order)]
    async fn charge_once(&self, order: u64) -> Result<u64, Error> {
        Ok(order)
    }
}

#[async_trait::async_trait]
impl Payments for Stripe {
    async fn charge(&self, order: u64) -> Result<u64, Error> {
        self.charge_once(order).await
    }
}

#[test]
fn compiles() {
    let payments: &dyn Payments = &Stripe;
    drop(payments.charge(1));
}
