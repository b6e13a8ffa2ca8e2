//! What the caller's future is: `Send` exactly when the body and its output are, and as small as the arguments.
#![deny(warnings)]

use std::{cell::Cell, rc::Rc};

use idem_runtime::{Error, idempotent};

struct Order {
    id: u64,
    cents: u64,
    lines: [u8; 1024],
}

#[idempotent(key = order.id, fingerprint = order.cents)]
async fn charge(order: Order) -> Result<u64, Error> {
    tokio::task::yield_now().await;
    Ok(order.cents)
}

#[idempotent(key = 1)]
async fn moved(order: Order) -> Result<usize, Error> {
    tokio::task::yield_now().await;
    let lines = order.lines;
    Ok(lines.len())
}

#[idempotent(key = count.get())]
async fn local(count: Rc<Cell<u64>>) -> Result<u64, Error> {
    count.set(count.get() + 1);
    tokio::task::yield_now().await;
    Ok(count.get())
}

#[idempotent(key = "{count}", fingerprint = charge(Order { id: 1, cents: 1, lines: [0; 1024] }).await?)]
async fn awaits_before(count: u64) -> Result<u64, Error> {
    Ok(count)
}

fn send<F: Future + Send>(future: F) -> F {
    future
}

fn order() -> Order {
    Order { id: 1, cents: 1, lines: [0; 1024] }
}

fn main() {
    const MOST: usize = size_of::<Order>() + 64;
    let future = send(charge(order()));
    assert!(size_of_val(&future) <= MOST, "{}", size_of_val(&future));
    drop(future);
    let future = send(moved(order()));
    assert!(size_of_val(&future) <= MOST, "{}", size_of_val(&future));
    drop(future);
    drop(send(awaits_before(1)));
    // Not `Send`, and no less usable.
    drop(local(Rc::new(Cell::new(1))));
}
