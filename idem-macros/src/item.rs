//! The annotated function, read without a look into its body.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, TokenStreamExt};
use syn::{
    Attribute, Ident, Signature, Token, Visibility, braced,
    parse::{Parse, ParseStream},
    token::Brace,
};

/// A function. The body stays a stream of tokens: while it is being typed it may not parse as Rust,
/// and rustc, not this macro, should say so, at the place where it does not.
pub(crate) struct Function {
    /// Those inside the body (`#![allow(…)]`) among them, as outer ones.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) default: Option<Ident>,
    pub(crate) sig: Signature,
    pub(crate) body: Body,
}

pub(crate) enum Body {
    Present {
        brace: Brace,
        statements: TokenStream,
    },
    /// A trait's method without a default: `;`.
    Absent(Token![;]),
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let default =
            input.peek(Ident) && input.fork().parse::<Ident>().is_ok_and(|word| word == "default");
        let default = if default { Some(input.parse()?) } else { None };
        let sig = input.parse()?;
        let body = if input.peek(Token![;]) {
            Body::Absent(input.parse()?)
        } else {
            let content;
            let brace = braced!(content in input);
            attrs.extend(content.call(Attribute::parse_inner)?.into_iter().map(hoisted));
            Body::Present { brace, statements: content.parse()? }
        };
        Ok(Self { attrs, vis, default, sig, body })
    }
}

/// In:  `#![allow(clippy::float_cmp)]`, first in a body
/// Out: `#[allow(clippy::float_cmp)]`, above the function
///
/// It would not be first any more in the expansion's body.
fn hoisted(mut attr: Attribute) -> Attribute {
    attr.style = syn::AttrStyle::Outer;
    attr
}

impl Function {
    /// The function with another body.
    pub(crate) fn with_body(&self, body: &TokenStream) -> TokenStream {
        let mut tokens = TokenStream::new();
        tokens.append_all(&self.attrs);
        self.vis.to_tokens(&mut tokens);
        self.default.to_tokens(&mut tokens);
        self.sig.to_tokens(&mut tokens);
        body.to_tokens(&mut tokens);
        tokens
    }
}

/// Whether `name` is among `tokens`, at any depth.
pub(crate) fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
