//! What the parts of a call take by themselves: those a program can reach from outside.

use std::hint::black_box;
use std::time::Instant;

use idem_bench::{Order, Receipt, encoded_receipt};
use idem_runtime::codec::MessagePack;
use idem_runtime::record::Payload;
use idem_runtime::{Codec, Fingerprint, Key};

use crate::stopwatch::{fastest, per_call};

const TIMES: usize = 1_000;
const BATCHES: usize = 50;

/// Nanoseconds of each part.
pub(super) struct Parts {
    key: f64,
    fingerprint: f64,
    encode: f64,
    decode: f64,
}

pub(super) fn measure(order: &Order) -> anyhow::Result<Parts> {
    let bytes = encoded_receipt(order)?;
    let receipt: Receipt = MessagePack::decode(&bytes)?;
    let payload = Payload::of(|out| MessagePack::encode(&receipt, out))?;
    let [key, fingerprint, encode, decode] = fastest(BATCHES, || {
        Ok([
            timed(|| Key::of(black_box(&order.id))),
            timed(|| Fingerprint::of(black_box(&(order.cents, &order.currency)))),
            timed(|| Payload::of(|out| MessagePack::encode_checked(black_box(&receipt), out))),
            timed(|| payload.value().map(|value| MessagePack::decode::<Receipt>(black_box(value)))),
        ])
    })?;
    Ok(Parts { key, fingerprint, encode, decode })
}

fn timed<T>(mut part: impl FnMut() -> T) -> f64 {
    let started = Instant::now();
    for _ in 0..TIMES {
        black_box(part());
    }
    per_call(started, TIMES)
}

impl Parts {
    pub(super) fn of_first_call(&self) -> String {
        let Self { key, fingerprint, encode, decode: _ } = self;
        format!(
            "{key:.0} for the key, {fingerprint:.0} for the fingerprint, {encode:.0} to encode the \
             result and check that it reads back"
        )
    }

    pub(super) fn of_replay(&self) -> String {
        let Self { key, fingerprint, encode: _, decode } = self;
        format!(
            "{key:.0} for the key, {fingerprint:.0} for the fingerprint, {decode:.0} to decode the result"
        )
    }
}
