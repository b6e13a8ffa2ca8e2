#![deny(warnings)]

use idem_runtime::{Error, idempotent};

fn pair<A, B>(first: A, second: B) -> (A, B) {
    (first, second)
}

// The comma between `A` and `B` ends no argument, the one behind the last does.
#[idempotent(key = pair::<u64, &str>(order, "eur"), lease = "30s", ttl = "1h", allow(blocking),)]
async fn charge(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
