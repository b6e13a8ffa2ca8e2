//! A run of the model as a history: the lines that the processes of a soak would write if they went
//! through it.
//!
//! Each caller is a process. An action looks at its claim in every step in which its process does not
//! stand still.

use std::collections::HashMap;

use idem_runtime::protocol::Moment;
use idem_runtime::{OnLost, OnOutage};
use idem_tests::soak::Operation;
use idem_tests::soak::history::{
    Answer, Call, CallId, Disturbance, Duplicate, Effect, End, Given, Line, Micros, Source, What,
};

use crate::message::{Body, Message, Reply};
use crate::properties::Situation;
use crate::record::{Id, Rec};
use crate::running;
use crate::setting::{Fault, Setting};
use crate::state::{Attempt, Stage, World};
use crate::steps::Step;
use crate::time::{Tick, duration, moment};
use crate::walk::{Stride, Walk};

const NAME: &str = "of the model";
/// A lease: long beside what the check grants a busy machine.
pub(crate) const LEASE: Micros = 6_000_000;
/// Between two steps of one moment.
const STEP: Micros = 100;
/// What the operator puts in the place of an outcome: no call's value.
const OF_OPERATOR: CallId = CallId::new(7, 0, 0);

/// The operation that the callers of a setting call.
pub(crate) fn operation(setting: &Setting) -> Operation {
    let ms = |ticks: Tick| LEASE / 1_000 * u64::from(ticks) / u64::from(setting.lease);
    // Where callers differ, what holds for them all is what the last goes by.
    let policy = setting.callers[setting.callers.len() - 1];
    Operation {
        name: NAME,
        lease_ms: ms(setting.lease),
        ttl_ms: ms(setting.ttl),
        retention_ms: ms(policy.retention),
        deadline_ms: None,
        on_lost: policy.on_lost,
        on_drop: policy.on_drop,
        on_crash: policy.on_crash,
        on_outage: OnOutage::Refuse,
        stores_errors: false,
    }
}

/// The history of a run.
pub(crate) fn tell(setting: &Setting, walk: &Walk) -> Vec<Line> {
    let tellers = setting.callers.iter().map(|_| Teller::default()).collect();
    let (lines, at) = (Vec::new(), 0);
    let mut tale =
        Tale { setting, tellers, lines, at, values: HashMap::new(), held: Vec::new(), away: None };
    for (nth, stride) in walk.strides.iter().enumerate() {
        tale.at = tale.moment(moment(stride.after.now)) + STEP * (nth as Micros + 1);
        tale.caller_does(stride);
        tale.adversary_does(stride);
        for caller in 0..setting.callers.len() {
            tale.changed(caller, stride);
        }
    }
    tale.end();
    tale.lines.sort_by_key(|line| line.at);
    tale.lines
}

/// What has been told of one caller.
#[derive(Default)]
pub(crate) struct Teller {
    pub(crate) life: u64,
    pub(crate) paused: Option<Micros>,
    /// What its action last wrote of its claim.
    claim: Option<Option<Moment>>,
    /// What reconcile found.
    reconciled: Option<CallId>,
    /// Its own error, until its key is free or the store has had its time.
    error: Option<Given>,
}

pub(crate) struct Tale<'a> {
    setting: &'a Setting,
    pub(crate) tellers: Vec<Teller>,
    pub(crate) lines: Vec<Line>,
    pub(crate) at: Micros,
    /// The values of the attempts that came to one, and the latest of all bodies that began.
    values: HashMap<Option<Id>, CallId>,
    /// Messages that are held back, and since when.
    pub(crate) held: Vec<(Message, Micros)>,
    pub(crate) away: Option<Micros>,
}

impl Teller {
    /// Of the process that is started in its place.
    pub(crate) fn of_life(life: u64) -> Self {
        Self { life, ..Self::default() }
    }
}

