//! What a type asks for while it reads, as a hash: its shape, as far as a value shows it.

use super::guard::{Kind, Watch};
use super::hash::Mix;

/// These two are unlike the number of any kind.
const FIELD: u8 = 0xfe;
const CHOSEN: u8 = 0xff;

/// Hashes kinds, field names and the names of the variants that were chosen; no name of a type, and
/// nothing about variants that were not chosen.
///
/// So two types have one shape for a value exactly if they ask for the same things in the same
/// order. A name stands for its field: the bytes hold none, so fields that changed places or names
/// would be read for each other.
#[derive(Debug)]
pub(super) struct Shape {
    mix: Mix,
    /// The variants of the enum whose chosen one comes next.
    choice: Option<&'static [&'static str]>,
    /// How much may still be asked for.
    left: usize,
}

impl Shape {
    /// The shape of what is read from so many bytes.
    ///
    /// Elements that take no bytes, like units, could be had without end from one damaged length;
    /// so what may be asked for is bounded by the bytes, more than generously.
    pub(super) fn of_bytes(len: usize) -> Self {
        Shape { mix: Mix::new(), choice: None, left: (64 * 1024 + len).saturating_mul(64) }
    }

    pub(super) fn finish(&self) -> u64 {
        self.mix.finish()
    }
}

impl Watch for Shape {
    #[inline]
    fn asks(&mut self, kind: Kind, len: usize) -> Result<(), &'static str> {
        let Some(left) = self.left.checked_sub(1) else {
            return Err("more elements than its bytes can hold");
        };
        self.left = left;
        self.mix.tagged(kind as u8, len as u64);
        Ok(())
    }

    #[inline]
    fn fields(&mut self, names: &'static [&'static str]) {
        for name in names {
            self.mix.bytes(FIELD, name.as_bytes());
        }
    }

    #[inline]
    fn variants(&mut self, names: &'static [&'static str]) {
        self.choice = Some(names);
    }

    #[inline]
    fn number(&mut self, number: u32) {
        // A number that names no variant is refused by the type itself.
        let names = self.choice.take().unwrap_or_default();
        if let Some(name) = names.get(number as usize) {
            self.mix.bytes(CHOSEN, name.as_bytes());
        }
    }
}
