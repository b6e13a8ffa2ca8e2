//! An owner: 16 random bytes, new for every attempt.

use std::cell::Cell;
use std::fmt;

/// Who holds a reservation: random, new for every attempt, compared for equality only.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Owner([u8; 16]);

impl Owner {
    /// An owner that no other attempt has.
    ///
    /// Each thread draws 128 random bits from the system once and counts on from there: as unique
    /// as fresh randomness, at a fiftieth of its price on the path of every call. A process image
    /// that is copied while it runs, and resumed twice, repeats owners: start the process anew in
    /// each copy.
    ///
    /// # Panics
    /// If the operating system has no randomness to give, since an owner that could be guessed or
    /// met twice would void every promise.
    #[must_use]
    pub fn fresh() -> Self {
        thread_local!(static NEXT: Cell<u128> = Cell::new(seed()));
        Self(NEXT.with(|next| {
            let value = next.get();
            next.set(value.wrapping_add(1));
            value.to_be_bytes()
        }))
    }

    /// An owner that no other attempt has, and that nobody can guess from others: for what is handed out as
    /// an id.
    pub(crate) fn unguessable() -> Self {
        Self(seed().to_be_bytes())
    }

    /// The owner with exactly these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The owner's bytes, as they stand in a record.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

fn seed() -> u128 {
    let mut bytes = [0; 16];
    if let Err(error) = getrandom::fill(&mut bytes) {
        panic!("idem needs randomness from the operating system to tell owners apart: {error}");
    }
    u128::from_be_bytes(bytes)
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({:032x})", u128::from_be_bytes(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn owners_of_many_threads_are_all_different() {
        let threads: Vec<_> = (0..8)
            .map(|_| std::thread::spawn(|| (0..1_000).map(|_| Owner::fresh()).collect::<Vec<_>>()))
            .collect();
        let all: Vec<_> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }
}
