#![deny(warnings)]

use idem_runtime::{Error, idempotent};

struct Tenant {
    id: u64,
}

impl Tenant {
    #[idempotent(name = "key_template.charge", key = "{self.id}/{order}/{{fixed}}")]
    async fn charge(&self, order: u64) -> Result<u64, Error> {
        Ok(self.id + order)
    }
}

#[idempotent(key = "{tenant}/{order}")]
async fn separated(tenant: u64, order: u64) -> Result<u64, Error> {
    Ok(tenant + order)
}

#[idempotent(key = (tenant, order.pow(2)))]
async fn call(tenant: u64, order: u64) -> Result<u64, Error> {
    Ok(tenant + order)
}

#[idempotent(key = "{u64::MAX}:{pair.0.1}")]
async fn paths(pair: ((u64, u64), u64)) -> Result<u64, Error> {
    Ok(pair.1)
}

#[test]
fn compiles() {
    drop((Tenant { id: 1 }.charge(1), separated(1, 1), call(1, 1), paths(((1, 1), 1))));
}
