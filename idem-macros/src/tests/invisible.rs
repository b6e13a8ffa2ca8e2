//! The invisible groups around what a `macro_rules!` macro was given. `tests/ui/pass/macro_rules.rs`
//! has the compiler make them.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;

use crate::invisible::{visible, visible_signature};

/// What stands for a `$…`.
fn given(tokens: TokenStream) -> Group {
    Group::new(Delimiter::None, tokens)
}

/// Tokens with their groups, of which Display shows no invisible ones, and without their places.
fn shown(tokens: &TokenStream) -> Vec<String> {
    let each = tokens.clone().into_iter().map(|token| match token {
        TokenTree::Group(group) => format!("{:?}{:?}", group.delimiter(), shown(&group.stream())),
        TokenTree::Punct(mark) => format!("{mark}{:?}", mark.spacing()),
        other => other.to_string(),
    });
    each.collect()
}

#[track_caller]
fn assert_same(left: &TokenStream, right: &TokenStream) {
    assert_eq!(shown(left), shown(right));
}

#[test]
fn operators_stay_together() {
    let sum = given(quote!(order + 1));
    assert_same(&visible(quote!(key = #sum * 2)), &quote!(key = (order + 1) * 2));
    let borrow = given(quote!(&order));
    assert_same(&visible(quote!((#borrow.len(), 1))), &quote!(((&order).len(), 1)));
    let both = given(quote!(dyn Ship + Send));
    assert_same(&visible(quote!(&#both)), &quote!(&(dyn Ship + Send)));
}

#[test]
fn what_is_one_thing_is_left_alone() {
    for one in [
        quote!(order.id),
        quote!("{order}"),
        quote!(my::Codec),
        quote!(pair::<A, B>(a, b)),
        quote!(Vec<u64>),
        quote!(dyn Ship),
        quote!(doc = "text"),
        quote!(Order { id, .. }),
    ] {
        let group = given(one.clone());
        assert_same(&visible(quote!(#group)), &one);
    }
}

#[test]
fn groups_in_groups() {
    let inner = given(quote!(a + 1));
    let outer = given(quote!(#inner * 2));
    assert_same(&visible(quote!([#outer as u8])), &quote!([((a + 1) * 2) as u8]));
}

#[test]
fn what_is_neither_expression_nor_type_stays_a_group() {
    let vis = given(quote!(pub(crate)));
    assert_same(&visible(quote!(#vis fn a())), &quote!(#vis fn a()));
}

/// The compiler knows what it put there.
#[test]
fn a_body_is_handed_through() {
    let sum = given(quote!(1 + 2));
    let item = quote!(async fn a(_: [u8; #sum]) -> Result<u64, Error> { Ok(#sum * 2) });
    let expected = quote!(async fn a(_: [u8; (1 + 2)]) -> Result<u64, Error> { Ok(#sum * 2) });
    assert_same(&visible_signature(item), &expected);
}
