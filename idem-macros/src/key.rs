//! The key: an expression, or a template such as `"{tenant}/{order.id}"`.

use proc_macro2::Span;
use quote::ToTokens;
use syn::{
    Expr, ExprLit, Lit, LitStr,
    parse::{Parse, ParseStream},
};

pub(crate) enum Key {
    /// Any expression of a type with `ToKey`.
    Expr(Expr),
    Template(Template),
}

/// `"{tenant}/{order.id}"` is the literals `["", "/", ""]` and the parts `[tenant, order.id]`. Each
/// part goes through `ToKey`, which escapes separators inside it; text put together by `format!`
/// could not tell `a/b` + `c` from `a` + `b/c`.
pub(crate) struct Template {
    /// One more than there are parts.
    pub(crate) literals: Vec<String>,
    pub(crate) parts: Vec<Expr>,
    pub(crate) span: Span,
}

impl Parse for Key {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let expr: Expr = input.parse()?;
        let Some(literal) = string(&expr) else {
            return Ok(Self::Expr(expr));
        };
        let template = Template::split(literal)?;
        match (template.parts.as_slice(), template.literals.as_slice()) {
            ([], [text]) => Err(syn::Error::new(literal.span(), names_nothing(text))),
            _ => Ok(Self::Template(template)),
        }
    }
}

/// The literal in `"…"`, and in `("…")`.
fn string(expr: &Expr) -> Option<&LitStr> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Str(literal), .. }) => Some(literal),
        Expr::Paren(paren) => string(&paren.expr),
        Expr::Group(group) => string(&group.expr),
        _ => None,
    }
}

/// Nearly always, the quotes around `"order.id"` are the slip, or its braces were forgotten. Whoever
/// means one key for all calls says so.
fn names_nothing(text: &str) -> String {
    if text.is_empty() {
        return "an empty key would make every call the same call: name an argument, such as `key \
                = order.id`"
            .to_owned();
    }
    let argument = match syn::parse_str::<Expr>(text) {
        Ok(expr) if is_place(&expr) => text,
        _ => "order.id",
    };
    format!(
        "this names no argument, so that every call would be the same call: write `key = \
         {argument}` or `key = \"{{{argument}}}\"`; if all calls are to be the same call, write \
         `key = const {{ {text:?} }}`"
    )
}

impl Key {
    /// Whether `name` occurs in the key, as in `(T::KIND, id)`.
    pub(crate) fn mentions(&self, name: &syn::Ident) -> bool {
        let in_expr = |expr: &Expr| crate::item::mentions(expr.to_token_stream(), name);
        match self {
            Self::Expr(expr) => in_expr(expr),
            Self::Template(template) => template.parts.iter().any(in_expr),
        }
    }
}

impl Template {
    /// In:  `"{tenant}/{order.id}"`
    /// Out: literals `["", "/", ""]`, parts `[tenant, order.id]`
    ///
    /// Braces are doubled to stand for themselves, as in `format!`.
    fn split(literal: &LitStr) -> syn::Result<Self> {
        let refuse = |message: String| syn::Error::new(literal.span(), message);
        let text = literal.value();
        let mut template =
            Self { literals: vec![String::new()], parts: Vec::new(), span: literal.span() };
        let mut rest = text.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            template.push_text(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix(brace) {
                template.push_text(brace);
                rest = behind;
            } else if brace == "}" {
                return Err(refuse(
                    "a `}` without its `{`: write `}}` for the character itself".to_owned(),
                ));
            } else {
                let Some((part, behind)) = rest.split_once('}') else {
                    return Err(refuse(
                        "a `{` without its `}`: write `{{` for the character itself".to_owned(),
                    ));
                };
                template.push_part(part.trim(), literal)?;
                rest = behind;
            }
        }
        template.push_text(rest);
        Ok(template)
    }

    fn push_text(&mut self, text: &str) {
        if let Some(last) = self.literals.last_mut() {
            last.push_str(text);
        }
    }

    fn push_part(&mut self, text: &str, literal: &LitStr) -> syn::Result<()> {
        let refuse = |message: String| Err(syn::Error::new(literal.span(), message));
        if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
            return refuse(format!(
                "`{{{text}}}` names nothing: a template takes its arguments by name, such as \
                 `{{order.id}}`"
            ));
        }
        if let Some((name, spec)) = text.replace("::", "\0\0").split_once(':') {
            let name = name.replace("\0\0", "::");
            return refuse(format!(
                "`:{spec}` is a format spec, and a key is not formatted: write `{{{name}}}`, where \
                 `{name}` is of a type with `ToKey` (a string, an integer, a tuple of these, …)"
            ));
        }
        if let (true, Some(before)) =
            (self.literals.last().is_some_and(String::is_empty), self.parts.last())
        {
            let before: String = before.to_token_stream().to_string().split_whitespace().collect();
            return refuse(format!(
                "`{{{before}}}{{{text}}}` touch, so that \"1\" + \"23\" and \"12\" + \"3\" would \
                 be the same key: put a separator between them, such as `{{{before}}}/{{{text}}}`"
            ));
        }
        match LitStr::new(text, literal.span()).parse::<Expr>() {
            Ok(part) if is_place(&part) => {
                self.parts.push(part);
                self.literals.push(String::new());
                Ok(())
            }
            _ => refuse(format!(
                "`{{{text}}}` is more than a name and its fields: write the key as a tuple, such \
                 as `key = (tenant, {text})`"
            )),
        }
    }
}

/// `order`, `order.id`, `self.0.tenant`, `T::KIND`.
fn is_place(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) => true,
        Expr::Field(field) => is_place(&field.base),
        _ => false,
    }
}
