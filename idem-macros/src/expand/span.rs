//! Where invented tokens stand for name resolution (nowhere in the user's code) and for errors
//! (somewhere in it).

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

/// Invented names cannot meet the user's: an argument may be called `call` or `lease`.
pub(super) fn mixed() -> Span {
    Span::mixed_site()
}

/// The same, reported at the first of the user's tokens.
pub(super) fn mixed_at(tokens: &impl Spanned) -> Span {
    mixed().located_at(tokens.span())
}

/// The same at the first and at the last of them. rustc underlines from an expression's first token
/// to its last, so this is how an expression of ours is reported at all of the user's tokens.
pub(super) fn mixed_around(tokens: &impl ToTokens) -> (Span, Span) {
    let mut spans = tokens.to_token_stream().into_iter().map(|token| token.span());
    let first = spans.next().unwrap_or_else(mixed);
    let last = spans.last().unwrap_or(first);
    (mixed().located_at(first), mixed().located_at(last))
}
