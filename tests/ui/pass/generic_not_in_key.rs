#![deny(warnings)]

use idem_runtime::{Error, idempotent};

use serde::{Serialize, de::DeserializeOwned};

trait Entity: Serialize + DeserializeOwned + From<u64> {
    const KIND: &str;
}

impl Entity for u64 {
    const KIND: &str = "number";
}

#[idempotent(key = (T::KIND, id))]
async fn load<T: Entity>(id: u64) -> Result<T, Error> {
    Ok(T::from(id))
}

#[idempotent(key = "{T::KIND}/{N}/{id}")]
async fn page<T: Entity, const N: usize>(id: u64) -> Result<Vec<T>, Error> {
    Ok((id..).take(N).map(T::from).collect())
}

// Neither decides what is stored.
#[idempotent(key = id)]
async fn size<T: AsRef<str>, E: From<Error>>(id: u64, name: T) -> Result<usize, E> {
    let _ = id;
    Ok(name.as_ref().len())
}

#[test]
fn compiles() {
    drop((load::<u64>(1), page::<u64, 2>(1), size::<_, Error>(1, "")));
}
