//! Records as the model keeps them: small, and turned into real ones for every real transition.

use idem_runtime::Fingerprint;
use idem_runtime::protocol::transition::Entry;
use idem_runtime::record::{Head, Owner, Record, Standing, State};

use crate::time::{Tick, duration, ticks};

/// An owner: the caller's index in the upper bits, the number of its attempt in the lower three.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id(pub(crate) u8);

impl Id {
    /// The operator's own, for what it puts in the place of a lapsed reservation.
    pub(crate) const OPERATOR: Self = Self(7 << 3);

    pub(crate) fn of(caller: usize, attempt: u8) -> Self {
        assert!(caller < 7 && attempt < 8, "a caller has few attempts");
        Self(u8::try_from(caller << 3).expect("checked") | attempt)
    }

    pub(crate) fn owner(self) -> Owner {
        let mut bytes = [0; 16];
        bytes[15] = self.0 + 1;
        Owner::from_bytes(bytes)
    }

    fn from_owner(owner: Owner) -> Self {
        Self(owner.as_bytes()[15] - 1)
    }
}

impl std::fmt::Debug for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::OPERATOR {
            return f.write_str("operator");
        }
        write!(f, "{}{}", char::from(b'A' + (self.0 >> 3)), self.0 & 7)
    }
}

/// A set of owners.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Owners(u64);

impl Owners {
    pub(crate) fn add(&mut self, id: Id) {
        self.0 |= 1 << id.0;
    }

    pub(crate) fn has(self, id: Id) -> bool {
        self.0 & (1 << id.0) != 0
    }
}

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Rec {
    pub(crate) completed: bool,
    pub(crate) owner: Id,
    pub(crate) retention: Tick,
    pub(crate) fingerprint: u8,
    pub(crate) attempt: u8,
    /// What its payload says; 0 where that does not matter.
    pub(crate) says: u8,
}

impl Rec {
    pub(crate) fn reservation(owner: Id, fingerprint: u8) -> Self {
        Self { completed: false, owner, retention: 0, fingerprint, attempt: 1, says: 0 }
    }

    /// The outcome of this reservation.
    pub(crate) fn outcome(self) -> Self {
        Self { completed: true, retention: 0, ..self }
    }

    pub(crate) fn is_reservation_of(self, owner: Id) -> bool {
        !self.completed && self.owner == owner
    }

    pub(crate) fn head(self) -> Head {
        self.real().head()
    }

    pub(crate) fn real(self) -> Record {
        let fingerprint = fingerprint(self.fingerprint);
        let mut record = Record::reservation(self.owner.owner(), fingerprint, 0)
            .remembered_for(duration(self.retention));
        record.attempt = u32::from(self.attempt);
        record.value_version = u32::from(self.says);
        if self.completed {
            record.state = State::Completed;
        }
        record
    }

    pub(crate) fn of(record: &Record) -> Self {
        Self {
            completed: record.state == State::Completed,
            owner: Id::from_owner(record.owner),
            retention: ticks(record.retention()),
            fingerprint: record.fingerprint.to_bytes()[0],
            attempt: u8::try_from(record.attempt).expect("few attempts"),
            says: u8::try_from(record.value_version).expect("set by the model"),
        }
    }

    pub(crate) fn of_standing(standing: &Standing) -> Self {
        Self::of(standing.record().expect("the model stores no foreign records"))
    }
}

impl std::fmt::Debug for Rec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { completed, owner, retention, .. } = self;
        if *completed {
            return write!(f, "outcome of {owner:?}");
        }
        write!(f, "reservation of {owner:?}")?;
        if *retention > 0 { write!(f, ", remembered for {retention}") } else { Ok(()) }
    }
}

/// The fingerprint of arguments; 0: none.
pub(crate) fn fingerprint(of: u8) -> Fingerprint {
    let mut bytes = [0; 16];
    bytes[0] = of;
    Fingerprint::from_bytes(bytes)
}

/// A record and when the store forgets it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Kept {
    pub(crate) record: Rec,
    pub(crate) ends: Tick,
}

impl Kept {
    pub(crate) fn left(self, now: Tick) -> Tick {
        self.ends - now
    }

    /// Whether it is a reservation that has lapsed, told by the model's own arithmetic.
    pub(crate) fn has_lapsed(self, now: Tick) -> bool {
        !self.record.completed && self.left(now) <= self.record.retention
    }
}

/// What stands, as the real transitions see it.
pub(crate) fn entry(standing: Option<&Standing>, left: Tick) -> Option<Entry<'_>> {
    standing.map(|standing| Entry { standing, left: duration(left) })
}
