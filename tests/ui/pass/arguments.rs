//! Arguments of every kind.
#![deny(warnings)]
#![allow(clippy::unused_async)]

use std::{borrow::Cow, fmt::Debug, pin::Pin, sync::Arc};

use idem_runtime::{Error, ToKey, idempotent};

#[idempotent(key = id)]
async fn impl_traits(
    id: impl ToKey + Clone,
    each: impl Fn(u64) -> u64,
    text: impl Into<String>,
    numbers: impl IntoIterator<Item = u64>,
) -> Result<u64, Error> {
    let text: String = text.into();
    Ok(numbers.into_iter().map(each).sum::<u64>() + text.len() as u64)
}

#[idempotent(key = "{id}/{boxed}")]
async fn dyn_traits(
    id: &(dyn ToKey + Sync),
    boxed: Box<dyn ToKey + Send + Sync + '_>,
    shown: &dyn Debug,
    next: &mut dyn FnMut() -> u64,
) -> Result<String, Error> {
    drop(boxed);
    Ok(format!("{shown:?}{}", next()))
}

#[idempotent(key = (&*shared, text))]
async fn unsized_ones(shared: Arc<str>, text: &str, either: Cow<'_, str>) -> Result<usize, Error> {
    Ok(shared.len() + text.len() + either.len())
}

#[idempotent(key = numbers.len())]
async fn async_closures(
    numbers: Vec<u64>,
    first: impl AsyncFn(u64) -> u64,
    mut then: impl AsyncFnMut() -> u64,
) -> Result<u64, Error> {
    let next = async |number: u64| number + 1;
    let mut sum = first(1).await + then().await;
    for number in &numbers {
        sum += next(*number).await;
    }
    let checked = async { if sum > 100 { Err(()) } else { Ok(sum) } }.await;
    let last = async move || numbers.len() as u64;
    Ok(checked.unwrap_or(0) + last().await)
}

#[idempotent(key = 1)]
async fn higher_ranked<F>(text: String, ask: F) -> Result<u64, Error>
where
    F: for<'a> Fn(&'a str) -> Pin<Box<dyn Future<Output = u64> + Send + 'a>>,
{
    Ok(ask(&text).await)
}

#[allow(clippy::non_minimal_cfg)]
#[idempotent(key = id)]
async fn behind_cfg(
    id: u64,
    #[cfg(any())] missing: NoSuchType,
    #[cfg(all())] there: String,
    #[allow(unused_variables)] unused: u64,
) -> Result<u64, Error> {
    Ok(id + there.len() as u64)
}

#[idempotent(key = "{r#async}/{größe}")]
async fn names(r#async: u64, größe: u64) -> Result<u64, Error> {
    Ok(r#async + größe)
}

// Calls that make each other, and themselves, have no infinite size.
#[idempotent(key = n)]
async fn even(n: u64) -> Result<bool, Error> {
    if n == 0 { Ok(true) } else { odd(n - 1).await }
}

#[idempotent(key = n)]
async fn odd(n: u64) -> Result<bool, Error> {
    if n == 0 { Ok(false) } else { even(n - 1).await }
}

#[test]
fn compiles() {
    drop(impl_traits(1, |n| n, "", [1]));
    drop(dyn_traits(&1_u64, Box::new("a"), &1, &mut || 1));
    drop(unsized_ones("a".into(), "b", "c".into()));
    drop(async_closures(vec![1], async |n| n, async || 1));
    drop(higher_ranked(String::new(), |text| Box::pin(async move { text.len() as u64 })));
    drop((behind_cfg(1, String::new(), 1), names(1, 1), even(1), odd(1)));
}
