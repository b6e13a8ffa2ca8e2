//! Items may be called like what the expansion invents: a pattern cannot shadow a constant, a
//! static or a unit struct, and some web frameworks make one of every handler.
#![deny(warnings)]
#![allow(dead_code, non_camel_case_types, non_upper_case_globals)]

use idem_runtime::{Error, idempotent as once};

struct call;
struct lease;
const ident: u64 = 1;
const lost: u64 = 1;
static outcome: u64 = 1;
static refusal: u64 = 1;
mod __idem {}
macro_rules! operation_name {
    () => {};
}
operation_name!();

#[once(key = "{order}", fingerprint = order)]
async fn attached(order: u64) -> Result<u64, Error> {
    Ok(order)
}

#[once(key = order, on_drop = detach, on_crash = reconcile(find(order)))]
async fn detached(order: u64) -> Result<u64, Error> {
    Ok(order)
}

async fn find(order: u64) -> Result<Option<u64>, Error> {
    Ok(Some(order))
}

#[test]
fn compiles() {
    drop((attached(1), detached(1)));
}
