//! Keys that no call has had before, and the names of bare records that are as long as ours.

use idem_bench::Order;

use super::store::prefix;

/// A source of new orders.
#[derive(Default)]
pub(super) struct Keys {
    given: usize,
}

/// An order, and names for what the bare commands and the same commands keep of it.
pub(super) struct Keyed {
    pub(super) order: Order,
    pub(super) bare: String,
    pub(super) same: String,
}

impl Keys {
    pub(super) fn take(&mut self, count: usize) -> Vec<Keyed> {
        let first = self.given;
        self.given += count;
        (first..self.given).map(keyed).collect()
    }
}

fn keyed(number: usize) -> Keyed {
    let id = format!("order-{number:08}");
    let [bare, same] = ["bare", "same"].map(|side| format!("{}:{side}.pays:{id}", prefix()));
    Keyed { order: Order { id, cents: 4_200, currency: "EUR".to_owned() }, bare, same }
}
