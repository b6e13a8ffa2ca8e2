#![deny(warnings)]

use idem_runtime::{Error, idempotent};

use std::sync::Mutex;

struct Shop {
    idem: idem_runtime::Idem,
    next: Mutex<u64>,
}

async fn find(order: &str) -> Result<Option<u64>, Error> {
    Ok(Some(order.len() as u64))
}

impl Shop {
    // The lock is held for the key's own statement, `?` and `.await` work, and nothing is moved.
    #[idempotent(
        name = "expression_errors.charge",
        key = *self.next.lock().unwrap(),
        fingerprint = (find(&order).await?, &order),
        runtime = self.idem,
        on_crash = reconcile(find(&order)),
    )]
    async fn charge(&self, order: String) -> Result<u64, Error> {
        drop(order);
        tokio::task::yield_now().await;
        Ok(*self.next.lock().unwrap())
    }
}

fn send<T: Send>(future: T) -> T {
    future
}

#[test]
fn compiles() {
    let shop = Shop { idem: idem(), next: Mutex::new(1) };
    drop(send(shop.charge(String::new())));
}

fn idem() -> idem_runtime::Idem {
    idem_runtime::Idem::builder().backend(idem_runtime::MemoryBackend::new()).build().unwrap()
}
