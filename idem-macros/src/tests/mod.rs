//! The expansion of one function each, formatted, to be read in review.
//!
//! `cargo insta review` shows what changed; `INSTA_UPDATE=always cargo test -p idem-macros` accepts
//! it.

mod fuzz;
mod functions;
mod invisible;
mod policies;
mod refused;

use proc_macro2::TokenStream;

/// What the attribute makes of `item`, as rustfmt would print it.
fn expanded(args: TokenStream, item: TokenStream) -> String {
    let tokens = crate::generate(args, item);
    let file = syn::parse2(tokens).expect("an expansion is Rust");
    prettyplease::unparse(&file)
}

/// `#[idempotent(args)] item` is the formatted expansion in the snapshot called after the test.
macro_rules! snapshot {
    (#[idempotent($($args:tt)*)] $($item:tt)*) => {
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!($crate::tests::expanded(quote::quote!($($args)*), quote::quote!($($item)*)));
        })
    };
}
use snapshot;
