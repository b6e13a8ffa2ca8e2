//! The function whose calls are measured, and the two bare commands that do the same work.

use std::time::Duration;

use anyhow::{Context, ensure};
use idem_bench::Order;
use idem_runtime::codec::MessagePack;
use idem_runtime::{Codec, Error, Idem, idempotent};
use redis::aio::MultiplexedConnection;
use redis::{RedisResult, cmd};
use serde::{Deserialize, Serialize};

/// How long outcomes are kept: a server that is not the suite's own forgets them soon.
pub(super) const TTL: Duration = Duration::from_secs(60);
/// How long a bare reservation is.
const LEASE: Duration = Duration::from_secs(30);
/// As long as an owner is.
const TOKEN: &[u8; 16] = b"some owner or so";

/// What [`pay`] gives: 48 bytes as it is stored.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Payment {
    pub(super) number: String,
    pub(super) cents: u64,
}

impl Payment {
    pub(super) fn of(order: &Order) -> Self {
        Self { number: "pm_4f9a1c07d2e6b8a35b90c1d7e2f".to_owned(), cents: order.cents }
    }
}

#[idempotent(
    name = "bench.pay",
    key = order.id,
    fingerprint = (order.cents, &order.currency),
    runtime = idem,
)]
pub(super) async fn pay(idem: &Idem, order: &Order) -> Result<Payment, Error> {
    Ok(Payment::of(order))
}

/// The result as it is stored: the bytes that the bare commands store.
pub(super) fn encoded_payment(order: &Order) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    MessagePack::encode(&Payment::of(order), &mut bytes).context("encoding the payment")?;
    ensure!(bytes.len() == 48, "the encoded payment has {} bytes, not 48", bytes.len());
    Ok(bytes)
}

/// The least that a first call needs: nobody else's key, and then the result under it.
pub(super) async fn bare_first(
    connection: &mut MultiplexedConnection,
    name: &str,
    result: &[u8],
) -> RedisResult<bool> {
    let mut begin = cmd("SET");
    begin.arg(name).arg(TOKEN).arg("NX").arg("GET").arg("PX").arg(LEASE.as_millis() as u64);
    let stood: Option<Vec<u8>> = begin.query_async(connection).await?;
    let mut complete = cmd("SET");
    complete.arg(name).arg(result).arg("PX").arg(TTL.as_millis() as u64);
    complete.query_async::<()>(connection).await?;
    Ok(stood.is_none())
}

/// The least that a replay needs.
pub(super) async fn bare_replay(
    connection: &mut MultiplexedConnection,
    name: &str,
) -> RedisResult<Option<Vec<u8>>> {
    cmd("GET").arg(name).query_async(connection).await
}
