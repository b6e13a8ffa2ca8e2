//! Keys: equal texts only for equal values, read back by a decoder that knows nothing but the
//! documented rules.

#![allow(
    clippy::unwrap_used,
    reason = "clippy allows it in the tests themselves, not in what they share"
)]

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::iter::Peekable;
use std::num::NonZero;
use std::str::Chars;
use std::sync::Arc;

use idem_runtime::__private_v1::Template;
use idem_runtime::{InvalidKey, Key, KeyWriter, ToKey};
use proptest::prelude::*;

fn text<K: ToKey + ?Sized>(key: &K) -> String {
    Key::of(key).unwrap().as_str().to_owned()
}

/// Any key whatever: also of types that are now a text and now a tuple.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Tree {
    Text(String),
    Tuple(Vec<Tree>),
}

impl ToKey for Tree {
    fn write(&self, out: &mut KeyWriter) {
        match self {
            Tree::Text(text) => out.text(text),
            Tree::Tuple(parts) => {
                let parts: Vec<&dyn ToKey> = parts.iter().map(|part| part as &dyn ToKey).collect();
                out.tuple(&parts);
            }
        }
    }
}

/// Reads what the rules say, from the left.
struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    /// The first character of the literal that follows, inside a template.
    stop: Option<char>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, stop: Option<char>) -> Self {
        Reader { rest: text.chars().peekable(), stop }
    }

    fn whole(text: &'a str) -> Tree {
        let mut reader = Reader::new(text, None);
        let first = reader.part();
        let mut parts = vec![first];
        while reader.rest.next_if_eq(&':').is_some() {
            parts.push(reader.part());
        }
        assert_eq!(reader.rest.next(), None, "{text}");
        if parts.len() > 1 { Tree::Tuple(parts) } else { parts.remove(0) }
    }

    fn part(&mut self) -> Tree {
        if self.rest.next_if_eq(&'(').is_none() {
            return Tree::Text(self.text());
        }
        let mut parts = vec![self.part()];
        while self.rest.next_if_eq(&')').is_none() {
            assert_eq!(self.rest.next(), Some(':'));
            parts.push(self.part());
        }
        Tree::Tuple(parts)
    }

    /// What follows the mark, if it stands here; before a `.` of a template it would be an escaped
    /// one.
    fn mark_ahead(&self) -> Option<Peekable<Chars<'a>>> {
        let mut ahead = self.rest.clone();
        let found = (ahead.next(), ahead.next()) == (Some('\\'), Some('.'));
        (found && self.stop != Some('.')).then_some(ahead)
    }

    fn mark(&mut self) -> bool {
        let after = self.mark_ahead();
        let found = after.is_some();
        self.rest = after.unwrap_or_else(|| self.rest.clone());
        found
    }

    fn text(&mut self) -> String {
        let mut text = String::new();
        while let Some(&next) = self.rest.peek() {
            if self.mark_ahead().is_some()
                || matches!(next, ':' | '(' | ')')
                || (Some(next) == self.stop && next != '\\')
            {
                break;
            }
            self.rest.next();
            text.push(if next == '\\' { self.rest.next().unwrap() } else { next });
        }
        text
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    // Few characters, so that values that could meet are likely.
    let leaf = "[ab:()\\\\./é]{0,4}".prop_map(Tree::Text);
    leaf.prop_recursive(4, 24, 4, |inner| prop::collection::vec(inner, 1..5).prop_map(Tree::Tuple))
}

