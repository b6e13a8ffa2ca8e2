//! What the attribute asks of the function, beyond what rustc will say by itself.

mod detach;
mod generics;
mod name;
mod outcome;
mod signature;

use proc_macro2::{Span, TokenStream};
use syn::{ReturnType, Type};

use crate::{
    args::Args,
    blocking,
    ctxt::Ctxt,
    duration,
    item::{Body, Function},
    key::Key,
};

/// What may be missing in what was parsed, and is there once everything is checked.
pub(crate) struct Parts<'a> {
    pub(crate) key: &'a Key,
    pub(crate) output: &'a Type,
    pub(crate) statements: &'a TokenStream,
    /// Where the body's braces stand.
    pub(crate) body: Span,
}

/// Reports every problem of `function` under `args`. Gives `None` only if it, or the parser, has
/// reported one.
pub(crate) fn check<'a>(cx: &Ctxt, args: &'a Args, function: &'a Function) -> Option<Parts<'a>> {
    duration::check(cx, args);
    signature::check(cx, function);
    outcome::check(cx, args, function);
    generics::check(cx, args, function);
    name::check(cx, args, function);
    if args.detaches().is_some() {
        detach::check(cx, function);
    }
    if !args.allow_blocking && !signature::rewritten(function) {
        blocking::check(cx, function);
    }
    match (&args.key, &function.sig.output, &function.body) {
        (Some(key), ReturnType::Type(_, output), Body::Present { brace, statements }) => {
            Some(Parts { key, output, statements, body: brace.span.join() })
        }
        _ => None,
    }
}
