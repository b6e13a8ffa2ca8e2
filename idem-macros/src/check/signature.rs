//! The function's kind: async, safe, Rust's own calling convention, with a body.

use syn::{Attribute, ReturnType, Safety, Signature, Type, TypeParamBound};

use super::outcome::last_segment_with_args;
use crate::{
    ctxt::Ctxt,
    item::{self, Body, Function},
};

/// Whether the body is not the one that the user wrote, so that nothing in it is for the user to
/// change.
pub(super) fn rewritten(function: &Function) -> bool {
    function.sig.asyncness.is_none() && (returns_boxed_future(&function.sig) || made_sync(function))
}

pub(super) fn check(cx: &Ctxt, function: &Function) {
    let sig = &function.sig;
    if let Some(second) = function.attrs.iter().find(|attr| is_ours(attr)) {
        cx.error_at(
            second,
            "`#[idempotent]` stands on this function twice, and a call would wait for itself: keep \
             one of them",
        );
    }
    if let Some(constness) = &sig.constness {
        cx.error_at(
            constness,
            "remove `const`: an idempotent function asks a store, which a constant cannot",
        );
    }
    if let Safety::Unsafe(unsafety) = &sig.safety {
        cx.error_at(
            unsafety,
            "remove `unsafe`: its caller answers for the state at the time of the call, and the \
             body may run later, after a wait, or not at all; put an `unsafe` block into the body",
        );
    }
    if let Some(abi) = &sig.abi {
        cx.error_at(
            abi,
            "remove `extern`: a caller in another language cannot await an idempotent function; \
             export a function that calls it",
        );
    }
    if let Some(variadic) = &sig.variadic {
        cx.error_at(
            variadic,
            "remove `...`: arguments without types cannot be kept until the body runs",
        );
    }
    if let Body::Absent(semi) = &function.body {
        cx.error_at(
            semi,
            "there is no body to run here: put `#[idempotent]` on the method in each `impl`, or \
             give this one a body",
        );
    } else if sig.asyncness.is_none() && sig.constness.is_none() {
        not_async(cx, function);
    }
}

fn is_ours(attr: &Attribute) -> bool {
    attr.path().segments.last().is_some_and(|last| last.ident == "idempotent")
}

fn not_async(cx: &Ctxt, function: &Function) {
    let sig = &function.sig;
    if returns_boxed_future(sig) {
        cx.error_at(
            &sig.ident,
            "this returns a boxed future, as methods under `#[async_trait]` do by the time \
             `#[idempotent]` sees them: put `#[idempotent]` on an `async fn` in an `impl` of the \
             type's own, and call that from here; or make it an `async fn` of the trait, without \
             `#[async_trait]`",
        );
    } else if made_sync(function) {
        cx.error_at(
            &sig.ident,
            "write `async fn`; or, if it says so, put the attribute that has taken the `async` \
             away below `#[idempotent(…)]`, as `#[tokio::test]` and `#[tokio::main]` have to be",
        );
    } else {
        cx.error_at(
            sig.fn_token,
            "write `async fn`: an idempotent function waits for its store and for other callers",
        );
    }
}

/// `Pin<Box<dyn Future<…>>>`, under whatever path.
fn returns_boxed_future(sig: &Signature) -> bool {
    let ReturnType::Type(_, output) = &sig.output else {
        return false;
    };
    let boxed = inside("Pin", output).and_then(|boxed| inside("Box", boxed));
    let Some(Type::TraitObject(object)) = boxed else {
        return false;
    };
    object.bounds.iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => {
            let last = bound.path.segments.last();
            last.is_some_and(|last| last.ident == "Future")
        }
        _ => false,
    })
}

fn inside<'a>(name: &str, ty: &'a Type) -> Option<&'a Type> {
    let (segment, mut args) = last_segment_with_args(ty)?;
    if segment == name { args.next() } else { None }
}

/// `#[tokio::test]` and its like leave a `#[test]` and a `block_on` around what was the body.
fn made_sync(function: &Function) -> bool {
    let is_test =
        |attr: &Attribute| attr.path().segments.last().is_some_and(|last| last.ident == "test");
    let Body::Present { statements, .. } = &function.body else {
        return false;
    };
    let block_on = syn::Ident::new("block_on", function.sig.ident.span());
    function.attrs.iter().any(is_test) || item::mentions(statements.clone(), &block_on)
}
