//! The `#[idempotent]` attribute of idem. Use it through `idem_runtime`, which it expands to.

mod args;
mod blocking;
mod check;
mod ctxt;
mod duration;
mod expand;
mod invisible;
mod item;
mod key;
mod names;
mod policy;
#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;

use crate::{args::Args, ctxt::Ctxt, item::Function};

/// Makes an async function safe to call again: calls with the same key run once and get the same
/// answer.
///
/// ```
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Receipt { cents: u64 }
/// # struct Order { id: u64, cents: u64, currency: String }
/// # #[derive(Debug, thiserror::Error)]
/// # enum ChargeError {
/// #     #[error("the amount is zero")] Zero,
/// #     #[error(transparent)] Idempotency(#[from] idem_runtime::Error),
/// # }
/// use idem_runtime::idempotent;
///
/// // Outcomes are stored under `name`. With one, the function may be renamed and moved to another
/// // module, and the calls of yesterday are still known; without, it goes by its path,
/// // `shop.payments.charge`, and they are not.
/// #[idempotent(
///     name = "payments.charge",
///     key = order.id,
///     fingerprint = (order.cents, &order.currency),
/// )]
/// async fn charge(order: &Order) -> Result<Receipt, ChargeError> {
///     if order.cents == 0 {
///         return Err(ChargeError::Zero);
///     }
///     Ok(Receipt { cents: order.cents })
/// }
/// ```
///
/// The function is async and returns a `Result` whose `Ok` is `Serialize + DeserializeOwned` and
/// whose `Err` has `From<idem_runtime::Error>`, since a call that is refused has to say so.
/// Everything else stays what it was: its arguments (borrowed, generic, `impl Trait`, patterns),
/// every form of `self`, attributes, docs, visibility. The future is `Send` exactly when the body
/// and its output are, and a few bytes larger than its arguments.
///
/// # Arguments
///
/// | argument | | default |
/// | --- | --- | --- |
/// | `key` | what makes two calls the same call: an expression of a type with `ToKey`, or a template | required |
/// | `name` | the operation; ASCII letters, digits, `.`, `_`, `-`, `/` | the function's path; a method has to have one |
/// | `lease` | how long a reservation outlives its owner's last sign of life; 100 ms to 24 h | the `Idem`'s |
/// | `ttl` | how long an outcome is kept; at least the lease | the `Idem`'s |
/// | `deadline` | the longest the body may run; at least the lease | none |
/// | `retention` | how long `on_crash = refuse` and `reconcile` remember a crash | 24 h |
/// | `fingerprint` | what has to agree when a key is used again; anything `Serialize` | nothing |
/// | `on_duplicate` | `wait`, `wait("10s")`, `reject` | `wait` |
/// | `on_error` | `release`, `store`, `store_if(path)` | `release` |
/// | `on_lost` | `finish`, `cancel`, `ignore` | `finish` |
/// | `on_drop` | `hold`, `release`, `detach` | `hold` |
/// | `on_crash` | `rerun`, `refuse`, `reconcile(expr)` | `rerun` |
/// | `on_outage` | `refuse`, `run` | `refuse` |
/// | `codec` | `messagepack`, `bincode`, `json`, the path of a `Codec` | `messagepack` |
/// | `version` | a number to raise when stored values change their meaning | 0 |
/// | `runtime` | an expression: the `Idem` to use | the one in scope, or installed |
/// | `crate` | the path of a re-exported `idem_runtime` | `::idem_runtime` |
/// | `allow(blocking)` | accepts calls that block | |
///
/// Durations are literals: `"500ms"`, `"30s"`, `"5m"`, `"24h"`, `"7d"`.
///
/// # Keys
///
/// `key = "{tenant}/{order.id}"` is a template. It looks like `format!` and is not: each argument
/// goes through `ToKey`, and separators inside of one are escaped, so that `a/b` + `c` and `a` +
/// `b/c` are different keys. It takes names and their fields, no format specs. A tuple does the
/// same for any expressions: `key = (tenant, order.id())`.
///
/// A literal that names no argument, `key = "order.id"`, is refused: nearly always its quotes or
/// the missing braces are a slip, and every call would be the same call. Where that is meant, a
/// constant says so: `key = const { "nightly" }`, or `key = NIGHTLY`.
///
/// Key and fingerprint are computed once, before anything is reserved and before the body moves an
/// argument. They may borrow, `.await`, use `?`, and hold a lock for the length of their own
/// statement.
///
/// A generic function has one key space for all its types. If a parameter decides what is returned,
/// the key has to mention it: `key = (T::KIND, id)`.
///
/// # Names
///
/// Two functions with one `name` are one operation: they share their outcomes, and a call of one is
/// answered with what the other stored under its key. Nothing can tell that this was not meant, so
/// see to it that a `name` is given once, across all programs that share a store.
///
/// Without a `name`, an operation goes by the path of its module and the function's name:
/// `shop.payments.charge`. The attribute cannot see which type a function belongs to, so for two
/// types of one module that would be the same operation, and each would be given the other's
/// results. A function with a receiver (`self` in any form) is therefore refused without a `name`.
///
/// An associated function without a receiver looks like any other function and is not refused. It
/// is in the same danger, and so is a function inside another function, whose name the path leaves
/// out as well: where a module may have two such functions of one name, give each a `name`. The
/// same goes for a method of a trait: all types that take its default body share its `name`, so the
/// key has to say which type it is, as in `key = (Self::KIND, id)`.
///
/// ```
/// # use idem_runtime::{Error, idempotent};
/// struct Card;
///
/// impl Card {
///     #[idempotent(name = "payments.cards.charge", key = order)]
///     async fn charge(&self, order: u64) -> Result<u64, Error> {
///         Ok(order)
///     }
/// }
/// ```
///
/// # Policies
///
/// `on_error = store_if(path)` takes the path of a function `fn(&E) -> bool`. Where it says `true`,
/// the error is stored and replayed like a value, so that `E` is `Serialize + DeserializeOwned`;
/// where it says `false`, the key is freed and the next call runs.
///
/// `on_crash = reconcile(expr)` asks whether the effect of an owner that vanished happened. `expr`
/// is an async expression over the arguments that gives `Result<Option<T>, E>`, where `T` is what
/// the function returns as `Ok` and `E` is `Display`. Do not await it yourself: it is awaited only
/// after a crash, and before the body.
///
/// | answer | |
/// | --- | --- |
/// | `Ok(Some(value))` | it happened, with this value, which becomes the outcome |
/// | `Ok(None)` | it did not happen: the body runs |
/// | `Err(error)` | the call fails with `OutcomeUnknown`; the next one, once this one's lease has ended, asks again |
///
/// ```
/// # use idem_runtime::{Error, idempotent};
/// # struct Gateway;
/// # impl Gateway {
/// #     async fn find(&self, order: u64) -> Result<Option<u64>, std::io::Error> { Ok(Some(order)) }
/// #     async fn charge(&self, order: u64) -> u64 { order }
/// # }
/// #[idempotent(name = "payments.charge", key = order, on_crash = reconcile(gateway.find(order)))]
/// async fn charge(gateway: &Gateway, order: u64) -> Result<u64, Error> {
///     Ok(gateway.charge(order).await)
/// }
/// ```
///
/// `on_drop = detach` runs the body as a task of its own, which ends whether or not its caller
/// waits for it. The task outlives what its caller has borrowed: the arguments, `self` and the
/// result are owned (`self: Arc<Self>` is) and `Send`, and the call is made within a tokio runtime.
///
/// `on_drop` also says what becomes of the key when the body panics or runs past its `deadline`.
/// With `release`, the key is freed at once. With `hold` and `detach` the effect may be out: the key
/// stays taken until the lease ends, and `on_crash` decides about the next call. The panic goes on
/// to the caller; past the deadline, the body is dropped at its next await, detached or not, and the
/// caller gets `DeadlineExceeded`.
///
/// # Blocking calls
///
/// A body that blocks its thread stops the other futures there. The calls that are most often
/// behind that (`std::thread::sleep`, `std::fs`, `block_on`, …) are refused, each with its async
/// counterpart, unless they are inside `spawn_blocking`. The check sees full paths, names that a
/// `use` inside the body brings in, closures, and the arguments of common macros. It does not see
/// names imported outside of the body, and it does not look into helper functions.
///
/// # Expansion
///
/// `cargo expand` shows it: begin, and then run the body while the lease is renewed, and complete.
/// The body is in there once, unchanged, and errors in it are reported in it. All that the
/// attribute itself has to say about one function is reported in one go.
#[proc_macro_attribute]
pub fn idempotent(
    args: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    generate(args.into(), item.into()).into()
}

/// The attribute as an ordinary function: parse, check, expand.
///
/// The item is in what comes out even if it is refused, so that whoever calls it sees no second
/// error, and an editor keeps its completions.
fn generate(args: TokenStream, item: TokenStream) -> TokenStream {
    expanded(args, item.clone()).unwrap_or_else(|errors| {
        let mut tokens = errors.into_compile_error();
        tokens.extend(item);
        tokens
    })
}

fn expanded(args: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let cx = Ctxt::new();
    let args = Args::parse(&cx, invisible::visible(args));
    let function = syn::parse2::<Function>(invisible::visible_signature(item))
        .map_err(|error| {
            let message = format!("`#[idempotent]` goes on an `async fn`: {error}");
            cx.error(syn::Error::new(error.span(), message));
        })
        .ok();
    let parts = function.as_ref().and_then(|function| check::check(&cx, &args, function));
    cx.check()?;
    let (Some(function), Some(parts)) = (&function, parts) else {
        unreachable!("what is missing has been reported")
    };
    Ok(expand::expand(&args, function, &parts))
}
