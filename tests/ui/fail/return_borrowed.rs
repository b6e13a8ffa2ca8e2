use idem_runtime::{Error, idempotent};

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Line<'a>(&'a str);

#[idempotent(key = name)]
async fn reference(name: &str) -> Result<&str, Error> {
    Ok(name)
}

#[idempotent(key = name)]
async fn nested<'a>(name: &'a str) -> Result<(Vec<&'a [u8]>, Line<'a>), Error> {
    Ok((vec![name.as_bytes()], Line(name)))
}

fn main() {}
