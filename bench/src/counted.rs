//! What is counted by programs of their own: the allocator that counts would slow down what is timed
//! here.

use std::env;
use std::process::Command;

use anyhow::{Context, ensure};
use serde::de::DeserializeOwned;

/// Runs one of this package's counting programs and reads what it prints.
pub(crate) fn counted<T: DeserializeOwned>(program: &str) -> anyhow::Result<T> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--quiet", "--release", "--offline", "--bin", program])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .output()
        .with_context(|| format!("running `{program}` by cargo"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{program}` failed:\n{stderr}");
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("reading what `{program}` printed"))
}
