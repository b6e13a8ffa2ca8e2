//! Time in the model: whole ticks, the same for the store and for all callers.

use std::time::Duration;

use idem_runtime::protocol::Moment;

/// A point in time, or a time, in ticks.
pub(crate) type Tick = u8;

/// What a tick stands for. Its halves, thirds and tenths are whole milliseconds, so that every share
/// of a lease which the owner's rules take is exact.
const TICK_MS: u64 = 120;

pub(crate) fn duration(ticks: Tick) -> Duration {
    Duration::from_millis(TICK_MS * u64::from(ticks))
}

pub(crate) fn moment(tick: Tick) -> Moment {
    Moment::ORIGIN.after(duration(tick))
}

/// What the owner takes for the moment of a command that it sends in this tick: a little before the
/// store can carry it out.
pub(crate) fn sent(tick: Tick) -> Moment {
    moment(tick).before(Duration::from_nanos(1))
}

/// The whole ticks of a time that the model itself made up.
pub(crate) fn ticks(duration: Duration) -> Tick {
    let ticks = duration.as_millis() / u128::from(TICK_MS);
    Tick::try_from(ticks).expect("a time of the model is a few ticks")
}
