use idem_runtime::{Error, idempotent};

trait Payments {
    #[idempotent(name = "function_without_body.charge", key = order)]
    async fn charge(&self, order: u64) -> Result<u64, Error>;
}

fn main() {}
