use idem_runtime::{Error, idempotent};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
enum Wrong<'a> {
    Name(&'a str),
    Refused,
}

impl From<Error> for Wrong<'_> {
    fn from(_: Error) -> Self {
        Self::Refused
    }
}

#[idempotent(key = name, on_error = store)]
async fn charge<'a>(name: &'a str) -> Result<u64, Wrong<'a>> {
    if name.is_empty() { Err(Wrong::Refused) } else { Err(Wrong::Name(name)) }
}

fn main() {}
