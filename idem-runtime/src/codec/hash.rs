//! A 64-bit hash that is the same in every build and on every platform, for it is stored.

/// Good against chance, not against intent: nobody gains from a shape or a digest that agrees.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mix(u64);

impl Mix {
    pub(super) const fn new() -> Self {
        Mix(0x9e37_79b9_7f4a_7c15)
    }

    /// One to one in the state and in the word, so nothing that was mixed in is lost.
    #[inline]
    pub(super) const fn word(&mut self, word: u64) {
        let product = (self.0 ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.0 = product ^ (product >> 32);
    }

    /// A number of this kind, or a length; as one word, since kinds are few and far apart.
    #[inline]
    pub(super) const fn tagged(&mut self, kind: u8, value: u64) {
        self.word(value ^ (kind as u64).wrapping_mul(0xa24b_aed4_963e_e407));
    }

    #[inline]
    pub(super) fn bytes(&mut self, kind: u8, bytes: &[u8]) {
        self.tagged(kind, bytes.len() as u64);
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            // The length tells apart what the zeros would not.
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.word(u64::from_le_bytes(last));
        }
    }

    #[inline]
    pub(super) const fn finish(mut self) -> u64 {
        self.word(0);
        self.word(0);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Mix;

    fn of(bytes: &[u8]) -> u64 {
        let mut mix = Mix::new();
        mix.bytes(7, bytes);
        mix.finish()
    }

    /// Shapes are stored: another value here makes every stored result unreadable.
    #[test]
    fn values_are_pinned() {
        assert_eq!(Mix::new().finish(), 0x873e_6848_2833_18eb);
        assert_eq!(of(b""), 0x86c1_c50e_2519_c05a);
        assert_eq!(of(b"cents"), 0x8509_46a0_88c3_3a19);
        assert_eq!(of(b"a name of some length"), 0xb7ca_ed19_6e38_571b);
    }

    #[test]
    fn the_last_bytes_count() {
        assert_ne!(of(b"a"), of(b"a\0"));
        assert_ne!(of(b"12345678"), of(b"123456780"));
    }
}
