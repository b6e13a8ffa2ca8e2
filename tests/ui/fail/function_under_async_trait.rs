use idem_runtime::{Error, idempotent};

#[async_trait::async_trait]
trait Payments {
    async fn charge(&self, order: u64) -> Result<u64, Error>;
}

struct Stripe;

#[async_trait::async_trait]
impl Payments for Stripe {
    #[idempotent(name = "function_under_async_trait.charge", key = order)]
    async fn charge(&self, order: u64) -> Result<u64, Error> {
        Ok(order)
    }
}

fn main() {}
