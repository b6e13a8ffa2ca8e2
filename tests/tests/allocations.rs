//! What a call on the memory backend allocates, at most.
//!
//! More needs a reason, fewer lowers the number here. Counted on the calling thread alone, since the
//! keeper has its own.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use idem_runtime::{Error, Idem, MemoryBackend, idempotent};
use serde::{Deserialize, Serialize};

/// Now and then a map grows during a call; the median of this many calls has none of that.
const CALLS: u64 = 1_001;

#[derive(Serialize, Deserialize)]
struct Receipt {
    order: u64,
    cents: u64,
}

/// The body and the result allocate nothing: what is counted is idem's.
#[idempotent(name = "charge", key = id, fingerprint = (cents, currency), runtime = idem)]
async fn charge(idem: &Idem, id: u64, cents: u64, currency: &str) -> Result<Receipt, Error> {
    let _ = currency;
    Ok(Receipt { order: id, cents })
}

/// What one call allocates. The memory backend answers at once, so one poll is the whole call.
fn allocations(idem: &Idem, id: u64) -> u64 {
    let mut answered = false;
    let counted = measure(|| {
        let call = pin!(charge(idem, id, 4_200, "EUR"));
        let polled = call.poll(&mut Context::from_waker(Waker::noop()));
        answered = matches!(polled, Poll::Ready(Ok(_)));
    });
    assert!(answered, "the call of key {id} was not answered in one poll");
    counted.count_total
}

/// The median over fresh keys.
fn median(idem: &Idem) -> u64 {
    let mut counts: Vec<u64> = (0..CALLS).map(|id| allocations(idem, id)).collect();
    counts.sort_unstable();
    counts[counts.len() / 2]
}

#[test]
fn calls_allocate_what_is_known() {
    let idem = Idem::builder().backend(MemoryBackend::new()).build().unwrap();
    // Ten are the call's: the box of the expansion, the key, the fingerprint's canonical form, the
    // record key, the flight, the attempt, the two answers of the store, the encoded
    // result and its shared copy. Four are labels of the metrics observer, which this package's
    // features turn on.
    let first = median(&idem);
    assert!(first <= 14, "{first} allocations of a first call");
    // Six are the call's: the box, the key, the canonical form, the record key, the flight, the
    // answer of the store. Two are labels.
    let replay = median(&idem);
    assert!(replay <= 8, "{replay} allocations of a replay");
}