impl Tale<'_> {
    fn moment(&self, moment: Moment) -> Micros {
        let lease = duration(self.setting.lease).as_nanos();
        let scaled = u128::from(moment.as_nanos()) * u128::from(LEASE) / lease;
        1_000_000_000 + u64::try_from(scaled).expect("a run is short")
    }

    fn say(&mut self, what: What) {
        self.lines.push(Line { at: self.at, what });
    }

    fn call(&self, caller: usize) -> CallId {
        CallId::new(caller as u64, self.tellers[caller].life, 1)
    }

    fn answer(&mut self, caller: usize, answer: Answer) {
        let call = self.call(caller);
        self.say(What::Answered { call, answer });
    }

    pub(crate) fn disturbed(&mut self, by: Disturbance, since: Micros) {
        self.say(What::Disturbed { by, since });
    }

    /// What a caller does, or hears, in this step.
    fn caller_does(&mut self, stride: &Stride) {
        let Stride { before, step, reached, .. } = stride;
        let caller = match *step {
            Step::Arrive(caller) => return self.calls(caller),
            Step::Deliver(index) => usize::from(before.network[index].ask.caller),
            Step::Send(caller, ..)
            | Step::Fault(Fault::Drop, caller)
            | Step::GiveUp(caller, _)
            | Step::Start(caller)
            | Step::Anew(caller)
            | Step::End(caller, _)
            | Step::Stop(caller)
            | Step::SettleUnasked(caller) => caller,
            Step::Answer(caller, answer) => {
                self.asked(caller, answer, before);
                caller
            }
            _ => return,
        };
        self.body_ends(caller, stride);
        let told = before.callers[caller].call.attempt().is_some_and(|attempt| attempt.told);
        if !told {
            for situation in reached {
                if let Some(answer) = self.answer_of(caller, *situation, stride) {
                    self.answer(caller, answer);
                }
            }
        }
        if reached.contains(&Situation::Dropped) {
            let call = self.call(caller);
            self.say(What::Abandoned { call });
        }
    }

    fn calls(&mut self, caller: usize) {
        let policy = self.setting.callers[caller];
        let duplicate = if policy.waits { Duplicate::Wait } else { Duplicate::Reject };
        let (id, fingerprint) = (self.call(caller), u64::from(policy.fingerprint));
        let operation = NAME.to_owned();
        self.say(What::Called(Call { id, operation, key: 0, fingerprint, duplicate }));
    }

    fn asked(&mut self, caller: usize, answer: running::Answer, before: &World) {
        let call = self.call(caller);
        let answer = match answer {
            running::Answer::Failed => None,
            running::Answer::RunIt => Some(Effect::Not),
            running::Answer::Value => {
                let value = self.values.get(&None).copied().unwrap_or(OF_OPERATOR);
                self.tellers[caller].reconciled = Some(value);
                self.values.insert(before.callers[caller].call.owner(), value);
                Some(Effect::Happened(value))
            }
        };
        self.say(What::Asked { call, answer });
    }

    /// The body of this caller ends, if it ran.
    fn body_ends(&mut self, caller: usize, Stride { before, step, after, .. }: &Stride) {
        let runs = |world: &World| {
            world.callers[caller].call.attempt().is_some_and(|at| at.stage == Stage::Running)
        };
        if !runs(before) || runs(after) {
            return;
        }
        let call = self.call(caller);
        let end = match step {
            Step::End(_, running::End::Value) => End::Returned,
            Step::End(_, running::End::Error) => End::Failed,
            _ => End::Dropped,
        };
        if end == End::Returned {
            self.values.insert(before.callers[caller].call.owner(), call);
        }
        self.say(What::Ended { call, end });
    }

    fn answer_of(&mut self, caller: usize, what: Situation, stride: &Stride) -> Option<Answer> {
        let refused = |kind: &str| Some(Answer::Refused(kind.to_owned()));
        let ignores = self.setting.callers[caller].on_lost == OnLost::Ignore;
        match what {
            Situation::Stored => Some(self.own(caller, stride, true, Some(false))),
            Situation::StoredLapsed => Some(self.own(caller, stride, true, Some(true))),
            Situation::Deferred | Situation::Ignored => Some(self.own(caller, stride, false, None)),
            Situation::TooLate if ignores => Some(self.own(caller, stride, false, None)),
            Situation::LeaseLost | Situation::TooLate | Situation::Stopped => refused("LeaseLost"),
            Situation::Replayed => Some(self.replayed(stride)),
            Situation::InProgress => refused("InProgress"),
            Situation::NoAnswer => refused("Backend"),
            Situation::Mismatch => refused("FingerprintMismatch"),
            Situation::Unknown => refused("OutcomeUnknown"),
            Situation::Freed => {
                let Answer::Given(given) = self.own(caller, stride, false, None) else {
                    return None;
                };
                self.tellers[caller].error = Some(Given { error: true, ..given });
                None
            }
            _ => None,
        }
    }

    /// What this caller's own action, or what it was asked, has come to.
    fn own(
        &self,
        caller: usize,
        Stride { before, after, .. }: &Stride,
        stored: bool,
        lapsed: Option<bool>,
    ) -> Answer {
        let reconciled = self.tellers[caller].reconciled;
        let lapsed = lapsed.unwrap_or_else(|| {
            let attempt = |world: &World| world.callers[caller].call.attempt().cloned();
            attempt(after).or_else(|| attempt(before)).is_some_and(|mut attempt| {
                attempt.tenure.observe(moment(after.now));
                attempt.tenure.has_lapsed()
            })
        });
        Answer::Given(Given {
            value: reconciled.unwrap_or_else(|| self.call(caller)),
            error: false,
            source: if reconciled.is_some() { Source::Reconciled } else { Source::Fresh },
            stored,
            lapsed,
            protected: true,
        })
    }

    /// The value of the outcome that a caller has found.
    fn replayed(&self, Stride { before, step, .. }: &Stride) -> Answer {
        let stands = || before.store.map(|kept| kept.record);
        let found = match step {
            Step::Deliver(index) => match before.network[*index].body {
                Body::Reply(Reply::Found(found) | Reply::Seen(Some((found, _)))) => Some(found),
                _ => stands(),
            },
            _ => stands(),
        };
        let Rec { owner, .. } = found.expect("an outcome was found");
        let value = self.values.get(&Some(owner)).copied().unwrap_or(OF_OPERATOR);
        let (error, source) = (false, Source::Replayed);
        Answer::Given(Given { value, error, source, stored: true, lapsed: false, protected: true })
    }

    /// What has become of this caller's attempt, and what its action sees of it.
    fn changed(&mut self, caller: usize, Stride { after, step, .. }: &Stride) {
        let who = &after.callers[caller];
        let call = self.call(caller);
        if *step == Step::Start(caller)
            && let Some(attempt) = who.call.attempt()
        {
            let attempt = u32::from(attempt.number);
            self.tellers[caller].claim = None;
            self.values.insert(None, call);
            self.say(What::Began { call, attempt, protected: true });
            // Early enough for a reconcile to find it, whenever this caller stops.
            self.say(What::Effect { call });
        }
        if who.paused {
            return;
        }
        let running = who.call.attempt().filter(|attempt| attempt.stage == Stage::Running);
        if let Some(attempt) = running {
            self.looks(caller, attempt, after.now);
        }
        let frees = who.call.attempt().filter(|attempt| attempt.stage == Stage::Releasing);
        let in_time = frees
            .and_then(|attempt| attempt.ask)
            .is_some_and(|ask| after.now < ask.since + self.setting.store_timeout);
        if !in_time && let Some(given) = self.tellers[caller].error.take() {
            self.answer(caller, Answer::Given(given));
        }
    }

    /// An action writes down until when its owner claims the key, if that has changed.
    fn looks(&mut self, caller: usize, attempt: &Attempt, now: Tick) {
        let claims = !attempt.lost && !attempt.tenure.at_risk(moment(now));
        let claim = claims.then(|| attempt.tenure.deadline());
        if self.tellers[caller].claim != Some(claim) {
            self.tellers[caller].claim = Some(claim);
            let until = claim.map_or(self.at, |until| self.moment(until));
            let call = self.call(caller);
            self.say(What::Holds { call, until });
        }
    }
}
