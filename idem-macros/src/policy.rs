//! The policies: words after `on_…` and `codec`, some with a value in parentheses.

use proc_macro2::{Span, TokenStream};
use syn::{
    Expr, Ident, LitStr, Path, Token,
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

#[allow(clippy::large_enum_variant, reason = "one for each function; spans are large in tests")]
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
    parse: impl FnOnce(&Ident, ParseStream<'_>) -> syn::Result<Option<T>>,
) -> syn::Result<Chosen<T>> {
    refuse_quotes(input, expected)?;
    if !input.peek(Ident::peek_any) {
        return Err(input.error(expected));
    }
    let word = input.call(Ident::parse_any)?;
    let unknown = || syn::Error::new(word.span(), expected);
    let value = parse(&word, input)?.ok_or_else(unknown)?;
    if input.is_empty() || input.peek(Token![,]) {
        Ok(Chosen { value, span: word.span() })
    } else {
        Err(input.error(expected))
    }
}

fn refuse_quotes(input: ParseStream<'_>, expected: &str) -> syn::Result<()> {
    if input.peek(LitStr) {
        return Err(input.error(format!("write the word without quotes: {expected}")));
    }
    Ok(())
}

/// `(value)` behind a policy's word.
fn inner<T>(
    word: &Ident,
    input: ParseStream<'_>,
    expected: &str,
    parse: impl FnOnce(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<T> {
    // syn would point behind the word, at the next comma or the attribute's closing bracket.
    let missing = || {
        let message = format!("`{word}` takes a value in parentheses: {expected}");
        Err(syn::Error::new(word.span(), message))
    };
    if !input.peek(syn::token::Paren) {
        return missing();
    }
    let content;
    parenthesized!(content in input);
    if content.is_empty() {
        return missing();
    }
    let value = match parse(&content) {
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
            Ok(match word.to_string().as_str() {
                "wait" if input.peek(syn::token::Paren) => {
                    Some(OnDuplicate::WaitFor(inner(word, input, EXPECTED, Duration::parse)?))
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
            Ok(match word.to_string().as_str() {
                "release" => Some(OnError::Release),
                "store" => Some(OnError::Store),
                "store_if" => {
                    let path = |content: ParseStream<'_>| {
                        let path = content.parse::<Path>();
                        path.map_err(|error| syn::Error::new(error.span(), EXPECTED))
                    };
                    Some(OnError::StoreIf(inner(word, input, EXPECTED, path)?))
                }
                _ => None,
            })
        })
    }
}

impl Parse for Chosen<OnLost> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        choose(input, "`on_lost` is `finish`, `cancel` or `ignore`", |word, _| {
            Ok(match word.to_string().as_str() {
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
            Ok(match word.to_string().as_str() {
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
            Ok(match word.to_string().as_str() {
                "rerun" => Some(OnCrash::Rerun),
                "refuse" => Some(OnCrash::Refuse),
                "reconcile" => Some(OnCrash::Reconcile(inner(word, input, EXPECTED, Expr::parse)?)),
                _ => None,
            })
        })
    }
}

impl Parse for Chosen<OnOutage> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        choose(input, "`on_outage` is `refuse` or `run`", |word, _| {
            Ok(match word.to_string().as_str() {
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
        refuse_quotes(input, EXPECTED)?;
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
