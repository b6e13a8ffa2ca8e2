//! Arguments put together from the grammar's words, from near-misses, and from any tokens.

use proptest::prelude::*;

/// Names, and what is nearly one.
const NAMES: [&str; 25] = [
    "key",
    "name",
    "lease",
    "ttl",
    "deadline",
    "retention",
    "fingerprint",
    "on_duplicate",
    "on_error",
    "on_lost",
    "on_drop",
    "on_crash",
    "on_outage",
    "codec",
    "version",
    "runtime",
    "crate",
    "allow",
    "leese",
    "on_dorp",
    "timeout",
    "r#key",
    "self",
    "tenant",
    "_",
];

/// Values that suit some argument.
const VALUES: [&str; 58] = [
    "order.id",
    "\"{order}\"",
    "\"{tenant}/{order.id}\"",
    "(tenant, order.id)",
    "self.id",
    "\"payments.charge\"",
    "\"idem.own\"",
    "\"a b\"",
    "\"\"",
    "\"30s\"",
    "\"100ms\"",
    "\"1ms\"",
    "\"24h\"",
    "\"7d\"",
    "\"99999d\"",
    "30",
    "30s",
    "wait",
    "wait(\"10s\")",
    "wait(\"0s\")",
    "wait()",
    "reject",
    "release",
    "store",
    "store_if(is_permanent)",
    "store_if(E::a::<B, C>)",
    "finish",
    "cancel",
    "ignore",
    "hold",
    "detach",
    "rerun",
    "refuse",
    "reconcile(find(order))",
    "reconcile(async { Ok(None) })",
    "reconcile()",
    "run",
    "messagepack",
    "bincode",
    "json",
    "xml",
    "my::Codec",
    "2",
    "4294967296",
    "-1",
    "2u8",
    "my::idem",
    "crate::idem_runtime",
    "const { 7 }",
    "if a { b } else { c }",
    "|x| x",
    "return",
    "a..b",
    "match a {}",
    "pair::<A, B>(a, b)",
    "format!(\"{a}\")",
    "\"{a}{b}\"",
    "\"{a:?}\"",
];

/// Tokens of every kind.
const TOKENS: [&str; 34] = [
    "=",
    "=",
    ",",
    ",",
    "(",
    "[",
    "{",
    "==",
    "=>",
    "::",
    "<",
    ">",
    "&",
    "&&",
    "'a",
    "'x'",
    "b\"x\"",
    "c\"x\"",
    "1.5",
    "0x7",
    "..",
    ";",
    "#",
    "!",
    "?",
    "->",
    "async",
    "await",
    "fn",
    "unsafe",
    "dyn",
    "\u{e9}",
    "r#\"{order}\"#",
    "+",
];

/// A name with a value, or what is left of one.
fn argument() -> impl Strategy<Value = String> {
    let name = prop::sample::select(NAMES.as_slice());
    let value = prop_oneof![
        6 => prop::sample::select(VALUES.as_slice()).prop_map(str::to_owned),
        1 => "\"[{}a-z0-9:./\u{e9} ]{0,9}\"",
        1 => tokens(),
    ];
    (name, 0..20_u8, value).prop_map(|(name, form, value)| match form {
        0 => name.to_owned(),
        1 => value,
        2 => format!("{name} {value}"),
        3 => format!("{name} ="),
        4 => format!("{name}({value})"),
        5 => format!("{name}(blocking)"),
        6 => format!("{name} == {value}"),
        _ => format!("{name} = {value}"),
    })
}

/// An argument with a value that suits it.
fn right() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "key = order.id",
        "key = \"{order.id}\"",
        "name = \"charge\"",
        "lease = \"30s\"",
        "ttl = \"7d\"",
        "deadline = \"1m\"",
        "retention = \"1d\"",
        "fingerprint = &order",
        "on_duplicate = reject",
        "on_error = release",
        "on_lost = cancel",
        "on_drop = release",
        "on_crash = reconcile(find(order))",
        "on_outage = run",
        "codec = json",
        "version = 2",
        "runtime = idem",
        "crate = my::idem",
        "allow(blocking)",
    ])
    .prop_map(str::to_owned)
}

/// An argument with a value of the right kind that is refused all the same.
fn out_of_range() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "lease = \"1ms\"",
        "lease = \"7d\"",
        "ttl = \"99ms\"",
        "deadline = \"1s\"",
        "retention = \"0s\"",
        "retention = \"3651d\"",
        "on_duplicate = wait(\"0s\")",
        "on_error = store_if()",
        "name = \"idem.own\"",
        "version = 4294967296",
        "on_drop = detach",
    ])
    .prop_map(str::to_owned)
}

/// Some tokens, with their delimiters closed.
fn tokens() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        prop::sample::select(TOKENS.as_slice()),
        prop::sample::select(NAMES.as_slice()),
        prop::sample::select(VALUES.as_slice()),
    ];
    prop::collection::vec((token, any::<bool>()), 0..12).prop_map(|tokens| {
        let (mut text, mut open) = (String::new(), Vec::new());
        for (token, closes) in tokens {
            text += " ";
            text += token;
            open.extend(match token {
                "(" => Some(")"),
                "[" => Some("]"),
                "{" => Some("}"),
                _ => None,
            });
            if closes {
                text.extend(open.pop());
            }
        }
        text.extend(open.into_iter().rev());
        text
    })
}

/// All that stands between the attribute's parentheses.
pub(super) fn arguments() -> impl Strategy<Value = String> {
    let listed = |argument| prop::collection::vec(argument, 0..5);
    let wrong = prop::collection::vec(prop_oneof![3 => right(), 1 => argument()].boxed(), 0..6);
    prop_oneof![
        3 => (Just("key = order.id".to_owned()), listed(right().boxed()))
            .prop_map(|(key, rest)| [vec![key], rest].concat().join(", ")),
        2 => (listed(right().boxed()), out_of_range(), listed(right().boxed())).prop_map(
            |(before, argument, behind)| [before, vec![argument], behind].concat().join(", ")
        ),
        4 => wrong.prop_map(|all| all.join(", ")),
        2 => listed(argument().boxed()).prop_map(|all| all.join(", ") + ","),
        1 => listed(argument().boxed()).prop_map(|all| all.join(" ")),
        2 => tokens(),
    ]
}