fn is_blank(tree: &Tree) -> bool {
    match tree {
        Tree::Text(text) => text.is_empty(),
        Tree::Tuple(parts) => parts.iter().all(is_blank),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_key_reads_back(tree in trees()) {
        match Key::of(&tree) {
            Ok(key) => prop_assert_eq!(Reader::whole(key.as_str()), tree),
            Err(fault) => {
                prop_assert_eq!(fault, InvalidKey::Empty);
                prop_assert!(is_blank(&tree));
            }
        }
    }

    #[test]
    fn a_template_reads_back(
        parts in prop::collection::vec(trees(), 1..4),
        literals in prop::collection::vec("[ab:()\\\\./éè]{1,2}", 4),
        open_ended in any::<bool>(),
    ) {
        let mut literals: Vec<&str> = literals[..=parts.len()].iter().map(String::as_str).collect();
        if open_ended {
            *literals.last_mut().unwrap() = "";
        }
        let dynamic: Vec<&dyn ToKey> = parts.iter().map(|part| part as &dyn ToKey).collect();
        let Ok(key) = Key::of(&Template::new(&literals, &dynamic)) else {
            prop_assert!(parts.iter().all(is_blank));
            return Ok(());
        };
        let mut rest = key.as_str().strip_prefix(literals[0]).unwrap().to_owned();
        for (part, literal) in parts.iter().zip(&literals[1..]) {
            let mut reader = Reader::new(&rest, literal.chars().next());
            prop_assert_eq!(&reader.part(), part);
            prop_assert_eq!(reader.mark(), literal.starts_with(['\\', '(']));
            let left: String = reader.rest.collect();
            rest = left.strip_prefix(literal).unwrap().to_owned();
        }
        prop_assert_eq!(rest, "");
    }

    #[test]
    fn a_template_inside_a_tuple_reads_back(a in "[a/:\\\\]{0,3}", b in "[a/:\\\\]{0,3}", c in "[a/:\\\\]{1,3}") {
        let alone = Tree::Tuple(vec![
            Tree::Text(Key::of(&Template::new(&["x", "/", ""], &[&a, &(&b, 1)])).unwrap().as_str().to_owned()),
            Tree::Text(c.clone()),
        ]);
        prop_assert_eq!(Reader::whole(&text(&(Template::new(&["x", "/", ""], &[&a, &(&b, 1)]), &c))), alone);
    }
}

/// Every short tree over two characters, without chance.
#[test]
fn no_two_small_values_share_a_key() {
    let texts = ["", "a", ":", "(", ")", "\\", "a:", "()"].map(|text| Tree::Text(text.to_owned()));
    let mut all: Vec<Tree> = texts.to_vec();
    for _ in 0..2 {
        let known: Vec<Tree> = all.iter().take(40).cloned().collect();
        for first in &known {
            all.push(Tree::Tuple(vec![first.clone()]));
            for second in &known {
                all.push(Tree::Tuple(vec![first.clone(), second.clone()]));
            }
        }
    }
    let mut seen: HashMap<String, Tree> = HashMap::new();
    for tree in all {
        if let Ok(key) = Key::of(&tree) {
            let before = seen.insert(key.as_str().to_owned(), tree.clone());
            assert!(
                before.as_ref().is_none_or(|before| *before == tree),
                "{before:?} and {tree:?}"
            );
        }
    }
    assert!(seen.len() > 1_000);
}

/// Keys are stored, so their texts never change.
#[test]
fn texts_are_pinned() {
    assert_eq!(text("order-7"), "order-7");
    assert_eq!(text("a:b"), "a\\:b");
    assert_eq!(text(&("a:b", "c")), "a\\:b:c");
    assert_eq!(text(&("a", "b:c")), "a:b\\:c");
    assert_eq!(text(&("a", ("b", 3), 'c')), "a:(b:3):c");
    assert_eq!(text(&("a",)), "(a)");
    assert_eq!(text(&("", 1, "")), ":1:");
    assert_eq!(text(&(1, 2, 3, 4, 5, 6, 7, 8)), "1:2:3:4:5:6:7:8");
    assert_eq!(text("(\\)"), "\\(\\\\\\)");
    assert_eq!(text(&Template::new(&["", "/", ""], &[&"acme", &42])), "acme/42");
    assert_eq!(text(&Template::new(&["", "/", ""], &[&"a/c", &"4/2"])), "a\\/c/4/2");
    assert_eq!(text(&Template::new(&["t-", "-é", "é."], &[&-5, &"é"])), "t-\\-5-é\\éé.");
    assert_eq!(text(&Template::new(&["", "/x"], &[&("a", "/")])), "(a:\\/)/x");
    assert_eq!(text(&Template::new(&["", "(x)"], &[&("a", "b")])), "(a:b)\\.(x)");
    assert_eq!(text(&Template::new(&["", "(x)"], &[&7])), "7\\.(x)");
    assert_eq!(text(&Template::new(&["daily"], &[])), "daily");
}

#[test]
fn every_kind_of_key() {
    assert_eq!(text(&String::from("a")), "a");
    assert_eq!(text(&Cow::Borrowed("a")), "a");
    assert_eq!(text(&Box::<str>::from("a")), "a");
    assert_eq!(text(&Arc::<str>::from("a")), "a");
    assert_eq!(text(&&mut "a"), "a");
    assert_eq!(text(&'ß'), "ß");
    assert_eq!(text(&(true, false)), "true:false");
    assert_eq!(text(&(u8::MAX, i8::MIN)), "255:-128");
    assert_eq!(text(&(u128::MAX, i128::MIN)), format!("{}:{}", u128::MAX, i128::MIN));
    assert_eq!(text(&(usize::MAX, isize::MIN)), format!("{}:{}", usize::MAX, isize::MIN));
    assert_eq!(text(&NonZero::new(7_u64).unwrap()), "7");
    let dynamic: &dyn ToKey = &7;
    assert_eq!(text(dynamic), "7");
}

#[cfg(feature = "uuid")]
#[test]
fn uuids_are_written_with_hyphens() {
    assert_eq!(text(&uuid::Uuid::from_u128(7)), "00000000-0000-0000-0000-000000000007");
}

#[test]
fn a_key_without_any_text_is_refused() {
    let empty = Err(InvalidKey::Empty);
    assert_eq!(Key::of(""), empty);
    assert_eq!(Key::of(&("", "")), empty);
    assert_eq!(Key::of(&("", ("",))), empty);
    assert_eq!(Key::of(&Template::new(&["order-", "/", ""], &[&"", &("", "")])), empty);
    assert_eq!(Key::of(&Template::new(&[""], &[])), empty);
    assert_eq!(Key::of(&(Template::new(&["order-", ""], &[&""]), "")), empty);
    assert!(Key::of(&(Template::new(&["order-", ""], &[&""]), "x")).is_ok());
    assert!(Key::of(&("", 0)).is_ok());
}

#[test]
fn a_key_over_the_limit_is_refused() {
    let longest = "x".repeat(Key::MAX_LEN);
    assert_eq!(text(&longest).len(), Key::MAX_LEN);
    assert_eq!(Key::of(&(&longest, "")), Err(InvalidKey::TooLong));
    assert_eq!(Key::of(&":".repeat(Key::MAX_LEN / 2 + 1)), Err(InvalidKey::TooLong));
    assert_eq!(Key::of(&("x", Template::new(&["", "."], &[&longest]))), Err(InvalidKey::TooLong));
}

#[test]
fn a_part_that_fails_to_display_itself_is_refused() {
    struct Broken;
    impl fmt::Display for Broken {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("half")?;
            Err(fmt::Error)
        }
    }
    impl ToKey for Broken {
        fn write(&self, out: &mut KeyWriter) {
            out.display(self);
        }
    }
    assert_eq!(Key::of(&("a", Broken)), Err(InvalidKey::Display));
}

#[test]
fn debug_does_not_tell_the_key() {
    assert_eq!(format!("{:?}", Key::of("secret").unwrap()), "Key(6 bytes)");
}

#[test]
#[should_panic(expected = "two parts of a template touch")]
fn touching_parts_panic() {
    let _ = Template::new(&["", "", ""], &[&1, &2]);
}
