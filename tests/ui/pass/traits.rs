//! Methods of traits and of generic types, and errors that borrow.
#![deny(warnings)]

use std::fmt::Debug;

use idem_runtime::{Error, Idem, MemoryBackend, idempotent};
use serde::{Serialize, de::DeserializeOwned};

trait Service {
    type Error: From<Error>;
    const KIND: &'static str;

    async fn step(&self, id: u64) -> Result<u64, Self::Error>;

    #[idempotent(name = "traits.steps", key = (Self::KIND, id))]
    async fn steps(&self, id: u64) -> Result<u64, Self::Error>
    where
        Self: Sized,
    {
        self.step(id).await
    }

    #[idempotent(name = "traits.kind", key = Self::KIND)]
    async fn kind() -> Result<String, Self::Error> {
        Ok(Self::KIND.to_owned())
    }
}

struct Shop<'a, T: ?Sized, const N: usize> {
    name: &'a T,
    lines: [u8; N],
}

impl<'a, T: ?Sized, const N: usize> Service for Shop<'a, T, N>
where
    &'a T: Debug,
{
    type Error = Error;
    const KIND: &'static str = "shop";

    #[idempotent(name = "traits.step", key = "{N}/{id}")]
    async fn step(&self, id: u64) -> Result<u64, Error> {
        Ok(id + self.lines.len() as u64 + format!("{:?}", self.name).len() as u64)
    }
}

impl<T: ?Sized, const N: usize> Shop<'_, T, N> {
    #[idempotent(name = "traits.sizes", key = (N, M))]
    async fn sizes<const M: usize>(&mut self) -> Result<[usize; 2], Error>
    where
        [u8; M]: Default,
    {
        Ok([self.lines.len(), M])
    }
}

trait Entity: Serialize + DeserializeOwned + From<u64> {
    const KIND: &str;
}

impl Entity for u64 {
    const KIND: &str = "number";
}

#[idempotent(key = (T::KIND, id))]
async fn load<T, E>(id: u64) -> Result<T, E>
where
    T: Entity,
    E: From<Error> + From<std::io::Error>,
{
    Ok(T::from(id))
}

#[derive(Debug)]
enum Wrong<'a, T: ?Sized> {
    Name(&'a T),
    Refused,
}

impl<T: ?Sized> From<Error> for Wrong<'_, T> {
    fn from(_: Error) -> Self {
        Self::Refused
    }
}

#[idempotent(key = (name, other), on_lost = cancel)]
async fn named<'a, 'b: 'a>(name: &'a str, other: &'b str) -> Result<u64, Wrong<'a, str>> {
    Err(Wrong::Name(if name.is_empty() { name } else { other }))
}

#[idempotent(key = name)]
async fn elided(name: &str) -> Result<u64, Wrong<'_, str>> {
    Err(Wrong::Name(name))
}

struct Named<'n>(&'n str);

impl<'n> Named<'n> {
    #[idempotent(name = "traits.borrowed", key = self.0)]
    async fn borrowed(&self, _: &str) -> Result<u64, Wrong<'_, str>> {
        Err(Wrong::Name(self.0))
    }

    #[idempotent(name = "traits.consumed", key = "{self.0}", on_drop = release)]
    async fn consumed(self) -> Result<u64, Wrong<'n, str>> {
        Err(Wrong::Name(self.0))
    }
}

#[tokio::test]
async fn an_error_keeps_what_it_borrows() {
    let idem = Idem::builder().backend(MemoryBackend::new()).build().unwrap();
    let name = String::from("a");
    let holder = Named(&name);
    let errors = idem
        .scope(async { [named(&name, "b").await, elided(&name).await, holder.borrowed("").await] });
    for error in errors.await {
        assert!(matches!(error, Err(Wrong::Name("a" | "b"))), "{error:?}");
    }
    let error = idem.scope(Named(&name).consumed()).await;
    assert!(matches!(error, Err(Wrong::Name("a"))), "{error:?}");
}

#[test]
fn compiles() {
    let mut shop = Shop { name: "a", lines: [1, 2] };
    drop((shop.steps(1), shop.step(1), <Shop<'_, str, 2>>::kind()));
    drop(shop.sizes::<3>());
    drop((load::<u64, Box<dyn std::error::Error>>(1), load::<u64, anyhow::Error>(1)));
}
