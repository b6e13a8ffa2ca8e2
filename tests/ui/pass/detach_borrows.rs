#![deny(warnings)]

use idem_runtime::{Error, idempotent};

use std::sync::Arc;

struct Shop;

impl Shop {
    #[idempotent(name = "detach_borrows.shared", key = order, on_drop = detach)]
    async fn shared(self: Arc<Self>, order: u64) -> Result<u64, Error> {
        Ok(order)
    }

    #[idempotent(name = "detach_borrows.arguments", key = name, on_drop = detach)]
    async fn arguments(
        self,
        name: String,
        kind: &'static str,
        map: fn(&str) -> usize,
    ) -> Result<usize, Error> {
        Ok(map(&name) + kind.len())
    }

    #[idempotent(name = "detach_borrows.borrowed", key = name, on_drop = hold)]
    async fn borrowed(&self, name: &str) -> Result<usize, Error> {
        Ok(name.len())
    }

    #[idempotent(key = T::from(1), on_drop = detach)]
    async fn generic<T: idem_runtime::ToKey + From<u8> + Send + 'static>(
        value: T,
    ) -> Result<(), Error> {
        drop(value);
        Ok(())
    }
}

#[test]
fn compiles() {
    drop((
        Arc::new(Shop).shared(1),
        Shop.arguments(String::new(), "", str::len),
        Shop.borrowed(""),
    ));
    drop(Shop::generic(1_u64));
}
