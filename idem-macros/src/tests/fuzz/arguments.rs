//! What the attribute makes of arguments by chance, on items of every kind.

use idem_fuzzing::{Judged, fuzz};
use proc_macro2::{Span, TokenStream, TokenTree};
use proptest::prelude::*;

use super::grammar::arguments;
use crate::generate;

const ITEMS: [&str; 9] = [
    "pub async fn charge(order: &Order) -> Result<Receipt, Error> { Ok(order.into()) }",
    "async fn charge(order: Order, id: u64) -> Result<(), Error> { pay(order, id).await }",
    "async fn charge(&self, order: u64) -> Result<u64, Error> { Ok(self.pay(order).await?) }",
    "async fn charge<T: Send>(order: T) -> Answer<T> { std::thread::sleep(PAUSE); Ok(order) }",
    "async fn charge(Order { id, .. }: Order, _: u8) -> Result<u64, Error> { Ok(id) }",
    "fn charge(order: &Order) -> Result<Receipt, Error> { Ok(order.into()) }",
    "async fn charge(order: &Order) { drop(order) }",
    "struct Order { id: u64 }",
    "const ORDER: u64 = 7;",
];

/// The messages in an expansion, and where each stands.
fn errors(tokens: TokenStream) -> Vec<(String, Span)> {
    let mut errors = Vec::new();
    let mut is_error = None;
    for token in tokens {
        match token {
            TokenTree::Ident(word) if word == "compile_error" => is_error = Some(word.span()),
            TokenTree::Group(group) => {
                if let Some(span) = is_error.take() {
                    let message: syn::LitStr = syn::parse2(group.stream()).expect("a message");
                    errors.push((message.value(), span));
                }
            }
            _ => {}
        }
    }
    errors
}

/// What an error is about, by the words it is told with.
fn kind(message: &str) -> &'static str {
    [
        ("`key` is missing", "refused: no key"),
        ("there is no argument", "refused: unknown argument"),
        ("There is no argument", "refused: misspelt argument"),
        ("is given twice", "refused: given twice"),
        ("takes a value: write", "refused: no value"),
        ("is missing", "refused: no value"),
        ("a duration is", "refused: no duration"),
        ("a lease is between", "refused: lease out of range"),
        ("is at least", "refused: too short"),
        ("longer than idem counts", "refused: too long"),
        ("without quotes", "refused: quoted policy"),
        ("takes a value in parentheses", "refused: policy without its value"),
        ("`on_", "refused: policy"),
        ("`codec` is", "refused: codec"),
        ("a name is", "refused: name"),
        ("kept for idem", "refused: idem's own name"),
        ("a version is", "refused: version"),
        ("`crate` is", "refused: crate"),
        ("allow(blocking)", "refused: allow"),
        ("names no argument", "refused: key names nothing"),
        ("is a format spec", "refused: key is formatted"),
        ("touch, so that", "refused: key's parts touch"),
        ("goes on an `async fn`", "refused: no function"),
    ]
    .into_iter()
    .find_map(|(words, kind)| message.contains(words).then_some(kind))
    .unwrap_or("refused: otherwise")
}

/// Whether a span is one of something that was given, not of the attribute as a whole.
fn is_inside(span: Span) -> bool {
    !span.byte_range().is_empty()
}

/// What is not there stands nowhere.
fn is_about_what_is_missing(message: &str) -> bool {
    message.starts_with("`key` is missing") || message.contains("unexpected end of input")
}

#[test]
fn any_arguments() {
    let inputs = (
        arguments(),
        prop_oneof![2 => Just(ITEMS[0]), 1 => prop::sample::select(ITEMS.as_slice())],
    );
    let judge = |(arguments, item): (String, &str)| -> Judged {
        let Ok(tokens) = arguments.parse::<TokenStream>() else {
            return Err(TestCaseError::reject("no tokens"));
        };
        let item: TokenStream = item.parse().expect("an item");
        let expansion = generate(tokens, item.clone());
        let file = syn::parse2::<syn::File>(expansion.clone());
        prop_assert!(file.is_ok(), "no Rust: {}", expansion);
        let errors = errors(expansion.clone());
        let Some((last, _)) = errors.last() else { return Ok("expanded") };
        prop_assert!(expansion.to_string().ends_with(&item.to_string()), "the item is gone");
        for (message, span) in &errors {
            prop_assert!(!message.is_empty());
            let stands = is_inside(*span) || is_about_what_is_missing(message);
            prop_assert!(stands, "stands nowhere: {}", message);
        }
        Ok(kind(last))
    };
    let kinds = [
        "expanded",
        "refused: no key",
        "refused: unknown argument",
        "refused: misspelt argument",
        "refused: given twice",
        "refused: no value",
        "refused: no duration",
        "refused: lease out of range",
        "refused: too short",
        "refused: too long",
        "refused: quoted policy",
        "refused: policy without its value",
        "refused: policy",
        "refused: codec",
        "refused: name",
        "refused: idem's own name",
        "refused: version",
        "refused: crate",
        "refused: allow",
        "refused: key names nothing",
        "refused: no function",
    ];
    fuzz("arguments of the attribute", &kinds, 5_000, &inputs, judge);
}
