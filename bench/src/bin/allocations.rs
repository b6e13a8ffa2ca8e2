//! Counts the allocations of a first call and of a replay, and prints them as JSON.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use allocation_counter::{AllocationInfo, measure};
use anyhow::{Context as _, bail};
use idem_bench::{Order, charge, fresh_idem, orders};
use idem_runtime::Idem;
use serde_json::{Value, json};

/// Now and then a map grows during a call: the median of this many calls has none of that.
const CALLS: usize = 1_001;

fn main() -> anyhow::Result<()> {
    let (idem, orders) = (fresh_idem()?, orders(CALLS));
    let first = median(&idem, &orders)?;
    let replay = median(&idem, &orders)?;
    println!("{}", json!({ "first": first, "replay": replay }));
    Ok(())
}

fn median(idem: &Idem, orders: &[Order]) -> anyhow::Result<Value> {
    let mut counts =
        orders.iter().map(|order| count(idem, order)).collect::<anyhow::Result<Vec<_>>>()?;
    counts.sort_by_key(|count| (count.count_total, count.bytes_total));
    let median = counts.get(CALLS / 2).context("there are calls")?;
    Ok(json!({ "allocations": median.count_total, "bytes": median.bytes_total }))
}

/// What one call allocates on this thread; the keeper has its own.
fn count(idem: &Idem, order: &Order) -> anyhow::Result<AllocationInfo> {
    let mut answer = None;
    let counted = measure(|| {
        // The memory backend answers at once, so one poll is the whole call.
        let call = pin!(charge(idem, order));
        if let Poll::Ready(result) = call.poll(&mut Context::from_waker(Waker::noop())) {
            answer = Some(result);
        }
    });
    match answer {
        Some(Ok(_)) => Ok(counted),
        Some(Err(error)) => Err(error).context("a call was refused"),
        None => bail!("a call did not end in one poll, so that not all of it was counted"),
    }
}
