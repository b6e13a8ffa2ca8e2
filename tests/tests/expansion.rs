//! The expansion as a reader of `cargo expand` meets it: in the words of the protocol.

use std::process::Command;

/// What is expanded below.
mod fixture {
    use idem_runtime::{Error, idempotent};

    #[idempotent(name = "orders.price", key = id, lease = "30s")]
    pub async fn price(id: u64) -> Result<u64, Error> {
        Ok(id * 100)
    }
}

/// Tests do not install tools: without cargo-expand this one says so and passes.
#[test]
fn the_expansion_reads_like_the_protocol() {
    drop(fixture::price(1));
    let cargo = || Command::new(env!("CARGO"));
    let installed = cargo().args(["expand", "--version"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        println!("not checked: cargo-expand is not installed");
        return;
    }
    let output = cargo()
        .args(["expand", "--offline", "--color=never", "--test=expansion", "fixture"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    let expanded = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    // In the order in which a call meets them.
    let mut rest = &*expanded;
    for word in
        ["fn price", "Call", "lease_ms(30_000u64)", ".begin(", ".renew_while(", ".complete("]
    {
        let Some(at) = rest.find(word) else {
            panic!("no `{word}`, or not in its place, in:\n{expanded}");
        };
        rest = &rest[at..];
    }
}
