//! A method names its operation.

use syn::{FnArg, ext::IdentExt};

use crate::{args::Args, ctxt::Ctxt, item::Function};

/// The default name is the module's path and the function's name. Of a method that leaves out the
/// type, which the attribute cannot see: `Card::charge(1)` and `Transfer::charge(1)` would be the
/// same call, and one would be answered with what the other stored.
pub(super) fn check(cx: &Ctxt, args: &Args, function: &Function) {
    let sig = &function.sig;
    let is_method = matches!(sig.inputs.first(), Some(FnArg::Receiver(_)));
    if !is_method || args.has("name") {
        return;
    }
    let name = &sig.ident;
    // As the default name would have it.
    let example = name.unraw().to_string().replace(|c: char| !c.is_ascii(), "_");
    cx.error_at(
        name,
        format!(
            "a method has no default name, as two types of this module may each have a `{name}` \
             and would be given each other's results: write `name = \"payments.{example}\"`"
        ),
    );
}
