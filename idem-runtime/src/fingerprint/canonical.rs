//! The bytes that a fingerprint is the hash of.
//!
//! Every value begins with a tag, and one can tell from what follows where it ends: numbers and
//! texts carry their length, sequences and maps end with a tag that begins no value. So two
//! different values have different bytes, and neither begins with the other's. A map's entries are
//! sorted by their bytes, and a struct is a map.
//!
//! Stored fingerprints depend on every byte here.

use serde::Serialize;

use super::FingerprintError;

/// How deep a value may be nested.
pub(super) const MAX_DEPTH: u32 = 128;

pub(super) mod tag {
    pub(crate) const UNIT: u8 = 0x01;
    pub(crate) const NONE: u8 = 0x02;
    pub(crate) const SOME: u8 = 0x03;
    pub(crate) const FALSE: u8 = 0x04;
    pub(crate) const TRUE: u8 = 0x05;
    pub(crate) const FLOAT: u8 = 0x06;
    pub(crate) const CHAR: u8 = 0x07;
    pub(crate) const STR: u8 = 0x08;
    pub(crate) const BYTES: u8 = 0x09;
    /// A variant: its name, then its content.
    pub(crate) const VARIANT: u8 = 0x0a;
    pub(crate) const SEQ: u8 = 0x0b;
    pub(crate) const MAP: u8 = 0x0c;
    pub(crate) const END: u8 = 0x0d;
    /// Plus the number of bytes that follow, 0 to 16.
    pub(crate) const POSITIVE: u8 = 0x20;
    /// The same, of -1 - n.
    pub(crate) const NEGATIVE: u8 = 0x40;
}

pub(super) fn bytes<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, FingerprintError> {
    let mut writer = Writer { out: Vec::with_capacity(128), entries: Vec::new(), depth: 0 };
    value.serialize(&mut writer)?;
    Ok(writer.out)
}

pub(super) struct Writer {
    pub(super) out: Vec<u8>,
    /// Where the entries of the open maps begin, the innermost map's last.
    entries: Vec<usize>,
    depth: u32,
}

impl Writer {
    pub(super) fn nested<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
    ) -> Result<(), FingerprintError> {
        if self.depth == MAX_DEPTH {
            return Err(FingerprintError::TooDeep);
        }
        self.depth += 1;
        value.serialize(&mut *self)?;
        self.depth -= 1;
        Ok(())
    }

    pub(super) fn magnitude(&mut self, tag: u8, value: u128) {
        let len = (128 - value.leading_zeros()).div_ceil(8) as u8;
        self.out.push(tag + len);
        self.out.extend_from_slice(&value.to_le_bytes()[..usize::from(len)]);
    }

    pub(super) fn text(&mut self, tag: u8, text: &[u8]) {
        self.out.push(tag);
        self.magnitude(0, text.len() as u128);
        self.out.extend_from_slice(text);
    }

    pub(super) fn variant(&mut self, name: &str) {
        self.text(tag::VARIANT, name.as_bytes());
    }

    pub(super) fn open(&mut self, tag: u8) -> Result<Open<'_>, FingerprintError> {
        self.out.push(tag);
        Ok(Open { first: self.entries.len(), writer: self })
    }

    /// Sorts the entries of the map that opened when there were `first` entries.
    fn sort(&mut self, first: usize) {
        let end = self.out.len();
        let entries = &self.entries[first..];
        let until = |at: usize| entries.get(at + 1).copied().unwrap_or(end);
        let entry = |at: usize| &self.out[entries[at]..until(at)];
        if (1..entries.len()).any(|at| entry(at - 1) > entry(at)) {
            let mut order: Vec<usize> = (0..entries.len()).collect();
            order.sort_unstable_by_key(|&at| entry(at));
            let sorted: Vec<u8> = order.iter().flat_map(|&at| entry(at)).copied().collect();
            let start = entries[0];
            self.out[start..].copy_from_slice(&sorted);
        }
        self.entries.truncate(first);
    }
}

/// A sequence or map that is being written.
pub(super) struct Open<'a> {
    writer: &'a mut Writer,
    /// How many entries the maps around it have so far.
    first: usize,
}

impl Open<'_> {
    pub(super) fn element<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
    ) -> Result<(), FingerprintError> {
        self.writer.nested(value)
    }

    pub(super) fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), FingerprintError> {
        self.writer.entries.push(self.writer.out.len());
        self.element(key)
    }

    pub(super) fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), FingerprintError> {
        self.writer.entries.push(self.writer.out.len());
        self.writer.text(tag::STR, name.as_bytes());
        self.writer.nested(value)
    }

    pub(super) fn close(self) {
        self.writer.sort(self.first);
        self.writer.out.push(tag::END);
    }
}
