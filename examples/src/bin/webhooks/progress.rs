//! How far it is, on a terminal; nothing in a pipe.

use indicatif::{ProgressBar, ProgressStyle};

use crate::complain;
use crate::tally::Tally;

#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar over the bytes of the input, or a spinner where their number is not known.
    pub(crate) fn new(bytes: Option<u64>) -> Self {
        let (bar, template) = match bytes {
            Some(bytes) => (ProgressBar::new(bytes), "{bar:24} {percent:>3}%  {msg}"),
            None => (ProgressBar::new_spinner(), "{spinner} {elapsed}  {msg}"),
        };
        // A template that is not understood is no reason to do without progress.
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(bar.with_style(style))
    }

    pub(crate) fn read_up_to(&self, byte: u64) {
        self.0.set_position(byte);
    }

    pub(crate) fn show(&self, tally: &Tally) {
        if !self.0.is_hidden() {
            let (deliveries, handled, failed) = (tally.deliveries(), tally.handled, tally.failed());
            self.0.set_message(format!(
                "{deliveries} deliveries, {handled} handled, {failed} failed"
            ));
        }
    }

    /// Says something on standard error beside it.
    pub(crate) fn complain(&self, what: std::fmt::Arguments<'_>) {
        self.0.suspend(|| complain(what));
    }

    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}
