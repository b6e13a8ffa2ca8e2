//! Generic parameters that decide what is stored have to be part of the key.

use quote::ToTokens;
use syn::{GenericParam, Ident, ReturnType};

use super::outcome::Sides;
use crate::{args::Args, ctxt::Ctxt, item, item::Function};

/// A generic function has one key space for all its types: without its parameter in the key,
/// `load::<User>(7)` would be answered with what `load::<Order>(7)` stored.
pub(super) fn check(cx: &Ctxt, args: &Args, function: &Function) {
    let (Some(key), ReturnType::Type(_, output)) = (&args.key, &function.sig.output) else {
        return;
    };
    // An error that frees the key is not stored, and its type decides nothing.
    let stored = match Sides::of(output) {
        Some(sides) if !args.stores_errors() => sides.ok.to_token_stream(),
        _ => output.to_token_stream(),
    };
    for param in &function.sig.generics.params {
        let (name, example) = match param {
            GenericParam::Type(param) => (&param.ident, of_type(&param.ident)),
            GenericParam::Const(param) => {
                (&param.ident, format!("write `key = ({}, …)`", param.ident))
            }
            GenericParam::Lifetime(_) => continue,
        };
        if item::mentions(stored.clone(), name) && !key.mentions(name) {
            cx.error_at(
                name,
                format!(
                    "`{name}` decides what is returned, and the key does not mention it, so calls \
                     with different `{name}` would get each other's outcomes: {example}"
                ),
            );
        }
    }
}

fn of_type(name: &Ident) -> String {
    format!(
        "write `key = ({name}::KIND, …)`, with a constant of a trait that `{name}` is bound by \
         (not `type_name`, which differs between compilers)"
    )
}
