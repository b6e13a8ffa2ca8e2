//! Time per call of a batch, and the fastest of several batches.
//!
//! Whatever else a machine does only ever adds time, so the fastest of several equal batches is the
//! best estimate of what the code itself takes. It is taken on both sides of every ratio.

use std::time::Instant;

/// A runtime for one caller.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// Nanoseconds for each of `calls`.
pub(crate) fn per_call(started: Instant, calls: usize) -> f64 {
    started.elapsed().as_secs_f64() * 1e9 / calls as f64
}

/// Column by column the least of several batches, which are run one after the other so that both
/// sides of a ratio see the same machine.
pub(crate) fn fastest<const COLUMNS: usize>(
    batches: usize,
    mut batch: impl FnMut() -> anyhow::Result<[f64; COLUMNS]>,
) -> anyhow::Result<[f64; COLUMNS]> {
    let mut least = [f64::INFINITY; COLUMNS];
    for _ in 0..batches {
        for (least, value) in least.iter_mut().zip(batch()?) {
            *least = least.min(value);
        }
    }
    Ok(least)
}
