#![deny(warnings)]

use idem_runtime::{Error, idempotent};

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
enum Note {
    NoOrder,
    Empty,
    Text(String),
}

#[idempotent(key = order)]
async fn note(order: u64) -> Result<Note, Error> {
    Ok(match order {
        0 => Note::NoOrder,
        1 => Note::Empty,
        _ => Note::Text(order.to_string()),
    })
}

#[idempotent(key = order, codec = bincode)]
async fn exact(order: u64) -> Result<Option<Option<String>>, Error> {
    Ok((order > 0).then_some(None))
}

#[test]
fn compiles() {
    drop((note(1), exact(1)));
}
