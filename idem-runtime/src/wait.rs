//! Waiting for who has the key: in this process beside the seat, across processes at the store.

use std::time::Duration;

use crate::ask::{ask, bounded, jittered};
use crate::backend::{BackendError, Watch};
use crate::begin::{Arrival, Step};
use crate::error::{Error, ErrorKind};
use crate::event::EventKind;
use crate::fingerprint::Fingerprint;
use crate::flight::{Answer, Holder, Look, Place, Seat};
use crate::protocol::Moment;
use crate::protocol::judge::{Verdict, agree, judge};
use crate::record::Found;
use crate::sync::select;
use crate::sync::time::{sleep_until, timeout_at};

/// The first pause between two reads of a waiter at the store; each later one is twice as long.
const FIRST_POLL: Duration = Duration::from_millis(25);
/// The longest pause: what a lost wake-up costs at most.
const LONGEST_POLL: Duration = Duration::from_secs(1);

/// What a place beside the seat led to.
pub(crate) enum Awaited {
    /// The seat was given up and is this call's.
    Seat(Seat),
    /// The seat found out for everybody.
    Answer(Answer),
}

impl Arrival {
    /// Waits beside the seat of the flight, without touching the store.
    pub(crate) async fn await_seat(&self, mut place: Place) -> Result<Awaited, Error> {
        loop {
            match self.await_news(&place).await? {
                Some(answer) => return Ok(Awaited::Answer(answer)),
                None => match place.take_seat() {
                    Ok(seat) => return Ok(Awaited::Seat(seat)),
                    Err(taken) => place = taken,
                },
            }
        }
    }

    /// Waits for the answer, or for the seat to be given up (`None`).
    ///
    /// The fingerprint is checked as soon as the reservation that stands is known: a mismatch is
    /// refused before "in progress" is.
    async fn await_news(&self, place: &Place) -> Result<Option<Answer>, Error> {
        // A call that does not wait still needs to hear what stands in the store, which the seat is
        // asking just now.
        let until = self.at.after(self.terms.wait().unwrap_or(self.core.store_timeout));
        loop {
            let mut turn = std::pin::pin!(place.turn());
            // In line from here on: nothing that happens after the look is missed, and a turn that
            // is given to this call and not used goes to the next.
            turn.as_mut().enable();
            let now = self.now();
            let mut retry_after = None;
            match place.look(now) {
                Look::Answered(answer) => return Ok(Some(answer)),
                Look::Vacant => return Ok(None),
                Look::Asking => {}
                Look::Reserved { fingerprint, .. } if !agree(fingerprint, self.fingerprint) => {
                    return Err(self.mismatch());
                }
                Look::Reserved { lapses_in, .. } if self.terms.wait().is_none() => {
                    return Err(self.rejected(Some(lapses_in)));
                }
                Look::Reserved { lapses_in, .. } => retry_after = Some(lapses_in),
            }
            if now >= until {
                return Err(self.wait_ended(retry_after));
            }
            // Looks again now and then: a turn may have gone to a call that nobody polls.
            let again = until.min(now.after(LONGEST_POLL));
            let _ = timeout_at(self.core.clock.instant(again), turn).await;
        }
    }

    /// With the seat in hand: what to do about another process's reservation.
    ///
    /// Subscribes first and reads second, so that no change is missed, and reads again at a change,
    /// at the lapse, and after a pause that grows.
    pub(crate) async fn meet(&self, seat: Seat) -> Result<Step, Error> {
        let Some(wait) = self.terms.wait() else { return self.meet_once(seat).await };
        let until = self.at.after(wait);
        let mut watch = self.subscribe(until).await;
        let mut pause = FIRST_POLL;
        loop {
            let seen = self.peek(until).await;
            let now = self.now();
            let (lapses_in, failed) = match seen {
                Ok(None) => return Ok(Step::Anew(seat)),
                Ok(Some(found)) => {
                    let Verdict::InProgress { lapses_in } = judge(&found, self.fingerprint) else {
                        return self.act_on(seat, &found).await;
                    };
                    self.show(&seat, &found, now.after(lapses_in));
                    (lapses_in, None)
                }
                Err(error) => (LONGEST_POLL, Some(error)),
            };
            if now >= until {
                return Err(match failed {
                    None => self.wait_ended(Some(lapses_in)),
                    Some(error) => self.failed(error),
                });
            }
            let soonest = jittered(pause).min(lapses_in.max(Duration::from_millis(1)));
            let next = now.after(soonest).min(until);
            self.change_or(&mut watch, next).await;
            pause = (pause * 2).min(LONGEST_POLL);
            if watch.as_ref().is_none_or(Watch::is_lost) {
                watch = self.subscribe(until).await;
            }
        }
    }

    /// A call that does not wait reads once: a reservation that has lapsed is not in progress.
    async fn meet_once(&self, seat: Seat) -> Result<Step, Error> {
        let until = self.now().after(self.core.store_timeout);
        match self.peek(until).await {
            Ok(None) => Ok(Step::Anew(seat)),
            Ok(Some(found)) => match judge(&found, self.fingerprint) {
                Verdict::InProgress { lapses_in } => Err(self.rejected(Some(lapses_in))),
                _ => self.act_on(seat, &found).await,
            },
            Err(error) => Err(self.failed(error)),
        }
    }

    /// What is to be done about a record that is not in progress.
    async fn act_on(&self, seat: Seat, found: &Found) -> Result<Step, Error> {
        match judge(found, self.fingerprint) {
            Verdict::Mismatch => Err(self.mismatch()),
            Verdict::Completed(outcome) => Ok(Step::Outcome(seat, outcome.clone())),
            Verdict::Lapsed(record) => self.crashed(seat, record).await,
            Verdict::InProgress { .. } => Ok(Step::Anew(seat)),
        }
    }

    /// Lets the places of this flight know what stands.
    fn show(&self, seat: &Seat, found: &Found, lapses_at: Moment) {
        let fingerprint =
            found.standing.record().map_or(Fingerprint::NONE, |record| record.fingerprint);
        seat.reserved(fingerprint, Holder::Elsewhere { lapses_at });
    }

    async fn peek(&self, until: Moment) -> Result<Option<Found>, BackendError> {
        let core = &self.core;
        // One read gets its time even when the wait is all but over.
        let until = until.max(self.now().after(core.store_timeout / 4));
        ask(core.clock, until, || core.store.peek(&self.key)).await
    }

    /// A watch, if the store gives one in time; without it, polling does.
    async fn subscribe(&self, until: Moment) -> Option<Watch> {
        let core = &self.core;
        let until = until.min(self.now().after(core.store_timeout / 4));
        bounded(core.clock, until, core.store.changed(&self.key)).await?.ok()
    }

    async fn change_or(&self, watch: &mut Option<Watch>, until: Moment) {
        let pause = sleep_until(self.core.clock.instant(until));
        match watch {
            Some(watch) => select! {
                () = watch.changed() => {}
                () = pause => {}
            },
            None => pause.await,
        }
    }

    fn rejected(&self, retry_after: Option<Duration>) -> Error {
        self.tell(EventKind::Rejected);
        self.in_progress(retry_after)
    }

    pub(crate) fn wait_ended(&self, retry_after: Option<Duration>) -> Error {
        let waited = self.now().since(self.at);
        self.tell(EventKind::WaitEnded { waited });
        self.in_progress(retry_after)
    }

    fn in_progress(&self, retry_after: Option<Duration>) -> Error {
        let error = self.error(ErrorKind::InProgress);
        match retry_after {
            Some(after) => error.after(after),
            None => error,
        }
    }
}
