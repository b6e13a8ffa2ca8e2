//! What a handler's error says.

use std::fmt;

/// Why a handler failed. Any error that can be shown becomes one, by `?` as well; it is shown in full, as
/// by `{:#}`.
///
/// ```
/// use idem_redis::consumer::{Failure, Message};
///
/// # #[derive(serde::Deserialize)] struct Order { cents: i64 }
/// async fn bill(order: Message<Order>) -> Result<(), Failure> {
///     let cents = u64::try_from(order.cents).map_err(Failure::dead)?;
///     println!("{cents}");
///     Ok(())
/// }
/// ```
pub struct Failure {
    text: String,
    is_final: bool,
}

impl Failure {
    /// One after which the message is not tried again: it goes to the dead letters at once, if there are
    /// any.
    pub fn dead(error: impl fmt::Display) -> Self {
        Self { is_final: true, ..Self::from(error) }
    }

    pub(super) fn is_final(&self) -> bool {
        self.is_final
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl<E: fmt::Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { text: format!("{error:#}"), is_final: false }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, is_final } = self;
        f.debug_struct("Failure").field("text", text).field("is_final", is_final).finish()
    }
}
