//! The attribute's grammar: `name = value` pairs and `allow(blocking)`.

use proc_macro2::{Span, TokenStream};
use syn::{
    Expr, Ident, LitInt, LitStr, Path, Token,
    ext::IdentExt,
    parenthesized,
    parse::{Parse, ParseStream, Parser},
};

use crate::{
    ctxt::Ctxt,
    duration::Duration,
    key::Key,
    names,
    policy::{Chosen, Codec, OnCrash, OnDrop, OnDuplicate, OnError, OnLost, OnOutage, drain},
};

/// What the attribute says; `None` where it says nothing and a default holds.
#[derive(Default)]
pub(crate) struct Args {
    /// `None` only beside a reported error.
    pub(crate) key: Option<Key>,
    pub(crate) name: Option<Name>,
    pub(crate) lease: Option<Duration>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) retention: Option<Duration>,
    pub(crate) fingerprint: Option<Expr>,
    pub(crate) on_duplicate: Option<Chosen<OnDuplicate>>,
    pub(crate) on_error: Option<Chosen<OnError>>,
    pub(crate) on_lost: Option<Chosen<OnLost>>,
    pub(crate) on_drop: Option<Chosen<OnDrop>>,
    pub(crate) on_crash: Option<Chosen<OnCrash>>,
    pub(crate) on_outage: Option<Chosen<OnOutage>>,
    pub(crate) codec: Option<Chosen<Codec>>,
    pub(crate) version: Option<Version>,
    pub(crate) runtime: Option<Expr>,
    pub(crate) krate: Option<CratePath>,
    pub(crate) allow_blocking: bool,
    /// The names met so far, those with a wrong value among them.
    seen: Vec<Ident>,
    /// What misspelt ones were meant to be.
    meant: Vec<&'static str>,
}

impl Args {
    /// Reads all of `tokens`. An argument that is wrong is reported and left out, and the next one
    /// is read.
    pub(crate) fn parse(cx: &Ctxt, tokens: TokenStream) -> Self {
        let mut args = Self::default();
        let all = |input: ParseStream<'_>| {
            while !input.is_empty() {
                if let Err(error) = args.argument(input) {
                    cx.error(error);
                    skip_argument(input);
                }
            }
            Ok(())
        };
        if let Err(error) = all.parse2(tokens) {
            cx.error(error);
        }
        if !args.has("key") {
            cx.error(syn::Error::new(
                Span::call_site(),
                format!(
                    "`key` is missing: add what makes two calls the same call, such as `key = \
                     order.id`; the arguments are {}",
                    names::listed()
                ),
            ));
        }
        args
    }

    /// Where the word `detach` stands, if it does.
    pub(crate) fn detaches(&self) -> Option<Span> {
        self.on_drop
            .as_ref()
            .filter(|policy| policy.value == OnDrop::Detach)
            .map(|policy| policy.span)
    }

    pub(crate) fn stores_errors(&self) -> bool {
        self.on_error.as_ref().is_some_and(|policy| !matches!(policy.value, OnError::Release))
    }

    /// The expressions that run before the call begins.
    pub(crate) fn prologue(&self) -> impl Iterator<Item = &Expr> {
        let key = self.key.as_ref().and_then(|key| match key {
            Key::Expr(key) => Some(key),
            Key::Template(_) => None,
        });
        [key, self.fingerprint.as_ref(), self.runtime.as_ref()].into_iter().flatten()
    }

    /// Whether the attribute has an argument `name`, be its value right or wrong, or the name itself
    /// misspelt.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.seen.iter().any(|seen| seen == name) || self.meant.contains(&name)
    }

    /// One argument and the comma behind it.
    fn argument(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        if input.peek(LitStr) && self.seen.is_empty() {
            self.seen.push(Ident::new("key", input.span()));
            return Err(input.error("which argument is this? If it is the key, write `key = …`"));
        }
        if !input.peek(Ident::peek_any) {
            let listed = names::listed();
            return Err(
                input.error(format!("expected `argument = value`; the arguments are {listed}"))
            );
        }
        let name = input.call(Ident::parse_any)?;
        let word = name.to_string();
        let repeated = self.seen.contains(&name);
        self.seen.push(name.clone());
        match word.as_str() {
            "key" => self.key = value(&name, input)?,
            "name" => self.name = value(&name, input)?,
            "lease" => self.lease = value(&name, input)?,
            "ttl" => self.ttl = value(&name, input)?,
            "deadline" => self.deadline = value(&name, input)?,
            "retention" => self.retention = value(&name, input)?,
            "fingerprint" => self.fingerprint = value(&name, input)?,
            "on_duplicate" => self.on_duplicate = value(&name, input)?,
            "on_error" => self.on_error = value(&name, input)?,
            "on_lost" => self.on_lost = value(&name, input)?,
            "on_drop" => self.on_drop = value(&name, input)?,
            "on_crash" => self.on_crash = value(&name, input)?,
            "on_outage" => self.on_outage = value(&name, input)?,
            "codec" => self.codec = value(&name, input)?,
            "version" => self.version = value(&name, input)?,
            "runtime" => self.runtime = value(&name, input)?,
            "crate" => self.krate = value(&name, input)?,
            "allow" => self.allow_blocking = allow(input)?,
            _ => {
                let meant = names::meant(&word);
                self.meant.extend(meant);
                return Err(names::unknown(&name, meant));
            }
        }
        if repeated {
            return Err(syn::Error::new(
                name.span(),
                format!("`{name}` is given twice: keep one of them"),
            ));
        }
        if input.is_empty() || input.parse::<Option<Token![,]>>()?.is_some() {
            Ok(())
        } else {
            Err(input.error("expected `,` and the next argument"))
        }
    }
}

