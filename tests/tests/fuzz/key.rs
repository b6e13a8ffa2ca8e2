//! Keys and names: any input has a form or an error, and two inputs never share a form.

use std::collections::HashMap;
use std::sync::Arc;

use idem_fuzzing::{Judged, fuzz};
use idem_runtime::__private_v1::Template;
use idem_runtime::{ErrorKind, Idem, InvalidKey, Key, KeyWriter, MemoryBackend, RecordKey, ToKey};
use proptest::prelude::*;

/// What a key can be made of. Texts are written by a text or by what they display, in pieces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    Text(String),
    Number(i64),
    Tuple(Vec<Part>),
}

impl ToKey for Part {
    fn write(&self, out: &mut KeyWriter) {
        match self {
            Self::Text(text) if text.len() % 2 == 0 => out.text(text),
            Self::Text(text) => out.display(Pieces(text)),
            Self::Number(number) => number.write(out),
            Self::Tuple(parts) => {
                let parts: Vec<&dyn ToKey> = parts.iter().map(|part| part as &dyn ToKey).collect();
                out.tuple(&parts);
            }
        }
    }
}

/// Displays itself one character at a time.
struct Pieces<'a>(&'a str);

impl std::fmt::Display for Pieces<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.chars().try_for_each(|c| write!(f, "{c}"))
    }
}

impl Part {
    /// The same where two forms are meant to be one: a number is the text it displays, and a tuple
    /// of nothing is an empty text.
    fn plain(&self) -> Self {
        match self {
            Self::Number(number) => Self::Text(number.to_string()),
            Self::Tuple(parts) if parts.is_empty() => Self::Text(String::new()),
            Self::Tuple(parts) => Self::Tuple(parts.iter().map(Self::plain).collect()),
            Self::Text(_) => self.clone(),
        }
    }

    fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Number(_) => false,
            Self::Tuple(parts) => parts.iter().all(Self::is_blank),
        }
    }
}

/// Separators, their escapes, beginnings of each other, one letter in two normal forms, digits.
const TEXTS: [&str; 17] = [
    "", "a", "a:b", ":", "\\", "\\:", "(", ")", "()", "(a)", "/", "\\.", "7", "-7", "\u{e9}",
    "e\u{301}", "\0",
];

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => prop::sample::select(TEXTS.as_slice()).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

fn parts() -> impl Strategy<Value = Part> {
    let leaf = prop_oneof![
        4 => texts().prop_map(Part::Text),
        1 => (-8..8_i64).prop_map(Part::Number),
        1 => any::<i64>().prop_map(Part::Number),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| prop::collection::vec(inner, 0..4).prop_map(Part::Tuple))
}

fn refused(invalid: InvalidKey) -> &'static str {
    match invalid {
        InvalidKey::Empty => "refused: empty",
        InvalidKey::TooLong => "refused: too long",
        InvalidKey::Display => "refused: does not display itself",
        _ => "refused",
    }
}

/// Every key that was ever made, with what it was made of: each is compared with all before it.
#[test]
fn two_values_never_share_a_key() {
    let seen = std::cell::RefCell::new(HashMap::<String, Part>::new());
    let judge = |part: Part| -> Judged {
        let key = match Key::of(&part) {
            Ok(key) => key,
            Err(invalid) => {
                prop_assert_eq!(invalid, InvalidKey::Empty);
                prop_assert!(part.is_blank(), "refused though it has a text");
                return Ok(refused(invalid));
            }
        };
        prop_assert!(!part.is_blank(), "a key without any text");
        let part = part.plain();
        let mut seen = seen.borrow_mut();
        match seen.get(key.as_str()) {
            Some(other) => {
                prop_assert_eq!(other, &part, "both are {:?}", key.as_str());
                Ok("met again")
            }
            None => {
                seen.insert(key.as_str().to_owned(), part);
                Ok("a new key")
            }
        }
    };
    let kinds = ["a new key", "met again", "refused: empty"];
    fuzz("keys", &kinds, 12_000, &parts(), judge);
}

