//! How far it is, on a terminal; nothing in a pipe.

use std::fmt;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::complain;

/// Clones are handles to the same.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    verbose: bool,
}

impl Progress {
    /// Over so many reports.
    pub(crate) fn new(reports: u16, verbose: bool) -> Self {
        let bar = ProgressBar::new(reports.into());
        // A template that is not understood is no reason to do without progress.
        let style = ProgressStyle::with_template("{bar:24} {pos} of {len} reports, {elapsed}");
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar, verbose }
    }

    pub(crate) fn one_more(&self) {
        self.bar.inc(1);
    }

    /// Says on standard error what has happened, if that was asked for.
    pub(crate) fn tell(&self, what: fmt::Arguments<'_>) {
        if self.verbose {
            self.bar.suspend(|| complain(what));
        }
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
