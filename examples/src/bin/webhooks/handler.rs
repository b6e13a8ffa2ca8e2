//! What happens to a delivery: the one annotated function, and what it may fail with.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use idem_runtime::idempotent;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::delivery::{Delivery, Fail};
use crate::ledger::Ledger;

/// Handles deliveries: writes each event to the ledger.
#[derive(Debug)]
pub(crate) struct Handler {
    pub(crate) ledger: Arc<Ledger>,
    /// Events that were to fail once and have.
    failed_once: Mutex<HashSet<String>>,
}

/// The answer to a delivery: the same for every delivery of an event.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Booked {
    /// The byte of the ledger at which the event's line begins.
    pub(crate) at: u64,
}

/// Why a delivery was not handled.
#[derive(Debug, Error, Serialize, Deserialize)]
pub(crate) enum HandleError {
    /// No delivery of this event will ever succeed.
    #[error("the event is rejected for good")]
    Rejected,
    /// The next delivery may succeed.
    #[error("the handler failed for now")]
    Unavailable,
    /// The effect did not happen.
    #[error("cannot write the ledger: {0}")]
    #[serde(skip)]
    Ledger(#[source] io::Error),
    /// The delivery was refused.
    #[error(transparent)]
    #[serde(skip)]
    Refused(#[from] idem_runtime::Error),
}

impl HandleError {
    /// Whether later deliveries are to get this error too, without running.
    pub(crate) const fn is_permanent(&self) -> bool {
        matches!(self, Self::Rejected)
    }
}

impl Handler {
    pub(crate) fn new(ledger: Ledger) -> Self {
        Self { ledger: Arc::new(ledger), failed_once: Mutex::default() }
    }

    /// Books one event. The name is part of every record: the function may move and be renamed, and
    /// what it has done is still known.
    #[idempotent(
        name = "webhooks.handle",
        key = delivery.id,
        fingerprint = (&delivery.kind, &delivery.data),
        lease = "10s",
        on_error = store_if(HandleError::is_permanent),
    )]
    pub(crate) async fn handle(&self, delivery: &Delivery) -> Result<Booked, HandleError> {
        self.suffer(delivery).await?;
        let at = self.ledger.append(delivery).await.map_err(HandleError::Ledger)?;
        Ok(Booked { at })
    }

    /// What a delivery asks to be simulated.
    async fn suffer(&self, delivery: &Delivery) -> Result<(), HandleError> {
        let slowness = delivery.simulate.slowness();
        if !slowness.is_zero() {
            tokio::time::sleep(slowness).await;
        }
        match delivery.simulate.fail {
            None => Ok(()),
            Some(Fail::ForGood) => Err(HandleError::Rejected),
            Some(Fail::Once) => {
                let mut failed = self.failed_once.lock().unwrap_or_else(PoisonError::into_inner);
                if failed.insert(delivery.id.clone()) {
                    Err(HandleError::Unavailable)
                } else {
                    Ok(())
                }
            }
        }
    }
}
