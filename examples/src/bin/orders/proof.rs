//! The proof: each order has one bill, none is pending, none is dead.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::order::{Bill, Order};
use crate::stream::Look;
use crate::told::Told;

/// Faults that are listed one by one.
const LISTED: usize = 20;

pub(crate) struct Proof {
    ledger: PathBuf,
    orders: u32,
    bills: usize,
    twice: usize,
    missing: usize,
    look: Look,
    kills: u32,
    told: Told,
    faults: Vec<String>,
}

/// What there was to do, and what the server has in the end.
pub(crate) struct Done {
    pub(crate) batch: String,
    pub(crate) orders: u32,
    pub(crate) look: Look,
    pub(crate) kills: u32,
    pub(crate) told: Told,
}

impl Proof {
    /// Reads the ledger and judges it.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn of(ledger: &Path, done: Done) -> Result<Self> {
        let text = fs::read_to_string(ledger);
        let text = text.with_context(|| format!("cannot read the ledger {}", ledger.display()))?;
        let Done { batch, orders, look, kills, told } = done;
        let mut faults = Vec::new();
        let billed = billed(&batch, orders, &text, &mut faults);
        for (order, by) in &billed {
            match &by[..] {
                [] => faults.push(format!("order {order} was not billed")),
                [_] => {}
                [..] => faults.push(format!(
                    "order {order} was billed {} times: by {}",
                    by.len(),
                    by.join(", ")
                )),
            }
        }
        let Look { left, pending, dead, .. } = look;
        if left > 0 {
            faults.push(format!("{left} orders are not done, {pending} of them pending"));
        }
        if dead > 0 {
            faults.push(format!("{dead} orders are in the dead letters"));
        }
        let count = |is: fn(usize) -> bool| billed.values().filter(|by| is(by.len())).count();
        let (twice, missing) = (count(|times| times > 1), count(|times| times == 0));
        let (ledger, bills) = (ledger.to_owned(), text.lines().count());
        Ok(Self { ledger, orders, bills, twice, missing, look, kills, told, faults })
    }

    pub(crate) fn holds(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Who has billed each order, by the ledger.
fn billed(
    batch: &str,
    orders: u32,
    ledger: &str,
    faults: &mut Vec<String>,
) -> BTreeMap<String, Vec<String>> {
    let orders = (0..orders).map(|nth| (Order::nth(batch, nth).id, Vec::new()));
    let mut billed: BTreeMap<_, _> = orders.collect();
    for line in ledger.lines() {
        let bill = serde_json::from_str(line).ok();
        match bill.and_then(|bill: Bill| Some((billed.get_mut(&bill.order)?, bill.by))) {
            Some((by, consumer)) => by.push(consumer),
            None => faults.push(format!("a line is no bill of these orders: {line}")),
        }
    }
    billed
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ledger, orders, bills, twice, missing, look, kills, told, faults } = self;
        let Told { renewed, reclaimed, lost, failed, reconciled, replayed, .. } = told;
        writeln!(f, "ledger {}: {bills} lines", ledger.display())?;
        writeln!(
            f,
            "{orders} orders: {bills} bills, {twice} more than once, {missing} not billed, {} pending, {} dead",
            look.pending, look.dead
        )?;
        writeln!(
            f,
            "{kills} consumers killed: {reclaimed} orders reclaimed, {renewed} renewed, {lost} lost"
        )?;
        writeln!(
            f,
            "{failed} deliveries failed, {reconciled} bills were found in the ledger, {replayed} were \
             known to be there"
        )?;
        for fault in faults.iter().take(LISTED) {
            writeln!(f, "! {fault}")?;
        }
        if faults.len() > LISTED {
            writeln!(f, "! and {} more", faults.len() - LISTED)?;
        }
        if !faults.is_empty() {
            return writeln!(f, "not proved: {} faults", faults.len());
        }
        writeln!(f, "proved: every order was billed once, none is pending, none is dead")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bill(nth: u32) -> String {
        let order = Order::nth("b", nth);
        let bill = Bill { order: order.id, cents: order.cents, by: format!("c{nth}") };
        serde_json::to_string(&bill).expect("JSON") + "\n"
    }

    /// The faults of three orders with this ledger.
    fn faults(lines: &[String], look: Look) -> Vec<String> {
        let ledger = tempfile::NamedTempFile::new().expect("a file");
        fs::write(ledger.path(), lines.concat()).expect("it is written");
        let (batch, told) = ("b".to_owned(), Told::default());
        let done = Done { batch, orders: 3, look, kills: 0, told };
        let proof = Proof::of(ledger.path(), done).expect("a ledger");
        assert_eq!(proof.holds(), proof.to_string().contains("\nproved: "), "{proof}");
        assert_ne!(proof.holds(), proof.to_string().contains("\n! "), "{proof}");
        proof.faults
    }

    #[test]
    fn a_bill_for_each_order_is_what_is_wanted() {
        assert_eq!(faults(&[bill(2), bill(0), bill(1)], Look::default()), [""; 0]);
    }

    #[test]
    fn a_bill_too_many_and_one_too_few_are_told() {
        assert_eq!(
            faults(&[bill(0), bill(1), bill(1)], Look::default()),
            ["order b-000001 was billed 2 times: by c1, c1", "order b-000002 was not billed"]
        );
    }

    #[test]
    fn a_line_that_is_torn_or_of_another_order_is_told() {
        for line in [bill(3), bill(0)[..20].to_owned()] {
            let told = format!("a line is no bill of these orders: {}", line.trim_end());
            assert_eq!(faults(&[bill(0), bill(1), bill(2), line], Look::default()), [told]);
        }
    }

    #[test]
    fn what_the_server_still_has_is_told() {
        let all = [bill(0), bill(1), bill(2)];
        let look = Look { left: 2, pending: 1, dead: 1, ..Look::default() };
        assert_eq!(
            faults(&all, look),
            ["2 orders are not done, 1 of them pending", "1 orders are in the dead letters"]
        );
    }
}
