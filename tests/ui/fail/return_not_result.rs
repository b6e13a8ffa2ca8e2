use idem_runtime::idempotent;

#[idempotent(key = order)]
async fn charge(order: u64) -> u64 {
    order
}

#[idempotent(key = order)]
async fn find(order: u64) -> Option<u64> {
    Some(order)
}

fn main() {}
