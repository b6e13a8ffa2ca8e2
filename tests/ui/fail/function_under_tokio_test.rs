use idem_runtime::{Error, idempotent};

#[tokio::main]
#[idempotent(key = "nightly")]
async fn main() -> Result<(), Error> {
    Ok(())
}
