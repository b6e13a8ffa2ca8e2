//! Round trips: how long they take, and what the server's clock shows meanwhile.

use std::time::Duration;

use redis::{Pipeline, Value};
use tokio::time::Instant;

use crate::check::Server;

const COUNT: usize = 10;

/// The round trips to one server.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// How long each took.
    pub(super) trips: Vec<Duration>,
    /// One was not answered in time: the last.
    pub(super) is_silent: bool,
    /// By the fastest.
    pub(super) clock: Option<Clock>,
}

/// What a server's clock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    /// Microseconds since the epoch at the start that all clocks are compared at.
    pub(super) at_start: i64,
    /// By how much that may be wrong, either way, in microseconds.
    pub(super) error: i64,
}

/// Asks the server for its time, again and again.
pub(super) async fn take(server: Server<'_>, start: Instant) -> Rounds {
    let mut rounds = Rounds::default();
    let mut command = Pipeline::new();
    command.cmd("TIME");
    for _ in 0..COUNT {
        let sent = Instant::now();
        let Ok(replies) = server.ask(&command).await else {
            rounds.is_silent = true;
            break;
        };
        let trip = sent.elapsed();
        if rounds.trips.iter().all(|other| trip < *other) {
            let time = replies.first().and_then(read);
            rounds.clock = time.map(|time| Clock::of(time, sent - start, trip));
        }
        rounds.trips.push(trip);
    }
    rounds
}

/// Reads `TIME`, in microseconds.
fn read(reply: &Value) -> Option<i64> {
    let (seconds, micros): (i64, i64) = redis::from_redis_value_ref(reply).ok()?;
    seconds.checked_mul(1_000_000)?.checked_add(micros)
}

impl Clock {
    /// The server read its clock at some moment of the trip: most likely in its middle.
    fn of(time: i64, sent: Duration, trip: Duration) -> Self {
        let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        let error = micros(trip / 2) + 1;
        Self { at_start: time.saturating_sub(micros(sent).saturating_add(error)), error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_read_in_the_middle_of_the_trip() {
        let ms = Duration::from_millis;
        // Sent 30 ms after the start, answered after 20: the clock was read at about 40.
        let clock = Clock::of(1_000_040_000, ms(30), ms(20));
        assert!((clock.at_start - 1_000_000_000).abs() <= 1 && clock.error >= 10_000, "{clock:?}");
    }

    #[test]
    fn a_time_is_read_and_a_refusal_is_none() {
        let word = |text: &str| Value::BulkString(text.into());
        let time = Value::Array(vec![word("1700000000"), word("25")]);
        assert_eq!(read(&time), Some(1_700_000_000_000_025));
        assert_eq!(read(&Value::Nil), None);
    }
}
