//! The function whose calls are measured: a short key, a fingerprint of two fields, a result of 35
//! bytes, and a body that does next to nothing.

use anyhow::{Context, ensure};
use idem_runtime::codec::MessagePack;
use idem_runtime::{Codec, Error, Idem, MemoryBackend, idempotent};
use serde::{Deserialize, Serialize};

/// What [`charge`] is asked to do.
#[derive(Clone, Debug)]
pub struct Order {
    /// The key of the call.
    pub id: String,
    /// In the fingerprint.
    pub cents: u64,
    /// In the fingerprint.
    pub currency: String,
}

/// What [`charge`] gives.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The charge's number at the bank.
    pub charge: String,
    /// The amount.
    pub cents: u64,
}

impl Receipt {
    fn of(order: &Order) -> Self {
        Self { charge: "ch_4f9a1c07d2e6b8".to_owned(), cents: order.cents }
    }
}

/// Charges an order.
///
/// It names its `Idem`, since a process can install only one and every batch has a new one. That
/// costs what the installed one costs: one clone of the handle.
///
/// # Errors
/// As every idempotent function.
#[idempotent(
    name = "bench.charge",
    key = order.id,
    fingerprint = (order.cents, &order.currency),
    runtime = idem,
)]
pub async fn charge(idem: &Idem, order: &Order) -> Result<Receipt, Error> {
    Ok(Receipt::of(order))
}

/// This many orders, with keys of the same length.
#[must_use]
pub fn orders(count: usize) -> Vec<Order> {
    let order = |number| Order {
        id: format!("order-{number:08}"),
        cents: 4_200,
        currency: "EUR".to_owned(),
    };
    (0..count).map(order).collect()
}

/// The result as it is stored: the bytes that the bare store is given.
///
/// # Errors
/// If it has not the 35 bytes that every figure speaks of.
pub fn encoded_receipt(order: &Order) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    MessagePack::encode(&Receipt::of(order), &mut bytes).context("encoding the receipt")?;
    ensure!(bytes.len() == 35, "the encoded receipt has {} bytes, not 35", bytes.len());
    Ok(bytes)
}

/// An `Idem` on an empty memory backend, with no observer but the one that is always there.
///
/// # Errors
/// Never with these settings.
pub fn fresh_idem() -> anyhow::Result<Idem> {
    Idem::builder().backend(MemoryBackend::new()).build().context("building an Idem")
}
