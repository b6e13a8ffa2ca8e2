#![deny(warnings)]

use idem_runtime::{Error, idempotent};

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Line(String);

#[derive(Debug, thiserror::Error)]
enum Wrong<'a> {
    #[error("no such name: {0}")]
    Name(&'a str),
    #[error(transparent)]
    Idempotency(#[from] Error),
}

#[idempotent(key = name)]
async fn reference(name: &str) -> Result<String, Error> {
    Ok(name.to_owned())
}

#[idempotent(key = name)]
async fn nested<'a>(name: &'a str) -> Result<(Vec<u8>, Line, Cow<'a, str>), Error> {
    Ok((name.as_bytes().to_vec(), Line(name.to_owned()), Cow::Borrowed(name)))
}

// An error that frees the key is not stored, so it may borrow.
#[idempotent(key = name)]
async fn borrowed_error<'a>(name: &'a str) -> Result<(), Wrong<'a>> {
    Err(Wrong::Name(name))
}

#[test]
fn compiles() {
    drop((reference("a"), nested("a"), borrowed_error("a")));
}
