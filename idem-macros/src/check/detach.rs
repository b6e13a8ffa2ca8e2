//! `on_drop = detach` runs the body as a task of its own, which outlives whatever its caller has
//! borrowed.
//!
//! Hidden borrows (`impl Trait`, a type whose lifetime is elided) and `Send` are for the bounds on
//! `Running::detach`.

use syn::{
    FnArg, Lifetime, Receiver, ReceiverKind, ReturnType, Type, TypeReference,
    visit::{self, Visit},
};

use crate::{ctxt::Ctxt, item::Function};

const INSTEAD: &str = "or say `on_drop = hold`";

pub(super) fn check(cx: &Ctxt, function: &Function) {
    for input in &function.sig.inputs {
        match input {
            FnArg::Receiver(receiver) => check_receiver(cx, receiver),
            FnArg::Typed(arg) => Borrows::report_in(cx, &arg.ty, "take this argument by value"),
        }
    }
    if let ReturnType::Type(_, output) = &function.sig.output {
        Borrows::report_in(cx, output, "return an owned value");
    }
}

fn check_receiver(cx: &Ctxt, receiver: &Receiver) {
    const OWNED: &str = "take `self` by value, or `self: Arc<Self>`";
    match &receiver.kind {
        ReceiverKind::Typed(_, ty) => Borrows::report_in(cx, ty, OWNED),
        ReceiverKind::Reference(..) => cx.error_at(receiver, message(OWNED)),
        _ => {}
    }
}

fn message(owned: &str) -> String {
    format!("a detached body outlives its caller and what that has borrowed: {owned}, {INSTEAD}")
}

/// Finds the outermost borrows in a type.
struct Borrows<'a> {
    cx: &'a Ctxt,
    owned: &'static str,
}

impl<'a> Borrows<'a> {
    fn report_in(cx: &'a Ctxt, ty: &Type, owned: &'static str) {
        Self { cx, owned }.visit_type(ty);
    }
}

impl<'ast> Visit<'ast> for Borrows<'_> {
    fn visit_type_reference(&mut self, reference: &'ast TypeReference) {
        match &reference.lifetime {
            Some(lifetime) if lifetime.ident == "static" => {
                visit::visit_type(self, &reference.elem);
            }
            _ => self.cx.error_at(reference, message(self.owned)),
        }
    }

    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident != "static" {
            self.cx.error_at(lifetime, message(self.owned));
        }
    }

    // `fn(&Order)` and `dyn Fn(&Order)` borrow when they are called, not now.
    fn visit_type_fn_ptr(&mut self, _: &'ast syn::TypeFnPtr) {}
    fn visit_parenthesized_generic_arguments(
        &mut self,
        _: &'ast syn::ParenthesizedGenericArguments,
    ) {
    }
    fn visit_bound_lifetimes(&mut self, _: &'ast syn::BoundLifetimes) {}
}
