//! The return type, as far as its tokens tell more than a trait bound would.
//!
//! Whether it is a `Result`, and what its two sides implement, is for the bounds on `Call::new` to
//! say: aliases are common, and a bound sees through them. Here is what would otherwise come out as
//! a higher-ranked lifetime error, as an error inside the expansion, or, for nested options, as no
//! error at all.

use quote::ToTokens;
use syn::{
    GenericArgument, Ident, Lifetime, PathArguments, ReturnType, Type, TypeImplTrait, TypePath,
    TypeReference,
    visit::{self, Visit},
};

use crate::{args::Args, ctxt::Ctxt, item::Function, policy::Codec};

pub(super) fn check(cx: &Ctxt, args: &Args, function: &Function) {
    let sig = &function.sig;
    let output = match &sig.output {
        ReturnType::Type(_, output) => output,
        ReturnType::Default => {
            cx.error(syn::Error::new(
                sig.paren_token.span.close(),
                "the return type is missing: write `-> Result<T, E>`, where `E` has \
                 `From<idem_runtime::Error>`, so that a call that is refused can say so",
            ));
            return;
        }
    };
    // The boxed future that `#[async_trait]` makes is reported as such.
    if sig.asyncness.is_none() {
        return;
    }
    Opaque { cx }.visit_type(output);
    let sides = Sides::of(output);
    let ok = sides.as_ref().map_or(&**output, |sides| sides.ok);
    Owned { cx, or: "" }.visit_type(ok);
    let stored_error = sides.as_ref().and_then(|sides| sides.err).filter(|_| args.stores_errors());
    if let Some(err) = stored_error {
        Owned { cx, or: ", or say `on_error = release`" }.visit_type(err);
    }
    if let Type::Never(never) = ok {
        cx.error_at(
            never,
            "a function that never returns has no outcome to store: return an owned, serialisable \
             value, `()` if there is nothing to say",
        );
    }
    if let Some(codec) = reads_some_none_as_none(args) {
        let mut options = NestedOptions { cx, codec };
        options.visit_type(ok);
        if let Some(err) = stored_error {
            options.visit_type(err);
        }
    }
}

/// The two sides of a type that is called `Result`: `Result<T, E>`, `anyhow::Result<T>`.
pub(super) struct Sides<'a> {
    pub(super) ok: &'a Type,
    pub(super) err: Option<&'a Type>,
}

impl<'a> Sides<'a> {
    pub(super) fn of(output: &'a Type) -> Option<Self> {
        let (name, mut args) = last_segment_with_args(output)?;
        if name != "Result" {
            return None;
        }
        Some(Self { ok: args.next()?, err: args.next() })
    }
}

/// The last segment of a path and the types in its angle brackets.
pub(super) fn last_segment_with_args(ty: &Type) -> Option<(&Ident, impl Iterator<Item = &Type>)> {
    let Type::Path(TypePath { path, .. }) = peeled(ty) else {
        return None;
    };
    let segment = path.segments.last()?;
    let PathArguments::AngleBracketed(args) = &segment.arguments else {
        return None;
    };
    let types = args.args.iter().filter_map(|arg| match arg {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    Some((&segment.ident, types))
}

/// Without the parentheses, and without the invisible ones around what a `macro_rules!` macro was
/// given.
fn peeled(ty: &Type) -> &Type {
    match ty {
        Type::Paren(paren) => peeled(&paren.elem),
        Type::Group(group) => peeled(&group.elem),
        _ => ty,
    }
}

/// Finds `impl Trait`, which has no name that the expansion could write down.
struct Opaque<'a> {
    cx: &'a Ctxt,
}

impl<'ast> Visit<'ast> for Opaque<'_> {
    fn visit_type_impl_trait(&mut self, opaque: &'ast TypeImplTrait) {
        self.cx.error_at(
            opaque,
            "`impl Trait` hides the type that a duplicate would have to read back: return an \
             owned, serialisable value, and name its type",
        );
    }
}

/// Finds borrows. `DeserializeOwned` would refuse them as well, with "lifetime may not live long
/// enough" or "not general enough" and without a word about storing.
struct Owned<'a> {
    cx: &'a Ctxt,
    /// Another way out.
    or: &'static str,
}

impl<'ast> Visit<'ast> for Owned<'_> {
    fn visit_type_reference(&mut self, reference: &'ast TypeReference) {
        let owned = match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => "`String`".to_owned(),
            Type::Slice(slice) => format!("`Vec<{}>`", slice.elem.to_token_stream()),
            other => format!("`{}`", other.to_token_stream()),
        };
        self.cx.error_at(
            reference,
            format!(
                "this borrows, and a duplicate in another process has nothing to borrow from: \
                 return an owned, serialisable value, such as {owned}{}",
                self.or
            ),
        );
    }

    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        // A `Cow` is read back as its owned side, for any lifetime.
        if segment.ident == "Cow" {
            if let PathArguments::AngleBracketed(args) = &segment.arguments {
                args.args
                    .iter()
                    .filter(|arg| !matches!(arg, GenericArgument::Lifetime(_)))
                    .for_each(|arg| {
                        self.visit_generic_argument(arg);
                    });
            }
        } else {
            visit::visit_path_segment(self, segment);
        }
    }

    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident != "static" {
            self.cx.error_at(
                lifetime,
                format!(
                    "this type borrows, and a duplicate in another process has nothing to borrow \
                     from: return an owned, serialisable value, a type without a lifetime{}",
                    self.or
                ),
            );
        }
    }

    // What follows never is serialisable; the bound says so.
    fn visit_type_fn_ptr(&mut self, _: &'ast syn::TypeFnPtr) {}
    fn visit_type_trait_object(&mut self, _: &'ast syn::TypeTraitObject) {}
    fn visit_type_impl_trait(&mut self, _: &'ast TypeImplTrait) {}
}

/// The codec's name, if `Some(None)` would come back from it as `None`. A codec of the user's own
/// is the user's affair.
fn reads_some_none_as_none(args: &Args) -> Option<&'static str> {
    match args.codec.as_ref().map(|codec| &codec.value) {
        None | Some(Codec::MessagePack) => Some("MessagePack"),
        Some(Codec::Json) => Some("JSON"),
        Some(Codec::Bincode | Codec::Custom(_)) => None,
    }
}

/// Finds `Option<Option<…>>` and `Option<()>`.
struct NestedOptions<'a> {
    cx: &'a Ctxt,
    codec: &'static str,
}

impl<'ast> Visit<'ast> for NestedOptions<'_> {
    fn visit_type(&mut self, ty: &'ast Type) {
        let value = match last_segment_with_args(ty) {
            Some((outer, mut args)) if outer == "Option" => args.next().and_then(like_none),
            _ => None,
        };
        let Some(value) = value else {
            return visit::visit_type(self, ty);
        };
        self.cx.error_at(
            ty,
            format!(
                "{} writes `{value}` like `None`, so a duplicate would get another value than the \
                 first caller: return an enum with a variant for each case, or say `codec = \
                 bincode`",
                self.codec
            ),
        );
    }
}

/// The value of `Option<inner>` that is written like `None`.
fn like_none(inner: &Type) -> Option<&'static str> {
    match peeled(inner) {
        Type::Tuple(tuple) if tuple.elems.is_empty() => Some("Some(())"),
        inner => last_segment_with_args(inner)
            .filter(|(name, _)| *name == "Option")
            .map(|_| "Some(None)"),
    }
}
