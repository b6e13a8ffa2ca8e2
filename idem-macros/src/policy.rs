//! The policies: words after `on_…` and `codec`, some with a value in parentheses.

use proc_macro2::{Span, TokenStream};
use syn::{
    Expr, Ident, Path, Token,
    ext::IdentExt,
    parenthesized,
    parse::{Parse, ParseStream},
};

use crate::duration::Duration;

/// A policy and the word that chose it, which is where its problems are reported.
pub(crate) struct Chosen<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

#[derive(Clone, Copy)]
pub(crate) enum OnDuplicate {
    Wait,
    WaitFor(Duration),
    Reject,
}

impl OnDuplicate {
    /// How long duplicates wait, if the attribute says so.
    pub(crate) fn limit(self) -> Option<Duration> {
        match self {
            Self::WaitFor(limit) => Some(limit),
            Self::Wait | Self::Reject => None,
        }
    }
}

pub(crate) enum OnError {
    Release,
    Store,
    StoreIf(Path),
}

#[derive(Clone, Copy)]
pub(crate) enum OnLost {
    Finish,
    Cancel,
    Ignore,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum OnDrop {
    Hold,
    Release,
    Detach,
}

pub(crate) enum OnCrash {
    Rerun,
    Refuse,
    Reconcile(Expr),
}

#[derive(Clone, Copy)]
pub(crate) enum OnOutage {
    Refuse,
    Run,
}

pub(crate) enum Codec {
    MessagePack,
    Bincode,
    Json,
    Custom(Path),
}

/// A word and the value it turned into, `None` if it is not one of the policy's. `input` stands
/// behind the word.
fn choose<T>(
    input: ParseStream<'_>,
    expected: &str,
    parse: impl FnOnce(&str, ParseStream<'_>) -> syn::Result<Option<T>>,
) -> syn::Result<Chosen<T>> {
    if !input.peek(Ident::peek_any) {
        return Err(input.error(expected));
    }
    let word = input.call(Ident::parse_any)?;
    let unknown = || syn::Error::new(word.span(), expected);
    let value = parse(&word.to_string(), input)?.ok_or_else(unknown)?;
    if input.is_empty() || input.peek(Token![,]) {
        Ok(Chosen { value, span: word.span() })
    } else {
        Err(input.error(expected))
    }
}

/// `(value)` behind a policy's word.
fn inner<T: Parse>(input: ParseStream<'_>, expected: &str) -> syn::Result<T> {
    if !input.peek(syn::token::Paren) {
        return Err(input.error(expected));
    }
    let content;
    parenthesized!(content in input);
    let value = match content.parse() {
        Ok(value) if content.is_empty() => Ok(value),
        Ok(_) => Err(content.error(expected)),
        Err(error) => Err(error),
    };
    drain(&content)?;
    value
}

/// Reads what an error leaves over, which syn would report a second time.
pub(crate) fn drain(content: ParseStream<'_>) -> syn::Result<()> {
    content.parse::<TokenStream>().map(drop)
}

impl Parse for Chosen<OnDuplicate> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        const EXPECTED: &str = "`on_duplicate` is `wait`, `wait(\"10s\")` or `reject`";
        choose(input, EXPECTED, |word, input| {
            Ok(match word {
                "wait" if input.peek(syn::token::Paren) => {
                    Some(OnDuplicate::WaitFor(inner(input, EXPECTED)?))
                }
                "wait" => Some(OnDuplicate::Wait),
                "reject" => Some(OnDuplicate::Reject),
                _ => None,
            })
        })
    }
}

impl Parse for Chosen<OnError> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        const EXPECTED: &str = "`on_error` is `release`, `store`, or `store_if(path)` with the \
                                path of a function from `&E` to `bool`, such as \
                                `store_if(ChargeError::is_permanent)`";
        choose(input, EXPECTED, |word, input| {
            Ok(match word {
                "release" => Some(OnError::Release),
                "store" => Some(OnError::Store),
                "store_if" => Some(OnError::StoreIf(
                    inner(input, EXPECTED)
                        .map_err(|error| syn::Error::new(error.span(), EXPECTED))?,
                )),
                _ => None,
            })
        })
    }
}

impl Parse for Chosen<OnLost> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        choose(input, "`on_lost` is `finish`, `cancel` or `ignore`", |word, _| {
            Ok(match word {
                "finish" => Some(OnLost::Finish),
                "cancel" => Some(OnLost::Cancel),
                "ignore" => Some(OnLost::Ignore),
                _ => None,
            })
        })
    }
}

impl Parse for Chosen<OnDrop> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        choose(input, "`on_drop` is `hold`, `release` or `detach`", |word, _| {
            Ok(match word {
                "hold" => Some(OnDrop::Hold),
                "release" => Some(OnDrop::Release),
                "detach" => Some(OnDrop::Detach),
                _ => None,
            })
        })
    }
}

impl Parse for Chosen<OnCrash> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        const EXPECTED: &str = "`on_crash` is `rerun`, `refuse`, or `reconcile(…)` around an async \
                                expression that gives `Result<Option<T>, E>`, such as \
                                `reconcile(self.gateway.find(&order.id))`";
        choose(input, EXPECTED, |word, input| {
            Ok(match word {
                "rerun" => Some(OnCrash::Rerun),
                "refuse" => Some(OnCrash::Refuse),
                "reconcile" => Some(OnCrash::Reconcile(inner(input, EXPECTED)?)),
                _ => None,
            })
        })
    }
}

impl Parse for Chosen<OnOutage> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        choose(input, "`on_outage` is `refuse` or `run`", |word, _| {
            Ok(match word {
                "refuse" => Some(OnOutage::Refuse),
                "run" => Some(OnOutage::Run),
                _ => None,
            })
        })
    }
}

impl Parse for Chosen<Codec> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        const EXPECTED: &str = "`codec` is `messagepack`, `bincode`, `json`, or the path of a type \
                                that implements `Codec`";
        let expected = |error: syn::Error| syn::Error::new(error.span(), EXPECTED);
        let path: Path = input.parse().map_err(expected)?;
        let span = path.segments.first().map_or_else(Span::call_site, |first| first.ident.span());
        let word = path.get_ident().map(ToString::to_string);
        let value = match word.as_deref() {
            Some("messagepack") => Codec::MessagePack,
            Some("bincode") => Codec::Bincode,
            Some("json") => Codec::Json,
            // A lower-case word is a codec that idem does not have, not somebody's type.
            Some(other) if other.starts_with(char::is_lowercase) => {
                return Err(syn::Error::new(span, EXPECTED));
            }
            _ => Codec::Custom(path),
        };
        Ok(Self { value, span })
    }
}
