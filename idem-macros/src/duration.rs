//! Durations, written as literals: `"500ms"`, `"30s"`, `"5m"`, `"24h"`, `"7d"`.

use proc_macro2::Span;
use syn::{
    Lit, LitInt, LitStr,
    parse::{Parse, ParseStream},
};

use crate::{args::Args, ctxt::Ctxt};

const FORM: &str = "a duration is a whole number and one unit (ms, s, m, h, d) in quotes, such as \
                    \"500ms\", \"30s\", \"5m\", \"24h\" or \"7d\"";

const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60 * 1_000),
    ("h", 60 * 60 * 1_000),
    ("d", 24 * 60 * 60 * 1_000),
];

const SHORTEST_LEASE: u64 = 100;
const LONGEST_LEASE: u64 = 24 * 60 * 60 * 1_000;
/// Ten years: long enough for everything but a mistake, and far from where a store's clock
/// overflows.
const LONGEST: u64 = 3_650 * 24 * 60 * 60 * 1_000;

#[derive(Clone, Copy)]
pub(crate) struct Duration {
    pub(crate) ms: u64,
    pub(crate) span: Span,
}

impl Parse for Duration {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let ahead = input.fork();
        match ahead.parse::<Lit>() {
            Ok(Lit::Str(_)) => from_literal(&input.parse()?),
            Ok(Lit::Int(number)) => Err(syn::Error::new(number.span(), quoted(&number))),
            _ => Err(input.error(FORM)),
        }
    }
}

/// The commonest slips are a number without its unit and one without its quotes: show it with both.
fn quoted(number: &LitInt) -> String {
    let digits = number.base10_digits();
    match number.suffix() {
        "" => format!("which unit? For seconds, write \"{digits}s\"; {FORM}"),
        unit if UNITS.iter().any(|(name, _)| *name == unit) => {
            format!("write \"{digits}{unit}\", in quotes")
        }
        _ => FORM.to_owned(),
    }
}

fn from_literal(literal: &LitStr) -> syn::Result<Duration> {
    let span = literal.span();
    let text = literal.value();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = UNITS.iter().find(|(name, _)| *name == unit);
    let (Some((_, unit)), false) = (unit, number.is_empty()) else {
        return Err(syn::Error::new(span, FORM));
    };
    let ms = number.parse().ok().and_then(|number: u64| number.checked_mul(*unit));
    ms.filter(|ms| *ms <= LONGEST)
        .map(|ms| Duration { ms, span })
        .ok_or_else(|| syn::Error::new(span, "longer than idem counts: at most \"3650d\""))
}

/// The ranges of protocol.md, and how the durations of one attribute relate. What is left out has a
/// default that the runtime checks when it is built.
pub(crate) fn check(cx: &Ctxt, args: &Args) {
    let lease = args.lease.filter(|lease| {
        let fits = (SHORTEST_LEASE..=LONGEST_LEASE).contains(&lease.ms);
        if !fits {
            cx.error(syn::Error::new(lease.span, "a lease is between \"100ms\" and \"24h\""));
        }
        fits
    });
    let shortest = lease.map_or(SHORTEST_LEASE, |lease| lease.ms);
    let or_lease = if lease.is_some() { "this function's lease, " } else { "" };
    at_least(cx, args.ttl, shortest, || {
        format!(
            "`ttl` is at least {or_lease}{}: an outcome that is forgotten sooner would let a late \
             duplicate run again",
            spelled(shortest)
        )
    });
    at_least(cx, args.deadline, shortest, || {
        format!(
            "`deadline` is at least {or_lease}{}: to stop an action sooner, shorten the lease as \
             well",
            spelled(shortest)
        )
    });
    at_least(cx, args.retention, 1, || {
        "`retention` of nothing would forget every crash at once: write how long it is remembered, \
         or `on_crash = rerun`"
            .to_owned()
    });
    let wait = args.on_duplicate.as_ref().and_then(|policy| policy.value.limit());
    at_least(cx, wait, 1, || {
        "to wait for no time at all, write `on_duplicate = reject`".to_owned()
    });
}

fn at_least(
    cx: &Ctxt,
    duration: Option<Duration>,
    shortest: u64,
    message: impl FnOnce() -> String,
) {
    if let Some(short) = duration.filter(|duration| duration.ms < shortest) {
        cx.error(syn::Error::new(short.span, message()));
    }
}

/// `30_000` is `"30s"`: the largest unit that says it exactly.
fn spelled(ms: u64) -> String {
    let (name, unit) =
        UNITS.iter().rev().find(|(_, unit)| ms.is_multiple_of(*unit)).unwrap_or(&UNITS[0]);
    format!("\"{}{name}\"", ms / unit)
}
