//! What is compared: calls; the bare commands that do the least; and the commands that calls send,
//! without idem. All on connections of the same kind.

use std::sync::Arc;

use anyhow::{Context, ensure};
use idem_runtime::{Idem, Source, observe};
use redis::aio::MultiplexedConnection;

use super::keys::{Keyed, Keys};
use super::service::{Same, bare_first, bare_replay, encoded_payment, pay};
use super::store::Store;

/// Who works.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Idem,
    Bare,
    Same,
}

/// Whether a key is new.
#[derive(Clone, Copy)]
pub(super) enum Visit {
    First,
    Replay,
}

/// First calls and replays of each side: what a batch measures, in that order.
pub(super) const COLUMNS: [(Side, Visit); 6] = [
    (Side::Idem, Visit::First),
    (Side::Idem, Visit::Replay),
    (Side::Bare, Visit::First),
    (Side::Bare, Visit::Replay),
    (Side::Same, Visit::First),
    (Side::Same, Visit::Replay),
];

/// Nanoseconds a call, by column.
pub(super) type Times = [f64; COLUMNS.len()];

#[derive(Clone)]
pub(super) struct Sides {
    idem: Idem,
    connection: MultiplexedConnection,
    result: Arc<[u8]>,
    same: Arc<Same>,
}

impl Sides {
    pub(super) async fn of(store: &Store) -> anyhow::Result<Self> {
        let result: Arc<[u8]> = encoded_payment(&Keys::default().take(1)[0].order)?.into();
        let mut connection = store.connection().await?;
        let same = Arc::new(Same::new(&mut connection, &result).await?);
        Ok(Self { idem: store.idem().await?, connection, result, same })
    }

    /// Has one side visit these keys, one after the other.
    pub(super) async fn visit<'a>(
        &mut self,
        (side, visit): (Side, Visit),
        keys: impl Iterator<Item = &'a Keyed>,
    ) -> anyhow::Result<()> {
        let Self { idem, connection, result, same } = self;
        for key in keys {
            let is_right = match (side, visit) {
                (Side::Idem, _) => pay(idem, &key.order).await.map(|_| true)?,
                (Side::Bare, Visit::First) => bare_first(connection, &key.bare, result).await?,
                (Side::Bare, Visit::Replay) => {
                    bare_replay(connection, &key.bare).await?.as_deref() == Some(&**result)
                }
                (Side::Same, Visit::First) => same.first(connection, &key.same).await?,
                (Side::Same, Visit::Replay) => same.replay(connection, &key.same).await?.is_some(),
            };
            ensure!(is_right, "a key was not new, or its result was lost");
        }
        Ok(())
    }

    /// Makes sure that the second calls of a batch were replays.
    pub(super) async fn check(&self, key: &Keyed) -> anyhow::Result<()> {
        let again = observe(pay(&self.idem, &key.order)).await.facts;
        let source = again.context("a call has facts")?.source;
        ensure!(source == Source::Replayed, "a second call was answered as {source:?}");
        Ok(())
    }
}
