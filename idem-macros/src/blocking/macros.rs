//! The arguments of common macros, which are opaque tokens to a visitor.

use syn::{
    Block, Expr, Ident, Macro, Pat, Stmt, Token,
    parse::{ParseStream, Parser},
    punctuated::Punctuated,
    token::{Brace, Comma},
};

/// A piece of a macro's input that is Rust.
#[allow(clippy::large_enum_variant, reason = "a few, for a moment; spans are large in tests")]
pub(super) enum Part {
    Expr(Expr),
    Statements(Vec<Stmt>),
}

/// Macros that take expressions between commas (`name = value` among them) and run them in place.
const EXPRESSIONS: [&str; 34] = [
    "anyhow",
    "assert",
    "assert_eq",
    "assert_ne",
    "bail",
    "dbg",
    "debug",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "ensure",
    "eprint",
    "eprintln",
    "error",
    "event",
    "format",
    "format_args",
    "info",
    "join",
    "matches",
    "panic",
    "pin",
    "print",
    "println",
    "ready",
    "todo",
    "trace",
    "try_join",
    "unimplemented",
    "unreachable",
    "vec",
    "warn",
    "write",
    "writeln",
];

/// What is Rust in `called`; nothing for a macro that is not known, whose input may be anything.
pub(super) fn parts(called: &Macro) -> Vec<Part> {
    let Some(name) = called.path.segments.last().map(|last| last.ident.to_string()) else {
        return Vec::new();
    };
    let tokens = || called.tokens.clone();
    let parts = match name.as_str() {
        "select" | "select_biased" => select.parse2(tokens()),
        name if EXPRESSIONS.contains(&name) => expressions.parse2(tokens()),
        _ => return Vec::new(),
    };
    parts.unwrap_or_default()
}

/// `"{} {}", first, second = value` and, for `vec!`, `value; n`.
fn expressions(input: ParseStream<'_>) -> syn::Result<Vec<Part>> {
    let ahead = input.fork();
    if let Ok(list) = ahead.call(Punctuated::<Expr, Token![,]>::parse_terminated) {
        syn::parse::discouraged::Speculative::advance_to(input, &ahead);
        return Ok(list.into_iter().map(Part::Expr).collect());
    }
    input.call(Block::parse_within).map(|statements| vec![Part::Statements(statements)])
}

/// `biased; pattern = future, if condition => handler, else => handler`
fn select(input: ParseStream<'_>) -> syn::Result<Vec<Part>> {
    let mut parts = Vec::new();
    if input.peek(Ident) && input.peek2(Token![;]) {
        input.parse::<Ident>()?;
        input.parse::<Token![;]>()?;
    }
    while !input.is_empty() {
        branch(input, &mut parts)?;
    }
    Ok(parts)
}

fn branch(input: ParseStream<'_>, parts: &mut Vec<Part>) -> syn::Result<()> {
    let keyword = input.peek(Token![else]) || (input.peek(Ident) && input.peek2(Token![=>]));
    if keyword {
        input.call(<Ident as syn::ext::IdentExt>::parse_any)?;
    } else {
        input.call(Pat::parse_multi_with_leading_vert)?;
        input.parse::<Token![=]>()?;
        parts.push(Part::Expr(input.parse()?));
        if input.parse::<Option<Comma>>()?.is_some() {
            input.parse::<Token![if]>()?;
            parts.push(Part::Expr(input.parse()?));
        }
    }
    input.parse::<Token![=>]>()?;
    if input.peek(Brace) {
        // A block ends its branch, with or without a comma.
        let block: Block = input.parse()?;
        parts.push(Part::Statements(block.stmts));
    } else {
        parts.push(Part::Expr(input.parse()?));
    }
    input.parse::<Option<Comma>>()?;
    Ok(())
}
