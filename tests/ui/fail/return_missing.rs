use idem_runtime::idempotent;

#[idempotent(key = order)]
async fn charge(order: u64) {
    println!("{order}");
}

fn main() {}
