//! `Call`: what is fixed about a function's calls, put together while the user's crate compiles.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote_spanned};
use syn::{Ident, LitInt, Type, ext::IdentExt};

use super::span::{mixed, mixed_around, mixed_at};
use crate::{
    args::Args,
    duration::Duration,
    item::Function,
    policy::{Codec, OnCrash, OnDrop, OnDuplicate, OnError, OnLost, OnOutage},
};

/// In:  `lease = "30s", on_lost = cancel`
/// Out:
/// ```text
/// __idem::Call::<Result<Receipt, ChargeError>>::new::<__idem::MessagePack>("payments.charge")
///     .lease_ms(30_000u64)
///     .on_lost(__idem::OnLost::Cancel)
/// ```
///
/// All bounds on the return type stand on this constructor, so it is where the return type is.
pub(super) fn call(args: &Args, function: &Function, output: &Type) -> TokenStream {
    let name = name(args, function);
    let codec = codec(args);
    let which = which_errors(args, output);
    let settings = settings(args);
    let (first, last) = mixed_around(output);
    let constructor = match which {
        None => Ident::new("new", first),
        Some(_) => Ident::new("storing_errors", first),
    };
    let mut call = quote_spanned!(first=> __idem::Call::<#output>::#constructor::<#codec);
    call.extend(quote_spanned!(last=> >(#name #which) #settings));
    call
}

/// In:  `on_error = store`, `on_error = store_if(ChargeError::is_permanent)`
/// Out: `, __idem::None`, `, __idem::Some(ChargeError::is_permanent)`
fn which_errors(args: &Args, output: &Type) -> Option<TokenStream> {
    match &args.on_error.as_ref()?.value {
        OnError::Release => None,
        OnError::Store => {
            // rustc blames a missing bound on the argument whose type it is about, so this is at
            // the return type, too.
            let (first, last) = mixed_around(output);
            let mut all = quote_spanned!(first=> , __idem::);
            all.extend(quote_spanned!(last=> None));
            Some(all)
        }
        OnError::StoreIf(which) => Some(quote_spanned!(mixed_at(which)=> , __idem::Some(#which))),
    }
}

/// In:  `name = "payments.charge"`, or nothing above `fn charge`
/// Out: `"payments.charge"`, or `__idem::operation_name!("charge")`
///
/// The macro puts the module's path before the function's name.
fn name(args: &Args, function: &Function) -> TokenStream {
    match &args.name {
        Some(name) => name.0.to_token_stream(),
        None => {
            let function = function.sig.ident.unraw().to_string();
            quote_spanned!(mixed()=> __idem::operation_name!(#function))
        }
    }
}

fn codec(args: &Args) -> TokenStream {
    let Some(codec) = &args.codec else {
        return quote_spanned!(mixed()=> __idem::MessagePack);
    };
    let at = mixed().located_at(codec.span);
    match &codec.value {
        Codec::MessagePack => quote_spanned!(at=> __idem::MessagePack),
        Codec::Bincode => quote_spanned!(at=> __idem::Bincode),
        Codec::Json => quote_spanned!(at=> __idem::Json),
        Codec::Custom(path) => path.to_token_stream(),
    }
}

/// In:  `ttl = "24h", on_drop = release`
/// Out: `.ttl_ms(86_400_000u64).on_drop(__idem::OnDrop::Release)`
///
/// What is not written is not set: its default is the `Idem`'s.
fn settings(args: &Args) -> TokenStream {
    let mut settings = TokenStream::new();
    let mut set = |setting: TokenStream| settings.extend(setting);
    let at = mixed();
    if let Some(lease) = args.lease.map(milliseconds) {
        set(quote_spanned!(at=> .lease_ms(#lease)));
    }
    if let Some(ttl) = args.ttl.map(milliseconds) {
        set(quote_spanned!(at=> .ttl_ms(#ttl)));
    }
    if let Some(deadline) = args.deadline.map(milliseconds) {
        set(quote_spanned!(at=> .deadline_ms(#deadline)));
    }
    if let Some(retention) = args.retention.map(milliseconds) {
        set(quote_spanned!(at=> .retention_ms(#retention)));
    }
    if let Some(version) = args.version.as_ref().map(|version| version.0) {
        set(quote_spanned!(at=> .version(#version)));
    }
    policies(args, &mut set);
    settings
}

fn policies(args: &Args, set: &mut impl FnMut(TokenStream)) {
    let at = mixed();
    if let Some(policy) = &args.on_duplicate {
        let policy = match policy.value {
            OnDuplicate::Wait => quote_spanned!(at=> Wait),
            OnDuplicate::WaitFor(limit) => {
                let ms = milliseconds(limit);
                quote_spanned!(at=> WaitFor(__idem::Duration::from_millis(#ms)))
            }
            OnDuplicate::Reject => quote_spanned!(at=> Reject),
        };
        set(quote_spanned!(at=> .on_duplicate(__idem::OnDuplicate::#policy)));
    }
    if let Some(policy) = &args.on_lost {
        let policy = match policy.value {
            OnLost::Finish => quote_spanned!(at=> Finish),
            OnLost::Cancel => quote_spanned!(at=> Cancel),
            OnLost::Ignore => quote_spanned!(at=> Ignore),
        };
        set(quote_spanned!(at=> .on_lost(__idem::OnLost::#policy)));
    }
    if let Some(policy) = &args.on_drop {
        let policy = match policy.value {
            OnDrop::Hold => quote_spanned!(at=> Hold),
            OnDrop::Release => quote_spanned!(at=> Release),
            OnDrop::Detach => quote_spanned!(at=> Detach),
        };
        set(quote_spanned!(at=> .on_drop(__idem::OnDrop::#policy)));
    }
    if let Some(policy) = &args.on_crash {
        let policy = match policy.value {
            OnCrash::Rerun => quote_spanned!(at=> Rerun),
            OnCrash::Refuse => quote_spanned!(at=> Refuse),
            OnCrash::Reconcile(_) => quote_spanned!(at=> Reconcile),
        };
        set(quote_spanned!(at=> .on_crash(__idem::OnCrash::#policy)));
    }
    if let Some(policy) = &args.on_outage {
        let policy = match policy.value {
            OnOutage::Refuse => quote_spanned!(at=> Refuse),
            OnOutage::Run => quote_spanned!(at=> Run),
        };
        set(quote_spanned!(at=> .on_outage(__idem::OnOutage::#policy)));
    }
}

/// In:  `"30s"`
/// Out: `30_000u64`
fn milliseconds(duration: Duration) -> LitInt {
    let digits = duration.ms.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('_');
        }
        grouped.push(digit);
    }
    LitInt::new(&format!("{grouped}u64"), mixed().located_at(duration.span))
}
