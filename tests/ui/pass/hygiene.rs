//! Names of the user's do not meet those of the expansion, and no prelude is needed.
#![deny(warnings)]
#![no_implicit_prelude]
#![allow(clippy::too_many_arguments)]

// What the expansion would mean if it trusted the names around it.
#[allow(dead_code, non_snake_case, non_upper_case_globals)]
mod shadows {
    pub(super) struct Box;
    pub(super) struct Call;
    pub(super) struct Begun;
    pub(super) fn Ok() {}
    pub(super) fn Err() {}
    pub(super) fn Some() {}
    pub(super) const None: () = ();
}
#[allow(unused_imports)]
use shadows::*;

#[::idem_runtime::idempotent(key = (key, call, r#type), fingerprint = (ident, begun), on_error = release)]
async fn words(
    key: u64,
    lease: u64,
    result: u64,
    owner: u64,
    call: u64,
    ident: u64,
    begun: u64,
    outcome: u64,
    refusal: u64,
    lost: u64,
    r#type: u64,
) -> ::std::result::Result<u64, ::idem_runtime::Error> {
    ::std::result::Result::Ok(
        key + lease + result + owner + call + ident + begun + outcome + refusal + lost + r#type,
    )
}

#[::idem_runtime::idempotent(key = "{call}/{ident}", on_drop = detach, on_crash = reconcile(find(call)))]
async fn detached(call: u64, ident: u64) -> ::std::result::Result<u64, ::idem_runtime::Error> {
    ::std::result::Result::Ok(call + ident)
}

async fn find(
    call: u64,
) -> ::std::result::Result<::std::option::Option<u64>, ::idem_runtime::Error> {
    ::std::result::Result::Ok(::std::option::Option::Some(call))
}

#[::core::prelude::v1::test]
fn compiles() {
    ::std::mem::drop((words(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), detached(1, 2)));
}