/// The same for templates, for each list of literals by itself.
#[test]
fn two_values_never_share_a_template() {
    const LITERALS: [&[&str]; 6] = [
        &["", "/", ""],
        &["a", ":", "b"],
        &["", "(", ")"],
        &["\\", "\\", "\\"],
        &["", "\\.", ""],
        &["", "\u{e9}", "/", ""],
    ];
    type Seen = HashMap<(usize, String), Vec<Part>>;
    let seen = std::cell::RefCell::new(Seen::new());
    let inputs = (0..LITERALS.len(), prop::collection::vec(parts(), 3));
    let judge = |(which, mut values): (usize, Vec<Part>)| -> Judged {
        values.truncate(LITERALS[which].len() - 1);
        let given: Vec<&dyn ToKey> = values.iter().map(|part| part as &dyn ToKey).collect();
        let key = match Key::of(&Template::new(LITERALS[which], &given)) {
            Ok(key) => key,
            Err(invalid) => {
                prop_assert!(values.iter().all(Part::is_blank), "refused: {}", invalid);
                return Ok(refused(invalid));
            }
        };
        let values: Vec<Part> = values.iter().map(Part::plain).collect();
        let mut seen = seen.borrow_mut();
        match seen.get(&(which, key.as_str().to_owned())) {
            Some(other) => {
                prop_assert_eq!(other, &values, "both are {:?}", key.as_str());
                Ok("met again")
            }
            None => {
                seen.insert((which, key.as_str().to_owned()), values);
                Ok("a new key")
            }
        }
    };
    let kinds = ["a new key", "met again", "refused: empty"];
    fuzz("keys by a template", &kinds, 8_000, &inputs, judge);
}

/// A key has a length or is refused for it, and takes no more memory than its limit.
#[test]
fn no_key_is_longer_than_the_limit() {
    let lens = prop_oneof![
        Just(Key::MAX_LEN),
        Just(Key::MAX_LEN + 1),
        0..Key::MAX_LEN * 2,
        Just(Key::MAX_LEN * 8),
    ];
    let piece = prop::sample::select(vec!["a", ":", "\u{e9}"]);
    let judge = |(len, piece, nested): (usize, &str, bool)| -> Judged {
        let text = piece.repeat(len / piece.len());
        let part = if nested {
            Part::Tuple(vec![Part::Text(text), Part::Number(7)])
        } else {
            Part::Text(text)
        };
        let mut made = None;
        let counted = allocation_counter::measure(|| made = Some(Key::of(&part)));
        prop_assert!(counted.bytes_max <= 4 * Key::MAX_LEN as u64, "{}", counted.bytes_max);
        match made.unwrap() {
            Ok(key) => {
                prop_assert!(key.as_str().len() <= Key::MAX_LEN);
                Ok("a key")
            }
            Err(InvalidKey::TooLong) => {
                prop_assert!(len * 2 + 16 > Key::MAX_LEN, "refused at {}", len);
                Ok("refused: too long")
            }
            Err(invalid) => Ok(refused(invalid)),
        }
    };
    let kinds = ["a key", "refused: too long"];
    fuzz("keys of any length", &kinds, 150, &(lens, piece, any::<bool>()), judge);
}

/// Records of two places are two, however much their parts look like one another put together.
#[test]
fn record_keys_are_told_apart_by_each_part() {
    let of = |(prefix, operation, key): &(String, String, String)| {
        let key = Key::of(key.as_str()).unwrap();
        RecordKey::new(Arc::from(prefix.as_str()), operation.clone().into(), key)
    };
    let key = || texts().prop_filter("a key", |text| !text.is_empty());
    let place = || (texts(), texts(), key());
    let again = prop_oneof![Just(None), place().prop_map(Some)];
    let judge = |(one, other): ((String, String, String), Option<_>)| -> Judged {
        let other = other.unwrap_or_else(|| one.clone());
        prop_assert_eq!(of(&one) == of(&other), one == other);
        Ok(if one == other { "one" } else { "two" })
    };
    fuzz("record keys", &["one", "two"], 5_000, &(place(), again), judge);
}

/// Names of operations: letters, digits and four marks, or an error that says so.
#[test]
fn names_are_checked() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    let idem = Idem::builder().backend(MemoryBackend::new()).keeper_as_task().build().unwrap();
    let name = prop_oneof![
        "[a-zA-Z0-9._/-]{1,12}",
        "(idem|Idem|ide)[.]?[a-z]{0,4}",
        "[a-z]{0,3}[: {}%\u{e9}\\\\\u{0}]?[a-z]{0,3}",
        any::<String>(),
    ];
    let judge = |name: String| -> Judged {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
        let is_own = name.starts_with("idem.");
        let is_name = !name.is_empty() && name.chars().all(is_plain);
        match runtime.block_on(idem.inspect(&name, &7)) {
            Ok(None) => {
                prop_assert!(is_name && !is_own);
                Ok("a name")
            }
            Err(error) if error.kind() == ErrorKind::InvalidSetting => {
                prop_assert!(!is_name || is_own);
                Ok(if is_own { "refused: idem's own" } else { "refused: characters" })
            }
            other => Err(TestCaseError::fail(format!("{other:?}"))),
        }
    };
    let kinds = ["a name", "refused: idem's own", "refused: characters"];
    fuzz("names of operations", &kinds, 2_000, &name, judge);
}
