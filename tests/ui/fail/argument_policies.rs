use idem_runtime::{Error, idempotent};

#[idempotent(
    key = order,
    on_duplicate = queue,
    on_error = ignore,
    on_lost = abort,
    on_drop = keep,
    on_crash = retry,
    on_outage = wait,
)]
async fn words(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(
    key = order,
    on_duplicate = reject("10s"),
    on_error = store_if,
    on_lost = "finish",
    on_drop = hold("1m"),
    on_crash = reconcile,
    on_outage = 1,
)]
async fn values(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(
    key = order,
    on_duplicate = "reject",
    on_error = store_if(),
    on_crash = reconcile(),
    on_drop = "keep",
    codec = "json",
)]
async fn quotes_and_empty_parentheses(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(key = order, on_crash = reconcile)]
async fn last_word(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[idempotent(key = order, on_error = store_if(|error| true), codec = postcard, version = "2", crate = "idem")]
async fn others(order: u64) -> Result<u64, Error> {
    Ok(order)
}

fn main() {}
