//! Keys and fingerprints that are more than a field: temporaries, blocks, `.await`, `?`.
#![deny(warnings)]

use std::{collections::HashMap, sync::RwLock};

use idem_runtime::{Error, Idem, MemoryBackend, idempotent, lease};

fn key_here() -> String {
    lease().expect("a body has a lease").key().to_owned()
}

async fn tenant(name: &str) -> Result<String, Error> {
    Ok(name.to_uppercase())
}

#[idempotent(key = String::from("made here").as_str())]
async fn borrows_a_temporary() -> Result<String, Error> {
    Ok(key_here())
}

#[idempotent(key = (tenant(&name).await?, name.len()), fingerprint = tenant(&name).await?)]
async fn awaits(name: String) -> Result<String, Error> {
    drop(name);
    Ok(key_here())
}

#[idempotent(key = tokio::join!(tenant(&name), async { 1_u64 }).1)]
async fn macros(name: String) -> Result<String, Error> {
    drop(name);
    Ok(key_here())
}

#[idempotent(key = { let first = name.split(',').next(); first.unwrap_or("none") })]
async fn block(name: String) -> Result<String, Error> {
    drop(name);
    Ok(key_here())
}

#[idempotent(key = match number { 0 => "none", _ => "some" }, fingerprint = number.checked_add(1).map(|next| next * 2))]
async fn branches(number: u64) -> Result<String, Error> {
    let _ = number;
    Ok(key_here())
}

#[idempotent(key = *prices.read().unwrap().get("a").unwrap_or(&0))]
async fn behind_a_lock(prices: &RwLock<HashMap<&str, u64>>) -> Result<String, Error> {
    prices.write().unwrap().clear();
    Ok(key_here())
}

#[idempotent(key = number.parse::<u64>()?)]
async fn leaves(number: &str) -> anyhow::Result<String> {
    Ok(key_here())
}

#[idempotent(key = name.clone())]
async fn cloned(name: String) -> Result<String, Error> {
    drop(name);
    Ok(key_here())
}

#[idempotent(key = name)]
#[tracing::instrument(skip(name), err)]
async fn traced_below(name: String) -> Result<String, Error> {
    drop(name);
    Ok(key_here())
}

#[tracing::instrument(skip(name), err)]
#[idempotent(key = name)]
#[must_use]
async fn traced_above(name: String) -> Result<String, Error> {
    drop(name);
    Ok(key_here())
}

#[cfg_attr(all(), idempotent(key = name))]
async fn under_cfg_attr(name: String) -> Result<String, Error> {
    drop(name);
    Ok(key_here())
}

#[tokio::test]
async fn keys_are_what_they_read_like() {
    let idem = Idem::builder().backend(MemoryBackend::new()).build().unwrap();
    let ab = || "a,b".to_owned();
    idem.scope(async {
        assert_eq!(borrows_a_temporary().await.unwrap(), "made here");
        assert_eq!(awaits(ab()).await.unwrap(), "A,B:3");
        assert_eq!(macros(ab()).await.unwrap(), "1");
        assert_eq!(block(ab()).await.unwrap(), "a");
        assert_eq!(branches(1).await.unwrap(), "some");
        let prices = RwLock::new(HashMap::from([("a", 7)]));
        assert_eq!(behind_a_lock(&prices).await.unwrap(), "7");
        assert_eq!(leaves("7").await.unwrap(), "7");
        leaves("seven").await.unwrap_err();
        for key in [
            cloned(ab()).await,
            traced_below(ab()).await,
            traced_above(ab()).await,
            under_cfg_attr(ab()).await,
        ] {
            assert_eq!(key.unwrap(), "a,b");
        }
    })
    .await;
}
