//! Every byte of every kind of record with every other value in its place, and every other length.

use idem_fuzzing::Tally;
use idem_runtime::{ErrorKind, OnCrash};

use super::call::{Answer, CALLERS, Caller, Process};
use super::sample::{Field, Sample, VALUE, field, samples};

const IN_PROGRESS: Answer = Answer::Refused(ErrorKind::InProgress);
const UNREADABLE: Answer = Answer::Refused(ErrorKind::Unreadable);
const MISMATCH: Answer = Answer::Refused(ErrorKind::FingerprintMismatch);

/// What a call must be answered by a record that is damaged in one place. An outcome is sealed as a
/// whole; of a reservation version, state, owner and retention are, which is what is decided by.
fn expected(sample: &Sample, damaged: Option<Field>, unharmed: Answer) -> Answer {
    match (sample.is_outcome, damaged) {
        (_, Some(Field::Version)) => IN_PROGRESS,
        // A reservation has no payload.
        (true, Some(Field::State)) => IN_PROGRESS,
        (false, Some(Field::State)) => UNREADABLE,
        (true, Some(_)) => UNREADABLE,
        (false, Some(Field::Fingerprint)) => MISMATCH,
        (false, Some(Field::Information | Field::FlagsAndCodec)) => unharmed,
        (false, Some(_)) => IN_PROGRESS,
        // Shorter than its head.
        (_, None) => IN_PROGRESS,
    }
}

/// What is counted.
fn kind(answer: Answer) -> &'static str {
    match answer {
        IN_PROGRESS => "in progress",
        UNREADABLE => "unreadable",
        MISMATCH => "mismatch",
        Answer::Ran => "took over as from the unharmed",
        _ => "told a crash as by the unharmed",
    }
}

struct Bench {
    process: Process,
    tally: Tally,
}

impl Bench {
    fn new(subject: &str) -> Self {
        Self { process: Process::start(), tally: Tally::new(subject) }
    }

    fn answer(&self, sample: &Sample, bytes: &[u8], caller: Caller) -> Answer {
        self.process.shelf.hold(bytes, sample.left);
        let answer = self.process.call(caller);
        let changes = self.process.shelf.changes();
        let may_change = matches!(answer, Answer::Ran | Answer::Refused(ErrorKind::OutcomeUnknown));
        assert!(changes == 0 || may_change, "{}, {caller:?}: changed after {answer}", sample.name);
        answer
    }

    /// How the sample itself answers each caller.
    fn unharmed(&self, sample: &Sample) -> [Answer; CALLERS.len()] {
        CALLERS.map(|caller| self.answer(sample, &sample.bytes, caller))
    }

    /// What stands instead of the sample, damaged in `field`, answers every caller as it must.
    fn damaged(
        &mut self,
        (sample, unharmed): (&Sample, &[Answer]),
        bytes: &[u8],
        field: Option<Field>,
        how: &str,
    ) {
        // Long fields of bytes that are all alike: the first caller is enough for each.
        let is_long = matches!(field, Some(Field::Owner | Field::Fingerprint | Field::Information));
        let callers = if is_long { 1 } else { CALLERS.len() };
        for (caller, unharmed) in CALLERS.into_iter().zip(unharmed).take(callers) {
            let reads = !matches!(caller, Caller::Same(OnCrash::Refuse | OnCrash::Reconcile));
            let decides = matches!(caller, Caller::Same(_));
            if !(if sample.is_outcome { reads || field == Some(Field::State) } else { decides }) {
                continue;
            }
            let mut expected = expected(sample, field, *unharmed);
            // Among the bytes of the state is one of the other kind only.
            if field == Some(Field::State) && bytes[1] > 1 {
                expected = IN_PROGRESS;
            }
            let answer = self.answer(sample, bytes, caller);
            assert_eq!(answer, expected, "{}, {caller:?}, {how}", sample.name);
            self.tally.count(kind(answer));
        }
        if !is_long && expected(sample, field, MISMATCH) != MISMATCH {
            self.process.shelf.hold(bytes, sample.left);
            assert!(!self.process.is_decided(), "{}, {how}", sample.name);
            assert_eq!(self.process.shelf.changes(), 0, "{}, {how}", sample.name);
        }
    }
}

/// What the samples are there for: each is answered otherwise.
#[test]
fn unharmed_records_are_what_they_are() {
    let bench = Bench::new("");
    let refused = Answer::Refused;
    let rerun = Caller::Same(OnCrash::Rerun);
    let refuse = Caller::Same(OnCrash::Refuse);
    let reconcile = Caller::Same(OnCrash::Reconcile);
    for (name, caller, expected) in [
        ("running", rerun, IN_PROGRESS),
        ("running, to be remembered", refuse, IN_PROGRESS),
        ("lapsed", rerun, Answer::Ran),
        ("lapsed", refuse, refused(ErrorKind::OutcomeUnknown)),
        ("lapsed", reconcile, refused(ErrorKind::OutcomeUnknown)),
        ("done", rerun, Answer::Value(VALUE)),
        ("done", Caller::OtherVersion, UNREADABLE),
        ("done", Caller::OtherCodec, UNREADABLE),
        ("failed", rerun, Answer::Failure(VALUE)),
        ("done, not kept", rerun, refused(ErrorKind::NotKept)),
        ("done, with a retention", rerun, Answer::Value(VALUE)),
    ] {
        let sample = samples().into_iter().find(|sample| sample.name == name).unwrap();
        assert_eq!(bench.answer(&sample, &sample.bytes, caller), expected, "{name}, {caller:?}");
    }
}

#[test]
fn every_other_byte() {
    let mut bench = Bench::new("records, one byte changed");
    for sample in samples() {
        let unharmed = bench.unharmed(&sample);
        for at in 0..sample.bytes.len() {
            let mut bytes = sample.bytes.clone();
            for other in 1..=255 {
                bytes[at] = sample.bytes[at] ^ other;
                let how = format!("byte {at} ^ {other}");
                bench.damaged((&sample, &unharmed), &bytes, Some(field(at)), &how);
            }
        }
    }
    bench.tally.saw(&[
        "in progress",
        "unreadable",
        "mismatch",
        "took over as from the unharmed",
        "told a crash as by the unharmed",
    ]);
}

#[test]
fn every_other_length() {
    let mut bench = Bench::new("records, another length");
    for sample in samples() {
        let len = sample.bytes.len();
        let unharmed = bench.unharmed(&sample);
        for end in 0..len {
            let field = (end >= 68).then_some(Field::Payload);
            bench.damaged(
                (&sample, &unharmed),
                &sample.bytes[..end],
                field,
                &format!("cut at {end}"),
            );
        }
        for more in 1..=64 {
            for byte in [0, 1, 0x37, 0xff] {
                let longer = [&sample.bytes[..], &vec![byte; more]].concat();
                let how = format!("{more} times {byte} behind it");
                bench.damaged((&sample, &unharmed), &longer, Some(Field::Payload), &how);
            }
        }
    }
    bench.tally.saw(&["in progress", "unreadable"]);
}
