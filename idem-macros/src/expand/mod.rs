//! The function with its expansion as the body. Everything has been checked before: nothing here
//! can fail.

mod call;
mod capture;
mod span;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{
    Expr, ExprAsync, ExprAwait, ExprClosure, ExprReference, ExprReturn, ExprTry, Macro, Token,
    Type, visit::Visit,
};

use self::{
    call::call,
    capture::whole_arguments,
    span::{mixed, mixed_at},
};
use crate::{
    args::Args,
    check::Parts,
    item::Function,
    key::{Key, Template},
    policy::OnCrash,
};

/// In:
/// ```text
/// #[idempotent(name = "payments.charge", key = order.id, fingerprint = order.cents)]
/// async fn charge(order: Order) -> Result<Receipt, ChargeError> { statements }
/// ```
/// Out:
/// ```text
/// async fn charge(order: Order) -> Result<Receipt, ChargeError> {
///     use ::idem_runtime::__private_v1 as __idem;
///     __idem::Box::pin(async move {
///         let __call = const {
///             &__idem::Call::<Result<Receipt, ChargeError>>::new::<__idem::MessagePack>(
///                 "payments.charge",
///             )
///         };
///         let __ident = __idem::ident(__call, &order.id);
///         let __ident = __ident.fingerprint(&order.cents);
///         match __call.begin(__ident).await {
///             __idem::Err(__refusal) => __refusal,
///             __idem::Ok(__idem::Begun::Replay(__outcome)) => __outcome,
///             __idem::Ok(__idem::Begun::Run(mut __lease)) => {
///                 match __lease.renew_while(async move { { statements } }).await {
///                     __idem::Ok(__outcome) => __lease.complete(__outcome).await,
///                     __idem::Err(__lost) => __lost,
///                 }
///             }
///         }
///     })
///     .await
/// }
/// ```
///
/// - Everything is boxed once, so that the caller's future stays as small as its arguments. That
///   goes for the key as well: what is borrowed outside of the box stays outside, even if it is
///   moved later.
/// - `const { & … }` rather than a `static`, which would know neither generics nor `Self`.
/// - The key and the fingerprint are statements of their own: what they borrow or lock is free
///   again before the body moves an argument, and before anything is reserved.
/// - Mixed-site spans keep the invented variables from meeting the user's variables, not from meeting
///   items: a pattern `lease` would be refused beside a `static lease`, so it is `__lease`.
/// - No `?`: which error a refusal turns into is settled by `Call`, in the declared type.
pub(crate) fn expand(args: &Args, function: &Function, parts: &Parts<'_>) -> TokenStream {
    let runtime = args.krate.as_ref().map_or_else(
        || quote_spanned!(mixed()=> ::idem_runtime),
        |krate| krate.0.to_token_stream(),
    );
    let call = call(args, function, parts.output);
    let ident = ident(args, parts);
    let begin = begin(args);
    let body = body(args, function, parts);
    let run = match args.detaches() {
        Some(detach) => detached(detach, &body),
        None => attached(&body),
    };
    function.with_body(&quote_spanned! {mixed()=>
        {
            use #runtime::__private_v1 as __idem;
            __idem::Box::pin(async move {
                let __call = const { &#call };
                #ident
                match #begin {
                    __idem::Err(__refusal) => __refusal,
                    __idem::Ok(__idem::Begun::Replay(__outcome)) => __outcome,
                    #run
                }
            })
            .await
        }
    })
}

