//! Three callers, a store and a network, stepped by a schedule.

use std::time::Duration;

use idem_runtime::Fingerprint;
use idem_runtime::protocol::Moment;
use idem_runtime::protocol::tenure::Tenure;
use idem_runtime::protocol::transition::{
    self, BeginReply, Change, CompleteReply, Entry, RenewReply, ReplaceReply, has_lapsed,
};
use idem_runtime::record::{Head, Owner, Record, Standing, State};
use proptest::prelude::*;

/// In milliseconds of the schedule.
const LEASE: Duration = Duration::from_millis(200);
const TTL: Duration = Duration::from_millis(2_000);
const RETENTION: Duration = Duration::from_millis(600);
/// A message that is older than this has been lost.
const OLDEST: Duration = Duration::from_millis(500);

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Milliseconds pass.
    Pass(u64),
    /// A caller does what is next for it.
    Act(usize),
    /// A message arrives; `again`: and stays in the network.
    Deliver {
        which: prop::sample::Index,
        again: bool,
    },
    Lose(prop::sample::Index),
    /// A caller's process is gone.
    Crash(usize),
    /// A caller's body ends with an outcome.
    End(usize),
}

/// How often the schedules reached what the promises are about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reached {
    ran: usize,
    stored: usize,
    refused: usize,
    gone: usize,
    lapsed: usize,
    replayed: usize,
    taken_over: usize,
}

impl Reached {
    pub(crate) fn add(&mut self, other: &Self) {
        let Self { ran, stored, refused, gone, lapsed, replayed, taken_over } = other;
        self.ran += ran;
        self.stored += stored;
        self.refused += refused;
        self.gone += gone;
        self.lapsed += lapsed;
        self.replayed += replayed;
        self.taken_over += taken_over;
    }

    pub(crate) fn assert_everything_was_seen(&self, remembered: bool) {
        let Self { ran, stored, refused, gone, lapsed, replayed, taken_over } = *self;
        assert!(ran.min(stored).min(refused).min(gone).min(lapsed).min(replayed) > 3, "{self:?}");
        assert_eq!(taken_over > 10, remembered, "{self:?}");
    }
}

#[derive(Clone, Debug)]
enum Command {
    Begin(Record),
    Renew(Owner, Duration),
    Complete(Record),
    Release(Owner),
    TakeOver { seen: Head, by: Record },
}

#[derive(Clone, Debug)]
enum Reply {
    Begin(BeginReply, Option<Duration>),
    Renew(RenewReply),
    Complete(CompleteReply),
    TakeOver(ReplaceReply),
}

#[derive(Clone, Debug)]
struct Message {
    caller: usize,
    owner: Owner,
    sent: Moment,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    Command(Command),
    Reply(Reply),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// The command that takes the key has been sent, for the first time at `Caller::tenure`.
    Taking,
    /// The key is taken; the body has not been polled.
    Taken,
    Running,
    /// The body has ended; its outcome is being stored.
    Completing,
    /// A begin after *gone* is under way.
    ReservingAgain,
}

#[derive(Clone, Debug)]
struct Caller {
    reservation: Record,
    tenure: Tenure,
    stage: Stage,
    takeover_of: Option<Head>,
    armed: bool,
    ends: bool,
    /// When its body was first polled.
    started: Option<Moment>,
}

#[derive(Debug)]
pub(crate) struct World {
    now: Moment,
    remembered: bool,
    store: Option<(Standing, Moment)>,
    network: Vec<Message>,
    callers: [Option<Caller>; 3],
    next_owner: u8,
    /// When the store last carried out a command of the owner whose record stands.
    last_command: Moment,
    /// Every start of a body: whose, and when.
    starts: Vec<(Owner, Moment)>,
    pub(crate) reached: Reached,
}

impl World {
    pub(crate) fn new(remembered: bool) -> Self {
        Self {
            now: Moment::from_nanos(1_000_000),
            remembered,
            store: None,
            network: Vec::new(),
            callers: [None, None, None],
            next_owner: 0,
            last_command: Moment::ORIGIN,
            starts: Vec::new(),
            reached: Reached::default(),
        }
    }

