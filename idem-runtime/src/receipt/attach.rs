//! The worker's side of a run that came out of a queue.

use std::fmt::{self, Display};
use std::future::Future;

use super::run::RunStatus;
use super::run_id::RunId;
use super::worker::Worker;
use crate::bounds::Storable;
use crate::error::{Error, ErrorKind};
use crate::idem::Idem;
use crate::policy::OnLost;

/// A worker that is about to run something: [`Idem::attach`] makes one.
#[must_use = "nothing runs until `run` is called"]
pub struct Attach {
    idem: Idem,
    run: RunId,
    on_lost: Option<OnLost>,
}

/// What became of a run that a worker took on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "whether the queue's message is done with is what it says"]
#[non_exhaustive]
pub enum Ran<T, E> {
    /// It ran, and has ended with this.
    Ended(Result<T, E>),
    /// It ran, and waits to be tried again after this error.
    GivenBack(E),
    /// It did not run: another worker has it, it has ended, or nothing is known of it.
    NotStarted(RunStatus),
}

impl<T, E> Ran<T, E> {
    /// Whether the run has ended, so that the queue need not hand it out any more. Otherwise it should,
    /// not sooner than a lease later; likewise after an error of [`run`](Attach::run), unless that
    /// [`may_have_run`](Error::may_have_run): then it has ended here.
    ///
    /// A run that another worker has may yet be given back, by a worker that could not start it.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        match self {
            Self::Ended(_) => true,
            Self::GivenBack(_) => false,
            Self::NotStarted(status) => status.has_ended(),
        }
    }
}

impl Idem {
    /// Takes on a run that came out of a queue.
    ///
    /// ```
    /// # use idem_runtime::{Error, Idem, Ran, RunId};
    /// # async fn render() -> Result<String, Error> { Ok(String::new()) }
    /// # async fn example(idem: Idem, message: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let run: RunId = message.parse()?;
    /// let ran = idem.attach(run).run(async { render().await }).await?;
    /// if let Ran::NotStarted(status) = &ran {
    ///     println!("not here: {status}");
    /// }
    /// println!("done with the message: {}", ran.is_done());
    /// # Ok(()) }
    /// ```
    pub fn attach(&self, run: RunId) -> Attach {
        Attach { idem: self.clone(), run, on_lost: None }
    }
}

impl Attach {
    /// What becomes of the body when the run's lease is lost, which it also is when the run is
    /// cancelled: it finishes, and its result is not stored, or it is dropped at its next await.
    /// `Ignore` is as `Finish`. Default: the builder's.
    pub fn on_lost(mut self, on_lost: OnLost) -> Self {
        self.on_lost = Some(on_lost);
        self
    }

    /// Runs the run, under a lease that is renewed, and stores how it ends: with the value of `body`, or
    /// as failed with its error's text (its first 4 KiB). Inside, [`lease()`](crate::lease) is that of the run. Of all
    /// workers that are handed a run, one starts it.
    ///
    /// A panic ends the run as failed and goes on through this call. Dropped while `body` runs, the lease lapses and the run
    /// counts as one that may come back until its hold is over; dropped before that, it goes back to where
    /// it was.
    ///
    /// # Errors
    /// `LeaseLost`: the run was cancelled or given up meanwhile, or its record is gone; what `body` did
    /// is not its result. `DeadlineExceeded`: it took longer than the dispatch allows, and has failed.
    /// `Backend` if it could not be started, `ShuttingDown`; it is given back then. A store that does
    /// not take the result in time is no error: the keeper goes on.
    pub async fn run<T, E, B>(self, body: B) -> Result<Ran<T, E>, Error>
    where
        B: Future<Output = Result<T, E>>,
        T: Storable,
        E: Display,
    {
        self.run_or_give_back(body, |_| false).await
    }

    /// [`run`](Self::run), except that an error for which `may_retry` holds does not end the run: it
    /// waits to be tried again, by whichever worker it is handed to next, for at most its queue timeout.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_or_give_back<T, E, B>(
        self,
        body: B,
        may_retry: impl FnOnce(&E) -> bool,
    ) -> Result<Ran<T, E>, Error>
    where
        B: Future<Output = Result<T, E>>,
        T: Storable,
        E: Display,
    {
        let run = self.idem.run(self.run);
        let core = self.idem.core();
        if core.is_closing() {
            return Err(run.error(ErrorKind::ShuttingDown));
        }
        let worker = Worker::of_queued_run(core, self.run);
        // Looked at again with a place on the run's flight, as for a call.
        if core.is_closing() {
            return Err(run.error(ErrorKind::ShuttingDown));
        }
        match worker {
            Some(worker) => {
                let on_lost = self.on_lost.unwrap_or(core.defaults.on_lost);
                worker.on_lost(on_lost).run_or_give_back(body, may_retry).await
            }
            // Another worker of this process has it.
            None => Ok(Ran::NotStarted(run.status().await?)),
        }
    }
}

impl fmt::Debug for Attach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { idem: _, run, on_lost } = self;
        f.debug_struct("Attach").field("run", run).field("on_lost", on_lost).finish_non_exhaustive()
    }
}
