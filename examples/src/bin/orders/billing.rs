//! What a consumer does with an order: one bill, however often the order is delivered.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use idem_redis::consumer::Message;
use idem_runtime::{idempotent, lease};
use thiserror::Error;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::ledger::Ledger;
use crate::order::{Bill, Order};

/// A consumer's means.
#[derive(Debug)]
pub(crate) struct Billing {
    pub(crate) consumer: String,
    pub(crate) ledger: Arc<Ledger>,
    /// How long an order takes. The bill is out after a quarter of that.
    pub(crate) slow: Duration,
}

/// Why an order was not billed here. It is delivered again.
#[derive(Debug, Error)]
pub(crate) enum BillError {
    #[error("the lease was over before the bill was written")]
    TooLate,
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error("cannot use the ledger: {0}")]
    Ledger(#[from] io::Error),
}

impl Billing {
    /// The handler. The stream delivers an order at least once; the order's id is the key, so that it
    /// is billed once.
    ///
    /// A consumer that is killed in here may have written the bill or not. To run again would bill some
    /// orders twice, to refuse would leave the others to a person. But the bill is one line in one
    /// write, and the ledger can be asked for it: whoever is delivered the order next does that first,
    /// under a lease of its own, and bills only what it does not find.
    ///
    /// `cancel`: whoever lost the key stops, for the next one may have looked into the ledger already.
    #[idempotent(
        name = "orders.bill",
        key = order.id,
        fingerprint = order.cents,
        on_lost = cancel,
        on_crash = reconcile(self.find(order)),
    )]
    pub(crate) async fn bill(&self, order: &Message<Order>) -> Result<Bill, BillError> {
        sleep(self.slow / 4).await;
        let bill = self.write(order)?;
        sleep(self.slow / 4 * 3).await;
        Ok(bill)
    }

    fn write(&self, order: &Order) -> Result<Bill, BillError> {
        // A process that was stopped for longer than its lease may go on right here, before it has been
        // cancelled. By its own clock it knows that.
        if lease().is_none_or(|lease| lease.time_left().is_zero()) {
            return Err(BillError::TooLate);
        }
        let (id, by) = (order.id.clone(), self.consumer.clone());
        let bill = Bill { order: id, cents: order.cents, by };
        self.ledger.add(&bill)?;
        Ok(bill)
    }

    async fn find(&self, order: &Order) -> Result<Option<Bill>, BillError> {
        let (ledger, order) = (Arc::clone(&self.ledger), order.id.clone());
        // A ledger of many lines takes its time to read, and other orders are to go on meanwhile.
        Ok(spawn_blocking(move || ledger.find(&order)).await.map_err(io::Error::other)??)
    }
}
