//! Ids of messages, as the server gives them.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The id of a message in its stream: when it was added by the server's clock, in milliseconds, and a
/// number that tells those of one millisecond apart. Ordered as the stream is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    millis: u64,
    sequence: u64,
}

impl MessageId {
    pub(super) const ZERO: Self = Self { millis: 0, sequence: 0 };

    /// The id with these two numbers.
    #[must_use]
    pub const fn new(millis: u64, sequence: u64) -> Self {
        Self { millis, sequence }
    }

    /// The last id before this one.
    pub(super) fn before(self) -> Self {
        match (self.millis, self.sequence) {
            (0, 0) => self,
            (millis, 0) => Self { millis: millis - 1, sequence: u64::MAX },
            (millis, sequence) => Self { millis, sequence: sequence - 1 },
        }
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok()?.parse().ok()
    }
}

/// What is no id of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an id of a message is two numbers with a `-` between them")]
pub struct InvalidMessageId;

impl FromStr for MessageId {
    type Err = InvalidMessageId;

    fn from_str(text: &str) -> Result<Self, InvalidMessageId> {
        let number = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten().ok_or(InvalidMessageId)
        };
        let (millis, sequence) = text.split_once('-').ok_or(InvalidMessageId)?;
        Ok(Self { millis: number(millis)?, sequence: number(sequence)? })
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.millis, self.sequence)
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_as_it_is_written() {
        for id in [MessageId::new(0, 0), MessageId::new(1_796_039_757_420, 17)] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for text in ["", "1", "1-", "-1", "+1-1", "1-2-3", "1-x", "99999999999999999999-0"] {
            assert_eq!(text.parse::<MessageId>(), Err(InvalidMessageId), "{text}");
        }
    }

    #[test]
    fn ids_are_ordered_as_numbers() {
        assert!(MessageId::new(9, 9) < MessageId::new(10, 0));
        assert!(MessageId::new(10, 2) < MessageId::new(10, 10));
    }

    #[test]
    fn before_an_id_is_the_one_that_ends_where_it_begins() {
        assert_eq!(MessageId::new(5, 3).before(), MessageId::new(5, 2));
        assert_eq!(MessageId::new(5, 0).before(), MessageId::new(4, u64::MAX));
        assert_eq!(MessageId::ZERO.before(), MessageId::ZERO);
    }
}