/// In:  `key = order.id, fingerprint = (order.cents, &order.currency), runtime = self.idem`
/// Out:
/// ```text
/// let __ident = __idem::ident(__call, &order.id);
/// let __ident = __ident.fingerprint(&(order.cents, &order.currency));
/// let __ident = __ident.on(&self.idem);
/// ```
///
/// If one of them uses `?`, the box has to know what it returns.
fn ident(args: &Args, parts: &Parts<'_>) -> TokenStream {
    let key = match parts.key {
        Key::Expr(key) => borrowed(key),
        Key::Template(template) => template_key(template),
    };
    let mut ident = TokenStream::new();
    if args.prologue().any(may_return) {
        ident.extend(declared(parts.output));
    }
    ident.extend(quote_spanned!(mixed()=> let __ident = __idem::ident(__call, #key);));
    if let Some(fingerprint) = &args.fingerprint {
        let fingerprint = borrowed(fingerprint);
        ident.extend(quote_spanned!(mixed()=> let __ident = __ident.fingerprint(#fingerprint);));
    }
    if let Some(runtime) = &args.runtime {
        let runtime = borrowed(runtime);
        ident.extend(quote_spanned!(mixed()=> let __ident = __ident.on(#runtime);));
    }
    ident
}

/// In:  `order.id`, `a + b`
/// Out: `&order.id`, `&(a + b)`
fn borrowed(expr: &Expr) -> TokenStream {
    // The syntax tree, and not `quote!`, since it puts parentheses where they are needed.
    ExprReference {
        attrs: Vec::new(),
        and_token: Token![&](mixed_at(expr)),
        mutability: None,
        expr: Box::new(expr.clone()),
    }
    .into_token_stream()
}

/// In:  `self.gateway.find(&order.id)`
/// Out: `self.gateway.find(&order.id).await`
fn awaited(expr: &Expr) -> TokenStream {
    let at = mixed_at(expr);
    ExprAwait {
        attrs: Vec::new(),
        base: Box::new(expr.clone()),
        dot_token: Token![.](at),
        await_token: Token![await](at),
    }
    .into_token_stream()
}

/// In:  `"{tenant}/{order.id}"`
/// Out: `&__idem::Template::new(&["", "/", ""], &[&tenant, &order.id])`
fn template_key(template: &Template) -> TokenStream {
    let literals = &template.literals;
    let parts = &template.parts;
    let at = mixed().located_at(template.span);
    quote_spanned!(at=> &__idem::Template::new(&[#(#literals),*], &[#(&#parts),*]))
}

/// In:  `on_crash = reconcile(self.gateway.find(&order.id))`
/// Out: `__call.begin_reconciling(__ident, async { self.gateway.find(&order.id).await })`
///
/// An async block does nothing until it is polled, and `begin` polls it only if it finds a crash.
/// It borrows the arguments; the body, which may move them, comes after it is gone.
fn begin(args: &Args) -> TokenStream {
    match args.on_crash.as_ref().map(|policy| &policy.value) {
        Some(OnCrash::Reconcile(ask)) => {
            // All of it at one place, since rustc says what is wrong with the future both at the
            // call and at its `.await`, and drops the second only if it stands where the first
            // does.
            let asked = awaited(ask);
            quote_spanned!(mixed_at(ask)=> __call.begin_reconciling(__ident, async { #asked }).await)
        }
        _ => quote_spanned!(mixed()=> __call.begin(__ident).await),
    }
}

/// In:  `{ charge(order).await?; Ok(receipt) }`
/// Out:
/// ```text
/// async move {
///     if false {
///         return __idem::declared::<Result<Receipt, ChargeError>>();
///     }
///     let _ = (&order,);
///     {
///         charge(order).await?;
///         Ok(receipt)
///     }
/// }
/// ```
///
/// The body stands in braces of its own: what it declares (`use std::io::Result;`) ends at them, and
/// would otherwise be what the return type means.
fn body(args: &Args, function: &Function, parts: &Parts<'_>) -> TokenStream {
    let whole_arguments = whole_arguments(args, function, parts);
    let declared = declared(parts.output);
    let statements = parts.statements;
    quote_spanned! {mixed().located_at(parts.body)=>
        async move { #declared #whole_arguments { #statements } }
    }
}

/// An async block cannot declare its type. A dead `return` does so before rustc has seen anything
/// of what follows, which is then checked against it, so that a mistake in it is reported in it.
fn declared(output: &Type) -> TokenStream {
    quote_spanned!(mixed_at(output)=> if false { return __idem::declared::<#output>(); })
}

/// Whether `expr` may leave the block it stands in: by `?`, or by `return`.
fn may_return(expr: &Expr) -> bool {
    struct Leaves(bool);
    impl<'ast> Visit<'ast> for Leaves {
        fn visit_expr_try(&mut self, _: &'ast ExprTry) {
            self.0 = true;
        }
        fn visit_expr_return(&mut self, _: &'ast ExprReturn) {
            self.0 = true;
        }
        // What leaves these does not leave the block.
        fn visit_expr_async(&mut self, _: &'ast ExprAsync) {}
        fn visit_expr_closure(&mut self, _: &'ast ExprClosure) {}
        // May hold anything.
        fn visit_macro(&mut self, _: &'ast Macro) {
            self.0 = true;
        }
    }
    let mut leaves = Leaves(false);
    leaves.visit_expr(expr);
    leaves.0
}

fn attached(body: &TokenStream) -> TokenStream {
    quote_spanned! {mixed()=>
        __idem::Ok(__idem::Begun::Run(mut __lease)) => match __lease.renew_while(#body).await {
            __idem::Ok(__outcome) => __lease.complete(__outcome).await,
            __idem::Err(__lost) => __lost,
        },
    }
}

/// The task is spawned here, not when the caller's future is dropped: by then there may be no
/// runtime to spawn on.
///
/// A body or a result that cannot move to a task is reported at the word `detach`, once (see
/// [`begin`]).
fn detached(detach: Span, body: &TokenStream) -> TokenStream {
    let detached = quote_spanned!(mixed().located_at(detach)=> __lease.detach(#body).await);
    quote_spanned!(mixed()=> __idem::Ok(__idem::Begun::Run(__lease)) => #detached,)
}
