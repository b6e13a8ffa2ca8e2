//! What the caller's future is: `Send` exactly when the body and its output are, and as small as the
//! arguments, under every policy and whatever the body does with them.
#![deny(warnings)]

use std::{cell::Cell, rc::Rc};

use idem_runtime::{Error, idempotent};

struct Order {
    id: u64,
    cents: u64,
    lines: [u8; 1024],
}

async fn find(id: u64) -> Result<Option<u64>, Error> {
    Ok(Some(id))
}

/// One function for each way of using an argument.
macro_rules! functions {
    ($order:ident; $($name:ident: [$($args:tt)*];)*) => {
        $(mod $name {
            use super::*;

            #[idempotent($($args)*)]
            pub(super) async fn one_field($order: Order) -> Result<u64, Error> {
                tokio::task::yield_now().await;
                Ok($order.cents)
            }

            #[idempotent($($args)*)]
            pub(super) async fn moved($order: Order) -> Result<u64, Error> {
                tokio::task::yield_now().await;
                let lines = $order.lines;
                Ok(u64::from(lines[0]))
            }

            #[idempotent($($args)*)]
            pub(super) async fn changed(mut $order: Order) -> Result<u64, Error> {
                $order.cents += 1;
                tokio::task::yield_now().await;
                Ok($order.cents)
            }

            #[idempotent($($args)*)]
            pub(super) async fn taken_apart($order: Order) -> Result<u64, Error> {
                let Order { cents, .. } = $order;
                tokio::task::yield_now().await;
                Ok(cents)
            }

            #[idempotent($($args)*)]
            pub(super) async fn in_a_closure($order: Order) -> Result<u64, Error> {
                let cents = move || $order.cents;
                tokio::task::yield_now().await;
                Ok(cents())
            }
        })*

        /// The names and the sizes of the futures.
        fn sizes() -> Vec<(&'static str, usize)> {
            vec![$(
                (stringify!($name::one_field), size_of_val(&send($name::one_field(order())))),
                (stringify!($name::moved), size_of_val(&send($name::moved(order())))),
                (stringify!($name::changed), size_of_val(&send($name::changed(order())))),
                (stringify!($name::taken_apart), size_of_val(&send($name::taken_apart(order())))),
                (stringify!($name::in_a_closure), size_of_val(&send($name::in_a_closure(order())))),
            )*]
        }
    };
}

functions! { order;
    plain: [key = order.id, fingerprint = order.cents];
    template: [key = "{order.id}/{order.cents}"];
    awaits_before: [key = find(order.id).await?.unwrap_or(0), fingerprint = &order.lines[..]];
    detached: [key = order.id, on_drop = detach];
    reconciling: [key = order.id, on_crash = reconcile(find(order.id))];
    others: [key = 1, on_duplicate = wait("1s"), on_lost = cancel, on_drop = release, on_outage = run];
}

#[idempotent(key = count.get())]
async fn local(count: Rc<Cell<u64>>) -> Result<u64, Error> {
    count.set(count.get() + 1);
    tokio::task::yield_now().await;
    Ok(count.get())
}

fn send<F: Future + Send>(future: F) -> F {
    future
}

fn order() -> Order {
    Order { id: 1, cents: 1, lines: [0; 1024] }
}

#[test]
fn as_small_as_the_arguments() {
    let most = size_of::<Order>() + 64;
    let larger: Vec<_> = sizes().into_iter().filter(|(_, size)| *size > most).collect();
    assert_eq!(larger, [], "more than {most} bytes");
}

#[test]
fn not_send_and_no_less_usable() {
    drop(local(Rc::new(Cell::new(1))));
}
