//! How much larger an annotated function's future is than its arguments.
//!
//! Everything else is in the one allocation that the expansion makes, so a caller that awaits many
//! such functions stays as small as their arguments.

use std::marker::PhantomData;

use idem_runtime::{Error, ToKey, idempotent};

use crate::figure::{Figure, Goal};
use crate::samples::Samples;

pub(super) fn figures() -> Vec<Figure> {
    let service = Service { _region: 1 };
    [
        ("one reference", size_of::<&str>(), size_of_val(&reference("k"))),
        (
            "three values",
            size_of::<(u64, String, u32)>(),
            size_of_val(&values(1, String::new(), 2)),
        ),
        ("an array of 1,024 bytes", size_of::<[u8; 1024]>(), size_of_val(&array([0; 1024]))),
        (
            "a method with a reference",
            size_of::<(&Service, u64)>(),
            size_of_val(&service.method(1)),
        ),
        ("a generic value", size_of::<u64>(), size_of_val(&generic(1_u64))),
        (
            "a body that keeps 4,096 bytes across an await",
            size_of::<u64>(),
            size_of_val(&large_body(1)),
        ),
        (
            "an error of its own, `on_error = store`",
            size_of::<u64>(),
            size_of_val(&stored_error(1)),
        ),
    ]
    .map(|(shape, arguments, future)| figure(shape, arguments, future))
    .into()
}

fn figure(shape: &str, arguments: usize, future: usize) -> Figure {
    Figure {
        case: format!("future size, {shape}"),
        values: Samples::exact(future as f64 - arguments as f64),
        unit: "bytes more than its arguments",
        goal: Some(Goal::AtMost(64.0)),
        limits: format!(
            "{future} bytes with {arguments} of arguments; the rest is behind one pointer"
        ),
    }
}

#[idempotent(name = "bench.reference", key = id)]
async fn reference(id: &str) -> Result<u64, Error> {
    Ok(id.len() as u64)
}

#[idempotent(name = "bench.values", key = "{id}/{text}", fingerprint = number)]
async fn values(id: u64, text: String, number: u32) -> Result<String, Error> {
    Ok(format!("{text}{id}{number}"))
}

#[idempotent(name = "bench.array", key = bytes[0])]
async fn array(bytes: [u8; 1024]) -> Result<usize, Error> {
    Ok(bytes.len())
}

struct Service {
    _region: u8,
}

impl Service {
    #[idempotent(name = "bench.method", key = (self._region, id))]
    async fn method(&self, id: u64) -> Result<u64, Error> {
        Ok(id)
    }
}

#[idempotent(name = "bench.generic", key = id)]
async fn generic<K: ToKey>(id: K) -> Result<u64, Error> {
    let _: PhantomData<K> = PhantomData;
    Ok(1)
}

#[idempotent(name = "bench.large_body", key = id)]
async fn large_body(id: u64) -> Result<u64, Error> {
    let kept = [1_u8; 4096];
    tokio::task::yield_now().await;
    Ok(id + kept.len() as u64)
}

#[idempotent(name = "bench.stored_error", key = id, on_error = store, on_drop = release, lease = "10s")]
async fn stored_error(id: u64) -> Result<u64, StoredError> {
    Ok(id)
}

#[derive(serde::Serialize, serde::Deserialize)]
struct StoredError(String);

impl From<Error> for StoredError {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}
