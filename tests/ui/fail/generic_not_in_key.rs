use idem_runtime::{Error, idempotent};

use serde::{Serialize, de::DeserializeOwned};

#[idempotent(key = id)]
async fn load<T: Serialize + DeserializeOwned + From<u64>>(id: u64) -> Result<T, Error> {
    Ok(T::from(id))
}

#[idempotent(key = "{id}")]
async fn page<T, const N: usize>(id: u64) -> Result<(Vec<T>, [(); N]), Error>
where
    T: Serialize + DeserializeOwned,
    [(); N]: Serialize + DeserializeOwned,
{
    let _ = id;
    Ok((Vec::new(), [(); N]))
}

fn main() {}
