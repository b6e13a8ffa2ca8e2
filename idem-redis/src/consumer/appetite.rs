//! How much is asked of the server at once.

use super::stream::Answer;

/// What is asked for at once: less after a reply that did not come, which may have been too large for the
/// time it has, and more again as replies come.
pub(super) struct Appetite {
    now: usize,
    most: usize,
}

impl Appetite {
    pub(super) fn new(most: usize) -> Self {
        Self { now: most, most }
    }

    /// So many of these.
    pub(super) fn of(&self, room: usize) -> usize {
        room.min(self.now)
    }

    /// So many were asked for, and what came of it.
    pub(super) fn learn<T>(&mut self, asked: usize, answer: &Answer<Vec<T>>) {
        match answer {
            Ok(messages) if messages.is_empty() => {}
            Ok(_) => self.now = (self.now + self.now / 8 + 1).min(self.most),
            Err(error) if error.is_answer() => {}
            Err(_) => self.now = (asked / 2).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use idem_runtime::BackendError;

    use super::*;

    #[test]
    fn less_is_asked_for_after_a_reply_that_did_not_come() {
        let mut appetite = Appetite::new(1_000);
        let silent = Err::<Vec<()>, _>(BackendError::unanswered("too large"));
        appetite.learn(500, &silent);
        assert_eq!((appetite.of(1_000), appetite.of(7)), (250, 7));
        for _ in 0..20 {
            appetite.learn(appetite.of(1_000), &silent);
        }
        assert_eq!(appetite.of(1_000), 1);
        appetite.learn(1, &Ok(vec![()]));
        assert_eq!(appetite.of(1_000), 2);
        appetite.learn(2, &Ok(Vec::<()>::new()));
        appetite.learn(2, &Err::<Vec<()>, _>(BackendError::answered("no right")));
        assert_eq!(appetite.of(1_000), 2);
        for _ in 0..100 {
            appetite.learn(1, &Ok(vec![()]));
        }
        assert_eq!(appetite.of(5_000), 1_000);
    }
}
