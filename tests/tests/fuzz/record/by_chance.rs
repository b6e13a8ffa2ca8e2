//! Damage in several places, bytes by chance, and records of other versions.

use idem_fuzzing::{Judged, fuzz};
use idem_runtime::codec::{Codec, MessagePack};
use idem_runtime::record::{Flags, Standing, VERSION};
use idem_runtime::{ErrorKind, OnCrash};
use proptest::prelude::*;
use proptest::sample::Index;

use super::call::{Answer, CALLERS, Caller, Process};
use super::sample::{Sample, outcome_of, samples};

/// What a call is answered, with the bytes left as they are unless its body ran by right.
fn answer(
    process: &Process,
    sample: &Sample,
    bytes: &[u8],
    caller: Caller,
) -> Result<Answer, TestCaseError> {
    let ask = |bytes: &[u8]| {
        process.shelf.hold(bytes, sample.left);
        (process.call(caller), process.shelf.changes())
    };
    let (unharmed, _) = ask(&sample.bytes);
    let (answer, changes) = ask(bytes);
    let crash = [Answer::Ran, Answer::Refused(ErrorKind::OutcomeUnknown)];
    if crash.contains(&answer) {
        prop_assert_eq!(answer, unharmed, "a crash where none is");
    } else {
        prop_assert_eq!(changes, 0, "changed after {}", answer);
    }
    if matches!(answer, Answer::Value(_) | Answer::Failure(_)) {
        prop_assert_eq!(bytes, &sample.bytes[..], "a value from what is damaged");
    }
    Ok(answer)
}

fn kind(answer: Answer) -> &'static str {
    match answer {
        Answer::Refused(ErrorKind::InProgress) => "in progress",
        Answer::Refused(ErrorKind::Unreadable) => "unreadable",
        Answer::Refused(ErrorKind::FingerprintMismatch) => "mismatch",
        Answer::Value(_) | Answer::Failure(_) => "unharmed",
        _ => "a crash as by the unharmed",
    }
}

fn caller() -> impl Strategy<Value = Caller> {
    prop::sample::select(CALLERS.as_slice())
}

fn sample() -> impl Strategy<Value = Sample> {
    prop::sample::select(samples())
}

/// One to six bytes changed, and now and then a piece of another record.
fn damage() -> impl Strategy<Value = (Sample, Vec<u8>)> {
    let bytes = prop::collection::vec((any::<Index>(), any::<u8>()), 1..6);
    let spliced = prop::option::weighted(0.2, (sample(), any::<Index>()));
    (sample(), bytes, spliced).prop_map(|(sample, bytes, spliced)| {
        let mut damaged = sample.bytes.clone();
        for (at, byte) in bytes {
            damaged[at.index(sample.bytes.len())] = byte;
        }
        if let Some((other, at)) = spliced {
            let at = at.index(damaged.len().min(other.bytes.len()));
            damaged.truncate(at);
            damaged.extend_from_slice(&other.bytes[at..]);
        }
        (sample, damaged)
    })
}

#[test]
fn damage_in_several_places() {
    let process = Process::start();
    let whole = samples();
    let judge = |((sample, bytes), caller): ((Sample, Vec<u8>), Caller)| -> Judged {
        // Put together anew it may be another record as a whole.
        prop_assume!(bytes == sample.bytes || whole.iter().all(|other| other.bytes != bytes));
        answer(&process, &sample, &bytes, caller).map(kind)
    };
    let kinds = ["in progress", "unreadable", "mismatch", "unharmed", "a crash as by the unharmed"];
    fuzz("records, damaged in several places", &kinds, 20_000, &(damage(), caller()), judge);
}

/// Bytes that nobody wrote: of any version and length, many with a state and a length that fit.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let version = prop_oneof![4 => Just(VERSION), 1 => any::<u8>()];
    let state = prop_oneof![4 => 0..2_u8, 1 => any::<u8>()];
    let rest = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        prop::collection::vec(prop_oneof![3 => Just(0), 1 => any::<u8>()], 66..90),
    ];
    (version, state, rest).prop_map(|(version, state, rest)| {
        let mut bytes = vec![version, state];
        bytes.extend(rest);
        bytes
    })
}

#[test]
fn bytes_by_chance() {
    let process = Process::start();
    let sample = samples().remove(0);
    let judge = |(bytes, caller): (Vec<u8>, Caller)| -> Judged {
        let readable = Standing::from_bytes(&bytes).record().is_some();
        let answer = answer(&process, &sample, &bytes, caller)?;
        prop_assert!(readable || answer == Answer::Refused(ErrorKind::InProgress), "{}", answer);
        Ok(kind(answer))
    };
    let kinds = ["in progress", "unreadable"];
    fuzz("records, bytes by chance", &kinds, 20_000, &(bytes(), caller()), judge);
}

/// A later version may have any layout behind its first byte.
#[test]
fn other_versions() {
    let process = Process::start();
    let inputs =
        (sample(), any::<u8>().prop_filter("another", |other| *other != VERSION), caller());
    let judge = |(sample, version, caller): (Sample, u8, Caller)| -> Judged {
        let mut bytes = sample.bytes.clone();
        bytes[0] = version;
        let answer = answer(&process, &sample, &bytes, caller)?;
        prop_assert_eq!(answer, Answer::Refused(ErrorKind::InProgress));
        Ok(kind(answer))
    };
    fuzz("records of other versions", &["in progress"], 2_000, &inputs, judge);
}

/// An outcome that is sound and holds what no value of its type is: it is the value that its bytes
/// are, or unreadable.
#[test]
fn values_by_chance() {
    let process = Process::start();
    let marker = prop::sample::select(vec![0x07, 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd3, 0xca, 0xc0]);
    let bytes = (marker, prop::collection::vec(any::<u8>(), 0..10))
        .prop_map(|(marker, rest)| [&[marker], &rest[..]].concat());
    let judge = |(bytes, is_error): (Vec<u8>, bool)| -> Judged {
        let flags = if is_error { Flags::ERROR } else { Flags::default() };
        let sample = outcome_of(flags, &bytes);
        let value = MessagePack::decode::<u64>(&bytes).ok();
        let answer = answer(&process, &sample, &sample.bytes, Caller::Same(OnCrash::Rerun))?;
        let expected = match value {
            Some(value) if is_error => Answer::Failure(value),
            Some(value) => Answer::Value(value),
            None => Answer::Refused(ErrorKind::Unreadable),
        };
        prop_assert_eq!(answer, expected);
        Ok(if value.is_some() { "a value" } else { "unreadable" })
    };
    let kinds = ["a value", "unreadable"];
    fuzz("outcomes, values by chance", &kinds, 4_000, &(bytes, any::<bool>()), judge);
}
