//! What goes wrong, and when: out of the seed, before anything runs.
//!
//! Storms alternate with calms, in which nothing goes wrong, so that what holds only then is put to the
//! test as well.

use std::time::Duration;

use idem_tests::soak::Dice;

/// Something that is to go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned<T> {
    /// After the start.
    pub(crate) at: Duration,
    pub(crate) what: T,
}

/// What goes wrong with one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It is killed, and started again after a while.
    Kill(Duration),
    /// It stands still.
    Pause(Duration),
    /// Its connections are closed.
    Cut,
    /// They are closed, and no others are let in.
    Refuse(Duration),
    /// For a while its requests, or the replies to them, come so much later.
    Slow { replies: bool, by: Duration, lasts: Duration },
    /// For a while nothing goes on, one way; afterwards everything does.
    Hold { replies: bool, lasts: Duration },
    /// For a while whatever goes one way vanishes, and on those connections all that comes later.
    Swallow { replies: bool, lasts: Duration },
}

/// What goes wrong with the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outage {
    /// It is killed, and started with what it had after a while.
    Restart(Duration),
    /// The same, and it has lost everything.
    Empty(Duration),
    /// It stands still.
    Pause(Duration),
    /// It forgets its scripts.
    ForgetScripts,
    /// It closes all connections.
    KillClients,
}

/// A stretch of time in which things may go wrong.
#[derive(Clone, Copy, Debug)]
struct Storm {
    from: Duration,
    until: Duration,
}

fn storms(seed: u64, lasts: Duration) -> Vec<Storm> {
    let mut dice = Dice::of(seed, &[0]);
    let mut storms = Vec::new();
    let mut from = dice.ms(1_000..3_000);
    while from < lasts {
        let until = (from + dice.ms(5_000..10_000)).min(lasts);
        storms.push(Storm { from, until });
        from = until + dice.ms(8_000..11_000);
    }
    storms
}

/// What goes wrong with a process in all this time.
pub(crate) fn troubles(seed: u64, process: u64, lasts: Duration) -> Vec<Planned<Trouble>> {
    plan(Dice::of(seed, &[1, process]), &storms(seed, lasts), 200..3_000, |dice| {
        let replies = dice.one_in(2);
        match dice.below(11) {
            0 | 1 => Trouble::Kill(dice.ms(0..500)),
            2..=4 => Trouble::Pause(dice.ms(100..2_600)),
            5 => Trouble::Cut,
            6 => Trouble::Refuse(dice.ms(100..1_800)),
            7 | 8 => {
                let lasts = dice.ms(300..1_500);
                Trouble::Slow { replies, by: dice.ms(20..700), lasts }
            }
            9 => Trouble::Hold { replies, lasts: dice.ms(200..1_800) },
            _ => Trouble::Swallow { replies, lasts: dice.ms(50..800) },
        }
    })
}

/// What goes wrong with the server in all this time.
pub(crate) fn outages(seed: u64, lasts: Duration) -> Vec<Planned<Outage>> {
    plan(Dice::of(seed, &[2]), &storms(seed, lasts), 500..4_000, |dice| match dice.below(10) {
        0..=2 => Outage::Restart(dice.ms(0..1_200)),
        3 => Outage::Empty(dice.ms(0..600)),
        4..=6 => Outage::Pause(dice.ms(50..2_000)),
        7 | 8 => Outage::ForgetScripts,
        _ => Outage::KillClients,
    })
}

/// Throws one after the other into the storms, with pauses, each to be over before its storm is.
fn plan<T: Lasts>(
    mut dice: Dice,
    storms: &[Storm],
    pause: std::ops::Range<u64>,
    mut throw: impl FnMut(&mut Dice) -> T,
) -> Vec<Planned<T>> {
    let mut planned = Vec::new();
    for storm in storms {
        let mut at = storm.from;
        loop {
            at += dice.ms(pause.clone());
            let what = throw(&mut dice);
            let lasts = what.lasts();
            if at + lasts > storm.until {
                break;
            }
            planned.push(Planned { at, what });
            at += lasts;
        }
    }
    planned
}

trait Lasts {
    fn lasts(&self) -> Duration;
}

impl Lasts for Trouble {
    fn lasts(&self) -> Duration {
        match *self {
            Self::Kill(lasts) | Self::Pause(lasts) | Self::Refuse(lasts) => lasts,
            Self::Cut => Duration::ZERO,
            Self::Slow { lasts, .. } | Self::Hold { lasts, .. } | Self::Swallow { lasts, .. } => {
                lasts
            }
        }
    }
}

impl Lasts for Outage {
    fn lasts(&self) -> Duration {
        match *self {
            Self::Restart(lasts) | Self::Empty(lasts) | Self::Pause(lasts) => lasts,
            Self::ForgetScripts | Self::KillClients => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LASTS: Duration = Duration::from_secs(600);

    #[test]
    fn a_seed_repeats_its_schedule_and_another_has_another() {
        assert_eq!(troubles(7, 1, LASTS), troubles(7, 1, LASTS));
        assert_ne!(troubles(7, 1, LASTS), troubles(7, 2, LASTS));
        assert_ne!(troubles(7, 1, LASTS), troubles(8, 1, LASTS));
        assert_eq!(outages(7, LASTS), outages(7, LASTS));
        assert_ne!(outages(7, LASTS), outages(8, LASTS));
    }

    #[test]
    fn everything_goes_wrong_in_time_and_leaves_calms() {
        for seed in 0..20 {
            let storms = storms(seed, LASTS);
            let ends = |planned: &[Planned<Trouble>]| {
                planned.iter().map(|planned| planned.at + planned.what.lasts()).max()
            };
            assert!(ends(&troubles(seed, 0, LASTS)) <= Some(LASTS));
            let calm = |two: &[Storm]| two[1].from - two[0].until >= Duration::from_secs(8);
            assert!(storms.windows(2).all(calm) && storms.len() > 20);
            let outages = outages(seed, LASTS);
            let has = |is: fn(&Outage) -> bool| outages.iter().any(|planned| is(&planned.what));
            assert!(has(|what| matches!(what, Outage::Empty(_))));
            assert!(has(|what| matches!(what, Outage::Restart(_))));
        }
    }
}