/// `= value` behind a name.
fn value<T: Parse>(name: &Ident, input: ParseStream<'_>) -> syn::Result<Option<T>> {
    if input.parse::<Option<Token![=]>>()?.is_none() {
        return Err(syn::Error::new(
            name.span(),
            format!("`{name}` takes a value: write `{name} = …`"),
        ));
    }
    // syn would say "unexpected end of input" at the attribute's closing bracket.
    if input.is_empty() || input.peek(Token![,]) {
        return Err(syn::Error::new(name.span(), format!("the value of `{name}` is missing")));
    }
    input.parse().map(Some)
}

/// `(blocking)` behind `allow`.
fn allow(input: ParseStream<'_>) -> syn::Result<bool> {
    const EXPECTED: &str = "write `allow(blocking)`, which is all that can be allowed";
    if !input.peek(syn::token::Paren) {
        return Err(input.error(EXPECTED));
    }
    let content;
    parenthesized!(content in input);
    let refused = syn::Error::new(content.span(), EXPECTED);
    let blocking =
        content.call(Ident::parse_any).is_ok_and(|what| what == "blocking") && content.is_empty();
    drain(&content)?;
    if blocking { Ok(true) } else { Err(refused) }
}

/// Goes to the start of the next argument, so that one mistake is one error. A comma alone does not
/// end an argument (`key = pair::<A, B>(a, b)`), one before `name =` or `name(` does.
fn skip_argument(input: ParseStream<'_>) {
    while !input.is_empty() {
        let comma = input.parse::<Option<Token![,]>>().ok().flatten().is_some();
        let named = input.peek(Ident::peek_any)
            && (input.peek2(Token![=]) || input.peek2(syn::token::Paren));
        if comma && (named || input.is_empty()) {
            return;
        }
        if !comma && input.parse::<proc_macro2::TokenTree>().is_err() {
            return;
        }
    }
}

/// An operation's name.
pub(crate) struct Name(pub(crate) LitStr);

impl Parse for Name {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let literal: LitStr = input.parse().map_err(|error| {
            syn::Error::new(
                error.span(),
                "a name is a string literal, such as `name = \"payments.charge\"`",
            )
        })?;
        let name = literal.value();
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
        if name.is_empty() || !name.chars().all(allowed) {
            return Err(syn::Error::new(
                literal.span(),
                "a name is made of ASCII letters, digits, `.`, `_`, `-` and `/`, such as \
                 \"payments.charge\"",
            ));
        }
        if name.starts_with("idem.") {
            return Err(syn::Error::new(
                literal.span(),
                "names that begin with `idem.` are kept for idem itself: begin with your service's \
                 name",
            ));
        }
        Ok(Self(literal))
    }
}

/// A change of meaning that no codec can see.
pub(crate) struct Version(pub(crate) u32);

impl Parse for Version {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let number = |input: ParseStream<'_>| input.parse::<LitInt>()?.base10_parse();
        number(input).map(Self).map_err(|error| {
            syn::Error::new(
                error.span(),
                "a version is a whole number from 0 to 4294967295, such as `version = 2`",
            )
        })
    }
}

/// Where `idem_runtime` is found by the user's crate.
pub(crate) struct CratePath(pub(crate) Path);

impl Parse for CratePath {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.call(Path::parse_mod_style).map(Self).map_err(|error| {
            syn::Error::new(
                error.span(),
                "`crate` is the path under which this crate finds idem_runtime, such as `crate = \
                 my_reexport::idem_runtime`",
            )
        })
    }
}
