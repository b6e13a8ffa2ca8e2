//! Which arguments the body takes along, whole.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote_spanned};
use syn::{
    Expr, FnArg, Ident, PatIdent, ReceiverKind, Type,
    visit::{self, Visit},
};

use super::span::mixed;
use crate::{
    args::Args,
    check::Parts,
    item::{self, Function},
};

const SMALL: [&str; 15] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64",
    "u128", "usize",
];

/// In:  `(self, order: Order, cents: u64, note: &str)`
/// Out: `let _ = (&self, &order);`
///
/// An async block captures `order.id` alone if that is all it uses. The rest of `order` would then
/// stay in the caller's future, where rustc keeps an argument twice: as what was passed, and as the
/// variable. And `order.id = 0` would be said to overwrite a captured value that is never read.
/// Mentioned whole, an argument moves whole, through the box and into the body.
///
/// Left out is what is small, and what is mentioned nowhere else, since rustc should go on to call
/// it unused.
pub(super) fn whole_arguments(
    args: &Args,
    function: &Function,
    parts: &Parts<'_>,
) -> Option<TokenStream> {
    let used = |name: &Ident| {
        let mentions = |expr: &Expr| item::mentions(expr.to_token_stream(), name);
        name.to_string().starts_with('_')
            || item::mentions(parts.statements.clone(), name)
            || parts.key.mentions(name)
            || args.prologue().any(mentions)
    };
    let mut names = Names::default();
    for input in &function.sig.inputs {
        match input {
            FnArg::Receiver(receiver) => match &receiver.kind {
                ReceiverKind::Value => names.0.push(receiver.self_token.into()),
                ReceiverKind::Typed(_, ty) if !is_small(ty) => {
                    names.0.push(receiver.self_token.into());
                }
                _ => {}
            },
            // One behind `#[cfg(…)]` may not be there.
            FnArg::Typed(arg) if arg.attrs.is_empty() && !is_small(&arg.ty) => {
                names.visit_pat(&arg.pat);
            }
            FnArg::Typed(_) => {}
        }
    }
    let names: Vec<Ident> =
        names.0.into_iter().filter(|name| name == "self" || used(name)).collect();
    (!names.is_empty()).then(|| quote_spanned!(mixed()=> let _ = (#(&#names,)*);))
}

fn is_small(ty: &Type) -> bool {
    match ty {
        Type::Reference(_) | Type::Ptr(_) | Type::FnPtr(_) => true,
        Type::Path(path) => SMALL.iter().any(|small| path.path.is_ident(small)),
        _ => false,
    }
}

/// The variables that a pattern binds.
#[derive(Default)]
struct Names(Vec<Ident>);

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, pat: &'ast PatIdent) {
        if pat.by_ref.is_none() {
            self.0.push(pat.ident.clone());
        }
        visit::visit_pat_ident(self, pat);
    }
}
