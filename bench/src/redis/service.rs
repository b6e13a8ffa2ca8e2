//! The function whose calls are measured, and the two bare commands that do the same work.

use std::time::Duration;

use anyhow::{Context, ensure};
use idem_bench::Order;
use idem_runtime::codec::MessagePack;
use idem_runtime::record::{Owner, Payload, Record, State};
use idem_runtime::{Codec, Error, Fingerprint, Idem, idempotent};
use redis::aio::MultiplexedConnection;
use redis::{RedisResult, cmd};
use serde::{Deserialize, Serialize};

/// How long outcomes are kept: a server that is not the suite's own forgets them soon.
pub(super) const TTL: Duration = Duration::from_secs(60);
/// How long a bare reservation is.
const LEASE: Duration = Duration::from_secs(30);
/// The part of a record that says whose it is.
const HEAD: usize = 18;
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

/// The script by which a call stores its outcome.
const COMPLETE: &str = include_str!("../../../idem-redis/scripts/complete.lua");

/// The commands of a first call and of a replay as idem sends them, without idem.
pub(super) struct Same {
    hash: String,
    reservation: Vec<u8>,
    outcome: Vec<u8>,
}

impl Same {
    pub(super) async fn new(
        connection: &mut MultiplexedConnection,
        result: &[u8],
    ) -> anyhow::Result<Self> {
        let hash = cmd("SCRIPT").arg("LOAD").arg(COMPLETE).query_async(connection).await?;
        let reservation = Record::reservation(Owner::fresh(), Fingerprint::NONE, 0);
        let payload = Payload::of(|out| {
            out.extend_from_slice(result);
            Ok::<(), Error>(())
        })?;
        let outcome = Record { state: State::Completed, payload, ..reservation.clone() };
        Ok(Self { hash, reservation: reservation.to_bytes(), outcome: outcome.to_bytes() })
    }

    pub(super) async fn first(
        &self,
        connection: &mut MultiplexedConnection,
        name: &str,
    ) -> RedisResult<bool> {
        let stood = self.replay(connection, name).await?;
        let mut complete = cmd("EVALSHA");
        complete.arg(&self.hash).arg(1).arg(name).arg(&self.reservation[..HEAD]);
        complete.arg(&self.outcome).arg(TTL.as_millis() as u64);
        let stored: i64 = complete.query_async(connection).await?;
        Ok(stood.is_none() && stored == 1)
    }

    pub(super) async fn replay(
        &self,
        connection: &mut MultiplexedConnection,
        name: &str,
    ) -> RedisResult<Option<Vec<u8>>> {
        let mut begin = cmd("SET");
        begin.arg(name).arg(&self.reservation).arg("NX").arg("GET");
        begin.arg("PX").arg(LEASE.as_millis() as u64).query_async(connection).await
    }
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
