//! No lint has anything to say about the expansion: clippy reads this file with the others.
#![deny(warnings, clippy::all, clippy::pedantic, clippy::nursery)]
#![deny(let_underscore_drop, single_use_lifetimes, trivial_casts, unused_lifetimes)]
#![deny(unused_qualifications, unused_results, tail_expr_drop_order, variant_size_differences)]
#![deny(clippy::absolute_paths, clippy::arithmetic_side_effects, clippy::as_conversions)]
#![deny(clippy::panic, clippy::shadow_unrelated, clippy::unreachable, clippy::unwrap_used)]
#![deny(clippy::let_underscore_untyped, clippy::wildcard_enum_match_arm)]

use idem_runtime::{Error, Idem, MemoryBackend, idempotent};
use serde::{Deserialize, Serialize};
use tokio::task::yield_now;

#[derive(Serialize, Deserialize)]
struct Order {
    id: u64,
    cents: u64,
}

#[derive(Serialize, Deserialize)]
enum Wrong {
    Refused,
}

impl From<Error> for Wrong {
    fn from(_: Error) -> Self {
        Self::Refused
    }
}

impl Wrong {
    const fn is_permanent(&self) -> bool {
        matches!(self, Self::Refused)
    }
}

async fn find(id: u64) -> Result<Option<u64>, Error> {
    yield_now().await;
    Ok(Some(id))
}

#[idempotent(key = order.id, fingerprint = order.cents, runtime = idem)]
async fn plain(order: &Order, idem: &Idem) -> Result<u64, Error> {
    yield_now().await;
    Ok(order.cents)
}

#[idempotent(key = "{order.id}/{order.cents}", lease = "1s", ttl = "1h", version = 1)]
async fn template(order: Order) -> Result<u64, Error> {
    yield_now().await;
    Ok(order.cents)
}

#[idempotent(key = order.id, on_drop = detach, on_duplicate = wait("1s"), on_lost = cancel)]
async fn detached(order: Order) -> Result<u64, Error> {
    yield_now().await;
    Ok(order.cents)
}

#[idempotent(key = find(order.id).await?.unwrap_or(0), on_crash = reconcile(find(order.id)))]
async fn reconciling(order: Order) -> Result<u64, Error> {
    yield_now().await;
    Ok(order.cents)
}

#[idempotent(key = order.id, on_error = store, on_duplicate = reject, codec = json)]
async fn storing(order: Order) -> Result<u64, Wrong> {
    yield_now().await;
    Ok(order.cents)
}

#[idempotent(key = order.id, on_error = store_if(Wrong::is_permanent))]
async fn storing_some(order: Order) -> Result<u64, Wrong> {
    yield_now().await;
    Ok(order.cents)
}

impl Order {
    #[idempotent(name = "lints.free", key = self.id)]
    async fn free(mut self) -> Result<Self, Error> {
        self.cents = find(0).await?.unwrap_or_default();
        Ok(self)
    }

    #[idempotent(name = "lints.rebate", key = self.id)]
    async fn rebate(&mut self, cents: u64) -> Result<u64, Error> {
        yield_now().await;
        self.cents = self.cents.saturating_sub(cents);
        Ok(self.cents)
    }
}

#[test]
fn compiles() {
    let order = || Order { id: 1, cents: 1 };
    drop((template(order()), detached(order()), reconciling(order())));
    drop((storing(order()), storing_some(order())));
    drop((order().free(), order().rebate(1)));
    let builder = Idem::builder().backend(MemoryBackend::new());
    assert!(builder.build().is_ok_and(|idem| {
        drop(plain(&order(), &idem));
        true
    }));
}
