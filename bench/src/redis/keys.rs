//! Keys that no call has had before, and the names of bare records that are as long as ours.

use idem_bench::Order;

use super::store::prefix;

/// A source of new orders.
#[derive(Default)]
pub(super) struct Keys {
    given: usize,
}

/// An order, and a name for what the bare commands keep of it.
pub(super) struct Keyed {
    pub(super) order: Order,
    pub(super) bare: String,
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
    let bare = format!("{}:bare.pays:{id}", prefix());
    Keyed { order: Order { id, cents: 4_200, currency: "EUR".to_owned() }, bare }
}
