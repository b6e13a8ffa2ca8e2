//! How far it is: a live table on a terminal, lines in a pipe.

use std::io::{self, IsTerminal};
use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

use crate::crew::Crew;
use crate::print;
use crate::stream::Look;
use crate::told::Told;

/// Between two lines in a pipe.
const LINES_EVERY: Duration = Duration::from_secs(1);

pub(crate) struct Show {
    since: Instant,
    /// `None`: in a pipe.
    live: Option<ProgressBar>,
    next_line: Instant,
}

/// How far it is.
pub(crate) struct State<'a> {
    pub(crate) crew: &'a Crew,
    pub(crate) look: &'a Look,
    pub(crate) orders: u32,
    pub(crate) added: u32,
    pub(crate) kills: u32,
}

impl Show {
    pub(crate) fn new() -> Self {
        let live = io::stdout().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
            // A template that is not understood is no reason to do without a table.
            let style = ProgressStyle::with_template("{msg}");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
        });
        let since = Instant::now();
        Self { since, live, next_line: since }
    }

    /// # Errors
    /// Standard output cannot be written to.
    pub(crate) fn state(&mut self, state: &State<'_>) -> Result<()> {
        if let Some(live) = &self.live {
            live.set_message(state.table());
            return Ok(());
        }
        let now = Instant::now();
        if now < self.next_line {
            return Ok(());
        }
        self.next_line = now + LINES_EVERY;
        self.say(&state.line())
    }

    /// Says what has happened, above the table.
    ///
    /// # Errors
    /// Standard output cannot be written to.
    pub(crate) fn say(&self, what: &str) -> Result<()> {
        let line = format!("{:>6.1} s  {what}", self.since.elapsed().as_secs_f64());
        match &self.live {
            Some(live) => {
                live.println(line);
                Ok(())
            }
            None => print(&format!("{line}\n")),
        }
    }

    /// The table stays where it is.
    ///
    /// # Errors
    /// Standard output cannot be written to.
    pub(crate) fn end(&self) -> Result<()> {
        let Some(live) = &self.live else { return Ok(()) };
        live.abandon();
        print("\n")
    }
}

impl State<'_> {
    fn all(&self) -> Told {
        let mut all = self.crew.gone().clone();
        self.crew.told().iter().for_each(|(_, told)| all.add(told));
        all
    }

    /// Orders that are done with, by the server's account.
    fn done(&self) -> u64 {
        u64::from(self.added).saturating_sub(self.look.left + self.look.dead)
    }

    fn line(&self) -> String {
        let Self { crew: _, look, orders: _, added, kills: _ } = self;
        let Told { in_hand, renewed, reclaimed, .. } = self.all();
        let waiting = look.left.saturating_sub(look.pending);
        format!(
            "{added} added, {waiting} waiting, {} pending, {in_hand} in hand, {renewed} renewed, \
             {reclaimed} reclaimed, {} dead, {} done",
            look.pending,
            look.dead,
            self.done(),
        )
    }

    fn table(&self) -> String {
        let Self { crew, look, orders, added, kills } = self;
        let mut lines = vec![format!(
            "{:<9}{:>8}{:>9}{:>9}{:>11}{:>12}{:>10}{:>5}{:>6}",
            "consumer",
            "pending",
            "in hand",
            "renewed",
            "reclaimed",
            "reconciled",
            "replayed",
            "dead",
            "done",
        )];
        let mut of_dead = look.pending;
        for (name, told) in crew.told() {
            let pending = look.pending_of.get(&told.name).copied().unwrap_or_default();
            of_dead = of_dead.saturating_sub(pending);
            lines.push(row(name, pending, &told));
        }
        lines.push(row("killed", of_dead, crew.gone()));
        let all = Told { dead: look.dead, done: self.done(), ..self.all() };
        lines.push(row("all", look.pending, &all));
        let waiting = look.left.saturating_sub(look.pending);
        lines.push(format!(
            "{added} of {orders} orders added, {waiting} waiting, consumers killed: {kills}"
        ));
        lines.join("\n")
    }
}

fn row(name: &str, pending: u64, told: &Told) -> String {
    let Told { in_hand, renewed, reclaimed, reconciled, replayed, dead, done, .. } = told;
    format!(
        "{name:<9}{pending:>8}{in_hand:>9}{renewed:>9}{reclaimed:>11}{reconciled:>12}{replayed:>10}\
         {dead:>5}{done:>6}"
    )
}