    #[allow(clippy::needless_pass_by_value, reason = "a step is used up")]
    pub(crate) fn take(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Pass(ms) => {
                self.now = self.now.after(Duration::from_millis(ms));
                let oldest = self.now.before(OLDEST);
                self.network.retain(|message| message.sent >= oldest);
            }
            Step::Act(caller) => self.act(caller)?,
            Step::Deliver { which, again } if !self.network.is_empty() => {
                let at = which.index(self.network.len());
                let message = self.network[at].clone();
                if !again {
                    self.network.swap_remove(at);
                }
                self.deliver(message)?;
            }
            Step::Lose(which) if !self.network.is_empty() => {
                let at = which.index(self.network.len());
                self.network.swap_remove(at);
            }
            Step::Crash(caller) => self.callers[caller] = None,
            Step::End(caller) => {
                if let Some(caller) = &mut self.callers[caller] {
                    caller.ends = true;
                }
            }
            Step::Deliver { .. } | Step::Lose(_) => {}
        }
        self.one_owner_at_most()
    }

    /// Promise 1: of two callers, at most one runs and is not past its lease deadline.
    fn one_owner_at_most(&self) -> Result<(), TestCaseError> {
        let sure = |caller: &&Caller| {
            matches!(caller.stage, Stage::Running | Stage::Completing | Stage::ReservingAgain)
                && !caller.tenure.at_risk(self.now)
        };
        let owners = self.callers.iter().flatten().filter(sure).count();
        prop_assert!(owners <= 1, "two owners believe in their leases at {:?}", self.now);
        Ok(())
    }

    fn standing(&self) -> Option<(&Record, Duration)> {
        let (standing, ends) = self.store.as_ref()?;
        (*ends > self.now).then(|| (standing.record().unwrap(), ends.since(self.now)))
    }

    fn send(&mut self, caller: usize, owner: Owner, command: Command) {
        self.network.push(Message { caller, owner, sent: self.now, body: Body::Command(command) });
    }

    /// What the runtime would do next for this caller, by the owner's rules.
    fn act(&mut self, index: usize) -> Result<(), TestCaseError> {
        let now = self.now;
        let retention = if self.remembered { RETENTION } else { Duration::ZERO };
        let Some(mut caller) = self.callers[index].take() else {
            self.next_owner += 1;
            let reservation = Record::reservation(owner(self.next_owner), Fingerprint::NONE, 0);
            self.send(index, reservation.owner, Command::Begin(reservation.clone()));
            self.callers[index] = Some(Caller::new(reservation, None, now));
            return Ok(());
        };
        let owner = caller.reservation.owner;
        match caller.stage {
            // A repeat, for a reply that may have been lost.
            Stage::Taking => {
                let command = match caller.takeover_of {
                    None => Command::Begin(caller.reservation.clone()),
                    Some(seen) => Command::TakeOver { seen, by: caller.reservation.clone() },
                };
                self.send(index, owner, command);
            }
            Stage::Taken if caller.armed && caller.tenure.may_start(now) => {
                caller.stage = Stage::Running;
                caller.started = Some(now);
                self.started(owner)?;
            }
            Stage::Taken => self.send(index, owner, Command::Renew(owner, retention)),
            Stage::Running if caller.ends => {
                caller.stage = Stage::Completing;
                self.complete(index, &mut caller);
            }
            Stage::Running => self.send(index, owner, Command::Renew(owner, retention)),
            Stage::Completing => {
                if !caller.tenure.window_is_open(now) {
                    self.send(index, owner, Command::Release(owner));
                    return Ok(());
                }
                self.complete(index, &mut caller);
            }
            Stage::ReservingAgain => {
                self.send(index, owner, Command::Begin(caller.reservation.clone()));
            }
        }
        self.callers[index] = Some(caller);
        Ok(())
    }

    fn complete(&mut self, index: usize, caller: &mut Caller) {
        caller.tenure.completing(self.now);
        let outcome = Record { state: State::Completed, ..caller.reservation.clone() };
        self.send(index, outcome.owner, Command::Complete(outcome));
    }

    /// Promise 2: a body never starts while an outcome stands.
    fn started(&mut self, owner: Owner) -> Result<(), TestCaseError> {
        self.reached.ran += 1;
        self.starts.push((owner, self.now));
        if let Some((record, _)) = self.standing() {
            prop_assert!(record.state == State::Reserved, "a body starts beside an outcome");
            prop_assert!(record.owner == owner, "a body starts under another's reservation");
        }
        Ok(())
    }

    fn deliver(&mut self, message: Message) -> Result<(), TestCaseError> {
        match message.body {
            Body::Command(command) => {
                let reply = self.carry_out(message.owner, command)?;
                if let Some(reply) = reply {
                    self.network.push(Message { body: Body::Reply(reply), ..message });
                }
                Ok(())
            }
            Body::Reply(reply) => {
                let mine = |caller: &Caller| caller.reservation.owner == message.owner;
                if self.callers[message.caller].as_ref().is_some_and(mine) {
                    self.hear(message.caller, message.sent, reply)?;
                }
                Ok(())
            }
        }
    }

    /// One atomic step of the store, and the promises about what it may change.
    #[allow(clippy::needless_pass_by_value, reason = "a command is used up")]
    fn carry_out(&mut self, by: Owner, command: Command) -> Result<Option<Reply>, TestCaseError> {
        let before = self.standing().map(|(record, left)| (record.clone(), left));
        let found = self.store.as_ref().filter(|(_, ends)| *ends > self.now);
        let entry = found.map(|(standing, ends)| Entry { standing, left: ends.since(self.now) });
        let (reply, change) = match &command {
            Command::Begin(record) => {
                let left = entry.map(|entry| entry.left);
                let (reply, change) = transition::begin(entry, record, LEASE);
                (Some(Reply::Begin(reply, left)), change)
            }
            Command::Renew(owner, retention) => {
                let (reply, change) = transition::renew(entry, *owner, LEASE, *retention);
                (Some(Reply::Renew(reply)), change)
            }
            Command::Complete(outcome) => {
                let (reply, change) = transition::complete(entry, outcome, TTL);
                (Some(Reply::Complete(reply)), change)
            }
            Command::Release(owner) => (None, transition::release(entry, *owner).1),
            Command::TakeOver { seen, by } => {
                let life = LEASE + by.retention();
                let (reply, change) =
                    transition::replace(entry, *seen, by, life, Some(by.retention()));
                (Some(Reply::TakeOver(reply)), change)
            }
        };
        self.may_change(by, before.as_ref(), &change)?;
        self.apply(by, change);
        Ok(reply)
    }

    /// Promises 2 and 3: an outcome is final, and only an owner changes its own record; a takeover
    /// only takes what has lapsed.
    fn may_change(
        &self,
        by: Owner,
        before: Option<&(Record, Duration)>,
        change: &Change,
    ) -> Result<(), TestCaseError> {
        let Some((record, left)) = before else { return Ok(()) };
        if *change == Change::Keep {
            return Ok(());
        }
        prop_assert!(record.state == State::Reserved, "an outcome was changed by {change:?}");
        let took_over =
            matches!(change, Change::Put { record, .. } if record.state == State::Reserved);
        prop_assert!(
            record.owner == by || (took_over && has_lapsed(record, *left)),
            "a stale owner changed the record"
        );
        Ok(())
    }

    fn apply(&mut self, by: Owner, change: Change) {
        let put = |record: Record, life: Duration, now: Moment| {
            Some((Standing::Record(record), now.after(life)))
        };
        match change {
            Change::Keep => return,
            Change::Put { record, life } => self.store = put(record, life, self.now),
            Change::Extend { retention_ms, life } => {
                if let Some((Standing::Record(record), _)) = self.store.take() {
                    self.store = put(Record { retention_ms, ..record }, life, self.now);
                }
            }
            Change::Fence(_) => {}
            Change::Remove => self.store = None,
        }
        self.last_command = self.now;
        // Promise 5: nothing an owner can send makes its reservation outlive it by more than a lease
        // (and what it is remembered for).
        if let Some((record, left)) = self.standing()
            && record.state == State::Reserved
        {
            assert!(record.owner == by && left <= LEASE + record.retention());
        }
    }

    fn hear(&mut self, index: usize, sent: Moment, reply: Reply) -> Result<(), TestCaseError> {
        let now = self.now;
        let Some(mut caller) = self.callers[index].take() else { return Ok(()) };
        let owner = caller.reservation.owner;
        let keep = match (caller.stage.clone(), reply) {
            (Stage::Taking, Reply::Begin(BeginReply::Acquired, _))
            | (Stage::Taking, Reply::TakeOver(ReplaceReply::Replaced)) => {
                caller.stage = Stage::Taken;
                caller.armed = !self.remembered || caller.takeover_of.is_some();
                self.reached.taken_over += usize::from(caller.takeover_of.is_some());
                true
            }
            (Stage::Taking, Reply::Begin(BeginReply::Found(standing), left)) => {
                let record = standing.record().unwrap();
                self.reached.replayed += usize::from(record.state == State::Completed);
                if has_lapsed(record, left.unwrap()) {
                    self.take_over(index, record);
                    return Ok(());
                }
                false
            }
            (Stage::Taking, Reply::TakeOver(ReplaceReply::Stands(_))) => false,
            (Stage::ReservingAgain, Reply::Begin(BeginReply::Acquired, _)) => {
                caller.stage = if caller.ends { Stage::Completing } else { Stage::Running };
                true
            }
            (Stage::ReservingAgain, Reply::Begin(BeginReply::Found(standing), _)) => {
                let mine = Head { state: State::Completed, owner };
                if standing.matches(mine) {
                    self.told_stored(&caller)?;
                } else {
                    self.reached.refused += 1;
                }
                false
            }
            (_, Reply::Renew(RenewReply::Renewed)) => {
                caller.armed = true;
                caller.tenure.renewed(sent, now);
                true
            }
            (Stage::Taken, Reply::Renew(_)) => false,
            (Stage::Running, Reply::Renew(RenewReply::Gone)) => {
                self.reached.gone += 1;
                caller.tenure.gone(now);
                caller.stage = Stage::ReservingAgain;
                true
            }
            (Stage::Completing, Reply::Complete(reply)) => {
                if !caller.tenure.window_is_open(now) {
                    false
                } else {
                    match reply {
                        CompleteReply::Stored | CompleteReply::AlreadyStored => {
                            self.told_stored(&caller)?;
                            false
                        }
                        CompleteReply::Refused(_) => {
                            self.reached.refused += 1;
                            false
                        }
                        CompleteReply::Gone => {
                            caller.tenure.gone(now);
                            caller.stage = Stage::ReservingAgain;
                            true
                        }
                    }
                }
            }
            // Late or repeated: it says nothing new. A renewal that found another's record stops
            // nothing under `on_lost = finish`.
            _ => true,
        };
        self.callers[index] = keep.then_some(caller);
        Ok(())
    }

    fn take_over(&mut self, index: usize, lapsed: &Record) {
        self.next_owner += 1;
        let by = Record::reservation(owner(self.next_owner), Fingerprint::NONE, 0)
            .remembered_for(lapsed.retention());
        self.send(index, by.owner, Command::TakeOver { seen: lapsed.head(), by: by.clone() });
        self.callers[index] = Some(Caller::new(by, Some(lapsed.head()), self.now));
    }

    /// Promise 4: an owner that is told "stored" and not "lapsed" was alone from its start on.
    fn told_stored(&mut self, caller: &Caller) -> Result<(), TestCaseError> {
        self.reached.stored += 1;
        let mut tenure = caller.tenure.clone();
        tenure.observe(self.now);
        if tenure.has_lapsed() {
            self.reached.lapsed += 1;
            return Ok(());
        }
        let start = caller.started.unwrap();
        let owner = caller.reservation.owner;
        let another = self.starts.iter().any(|(other, at)| *other != owner && *at > start);
        prop_assert!(!another, "another body ran beside an owner that was told nothing");
        Ok(())
    }
}

impl Caller {
    fn new(reservation: Record, takeover_of: Option<Head>, now: Moment) -> Self {
        Self {
            reservation,
            tenure: Tenure::taken(LEASE, TTL, now),
            stage: Stage::Taking,
            takeover_of,
            armed: false,
            ends: false,
            started: None,
        }
    }
}

fn owner(number: u8) -> Owner {
    let mut bytes = [0; 16];
    bytes[15] = number;
    Owner::from_bytes(bytes)
}
