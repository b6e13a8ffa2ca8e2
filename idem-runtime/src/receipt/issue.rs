//! Carrying out a dispatch: the receipt that stands, or a new run and its receipt.

use std::fmt::Display;
use std::future::{Future, poll_fn};

use tracing::Instrument;

use super::Receipt;
use super::dispatch::Dispatch;
use super::give_back::move_run;
use super::liveness::{Liveness, Verdict};
use super::receipt_record::ReceiptRecord;
use super::reclaim::{Judge, Reclaimed};
use super::run::Run;
use super::run_id::RunId;
use super::run_record::{Dispatched, RunRecord, RunState, Times};
use super::store::{Replaced, RunStore};
use super::worker::Worker;
use crate::begin::Arrival;
use crate::bounds::{FromRefusal, Storable};
use crate::call::{Action, Answer, Replay, attend};
use crate::codec::OWN;
use crate::context::{self, within};
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, NextRun};
use crate::idem::Idem;
use crate::observe::Source;
use crate::record::{Flags, Record};
use crate::value::{Encoded, Ending, Unusable};

/// What one begin of a dispatch led to.
enum Issued {
    /// The call's answer: this call has dispatched a run, whether its receipt is the one that stands now or
    /// another's is.
    Given(Receipt),
    /// A receipt that was there already: its run is to be judged.
    Found(Receipt),
}

/// Why a dispatch gives no receipt.
enum Refused<E> {
    Idem(Error),
    /// The queue did not take the run.
    Queue(E),
}

impl<L: Liveness> Dispatch<L> {
    /// Runs `body` in this process, as a task of its own, and gives the receipt as soon as it is stored.
    /// The body runs to its end whatever becomes of this call; [`Idem::shutdown`] waits for it. Must be
    /// called within a tokio runtime.
    ///
    /// If there is a receipt of a run that can still succeed, `body` is dropped and that one is given.
    ///
    /// # Errors
    /// A refusal, as of any call: `InProgress` while another dispatch of the key is under way for longer
    /// than this one waits, `FingerprintMismatch`, `Backend`, … Nothing runs then, except after
    /// `LeaseLost`. Dropped, the run may have been started; the same call gives its receipt.
    pub async fn spawn<T, E, B>(self, body: B) -> Result<Receipt, Error>
    where
        B: Future<Output = Result<T, E>> + Send + 'static,
        T: Storable + Send + 'static,
        E: Display + Send + 'static,
    {
        let around = context::current();
        let idem = self.idem().clone();
        self.issue(false, async move |run| {
            // It has its place from here on, so that a shutdown waits for it.
            let Some(worker) = Worker::of_new_run(idem.core(), run.id()) else {
                unreachable!("nobody else knows the id of a run that is being dispatched")
            };
            let task = async move {
                if let Err(error) = worker.run(body).await {
                    tracing::warn!(target: "idem", %error, "a spawned run has no result");
                }
            };
            tokio::spawn(within(around, task).in_current_span());
            Ok::<_, Error>(())
        })
        .await
    }

    /// Makes a run, has `enqueue` hand it to a queue of the user's own, and gives the receipt. Whoever
    /// takes it from the queue, in whatever process, runs it with [`Idem::attach`].
    ///
    /// `enqueue` is called for a new run only. A run that it has handed on may be picked up before it
    /// returns, and will be even if this call is dropped or its process dies then: the worker sees to the
    /// receipt.
    ///
    /// # Errors
    /// The error of `enqueue`, and then no worker will start the run: unless one has already, which gives
    /// the receipt, or is faster than a cancel that the store does not take at once. A refusal, as for
    /// [`spawn`](Self::spawn), in its type.
    pub async fn enqueue<E, F>(self, enqueue: F) -> Result<Receipt, E>
    where
        F: AsyncFnOnce(Run) -> Result<(), E>,
        E: FromRefusal,
    {
        self.issue(true, enqueue).await
    }

    async fn issue<E, F>(self, queued: bool, enqueue: F) -> Result<Receipt, E>
    where
        F: AsyncFnOnce(Run) -> Result<(), E>,
        E: FromRefusal,
    {
        let given = self.try_issue(queued, enqueue).await;
        given.map_err(|refused| match refused {
            Refused::Idem(error) => E::from_refusal(error),
            Refused::Queue(error) => error,
        })
    }

    async fn try_issue<E, F>(&self, queued: bool, enqueue: F) -> Result<Receipt, Refused<E>>
    where
        F: AsyncFnOnce(Run) -> Result<(), E>,
    {
        let (arrival, times) = self.arrival().map_err(Refused::Idem)?;
        let mut issue = Issue { idem: self.idem(), times, queued, enqueue: Some(enqueue) };
        let old = match issue.begin(arrival.clone()).await? {
            Issued::Given(receipt) => return Ok(receipt),
            Issued::Found(receipt) => receipt,
        };
        let verdict = self.liveness.verdict(old.id()).await;
        let reclaimed = if verdict.gives_a_new_run() {
            RunStore::of(&arrival.core).reclaim(&arrival.key, old.id(), Judge::of(verdict)).await
        } else {
            Reclaimed::Keep
        };
        let Reclaimed::GoOn { discarded } = reclaimed else {
            arrival.tell(match verdict {
                Verdict::MaybeAlive => EventKind::ReceiptHeld,
                verdict => EventKind::ReceiptReplayed { verdict },
            });
            return Ok(old);
        };
        // No loop: whatever stands now is the answer. Only what another call of this process read before
        // the receipt was removed is not.
        let again = || Arrival { at: arrival.now(), ..arrival.clone() };
        let mut issued = issue.begin(again()).await;
        if matches!(&issued, Ok(Issued::Found(receipt)) if receipt.id() == old.id()) {
            issued = issue.begin(again()).await;
        }
        let next = match &issued {
            Ok(Issued::Given(_)) => NextRun::Started,
            Ok(Issued::Found(_)) => NextRun::Found,
            Err(_) => NextRun::Refused,
        };
        arrival.tell(EventKind::ReceiptReclaimed { verdict, discarded, next });
        issued.map(|(Issued::Given(receipt) | Issued::Found(receipt))| receipt)
    }
}

/// What a dispatch needs to begin, once or once more.
struct Issue<'a, F> {
    idem: &'a Idem,
    times: Times,
    queued: bool,
    enqueue: Option<F>,
}

impl<F> Issue<'_, F> {
    async fn begin<E>(&mut self, arrival: Arrival) -> Result<Issued, Refused<E>>
    where
        F: AsyncFnOnce(Run) -> Result<(), E>,
    {
        let started = arrival.begin().await.map_err(Refused::Idem)?;
        let mut action = match Action::go_on(arrival.clone(), started) {
            Ok(action) => action,
            Err(answer) => return self.answered(answer).map(Issued::Found).map_err(Refused::Idem),
        };
        let dispatched = {
            let mut body = std::pin::pin!(Some(self.dispatch(&arrival)));
            poll_fn(|task| attend(&mut action, body.as_mut(), task)).await
        };
        match dispatched {
            Ok(Ok((run, dispatch))) => self.complete(&mut action, &arrival, run, &dispatch).await,
            Ok(Err(refused)) => {
                let freed = action.settle(Source::Fresh, Ending::Free, (OWN, 0)).await;
                Err(freed.map_or_else(Refused::Idem, |_| refused))
            }
            Err(answer) => self.answered(answer).map(Issued::Found).map_err(Refused::Idem),
        }
    }

    /// The dispatch under its lease: the run's record first, then the queue.
    async fn dispatch<E>(&mut self, arrival: &Arrival) -> Result<(RunId, Dispatched), Refused<E>>
    where
        F: AsyncFnOnce(Run) -> Result<(), E>,
    {
        let context = context::current();
        let (Some(attempt), Some(enqueue)) = (context.attempt(), self.enqueue.take()) else {
            unreachable!("a dispatch runs once, under its own lease")
        };
        let run = RunId::of(attempt.owner());
        let store = RunStore::of(&arrival.core);
        let dispatch = Dispatched::new(&arrival.key, arrival.fingerprint, self.times, self.queued);
        let state = if self.queued { RunState::Queued } else { RunState::Accepted };
        let record = RunRecord::waiting(dispatch.clone(), state);
        let head = match store.create(run, &record).await {
            Ok(head) => head,
            Err(error) => return Err(Refused::Idem(arrival.failed(error))),
        };
        let Err(error) = enqueue(self.idem.run(run)).await else { return Ok((run, dispatch)) };
        let cancelled = RunRecord::ended(dispatch.clone(), RunState::Cancelled);
        match store.replace(run, (head, 1), &cancelled, None).await {
            // A worker has it already.
            Ok(Replaced::No(Some(state))) if !state.is_end() || has_result(&state) => {
                Ok((run, dispatch))
            }
            Ok(_) => Err(Refused::Queue(error)),
            // The keeper goes on.
            Err(_) => {
                let core = &arrival.core;
                let key = store.key(run);
                let cancel = move_run(&key, [head; 2], 1, dispatch, RunState::Cancelled);
                core.keeper.hand(core, cancel);
                Err(Refused::Queue(error))
            }
        }
    }

    /// Stores the receipt; where another one stands by now, that is the answer, whatever has become of its
    /// run: this call has handed on a run of its own already.
    async fn complete<E>(
        &self,
        action: &mut Action,
        arrival: &Arrival,
        run: RunId,
        dispatch: &Dispatched,
    ) -> Result<Issued, Refused<E>> {
        let receipt = ReceiptRecord::of(dispatch);
        let (flags, payload) = (Flags::default(), receipt.payload());
        let ending = Ending::Store(Encoded { flags, payload, not_kept: None });
        let Err(error) = action.settle(Source::Fresh, ending, (OWN, 0)).await else {
            return Ok(Issued::Given(Receipt::new(self.idem.run(run), receipt, false)));
        };
        if error.kind() != ErrorKind::LeaseLost {
            return Err(Refused::Idem(error));
        }
        match RunStore::of(&arrival.core).receipt(&arrival.key).await {
            Ok(Some(stands)) => match self.receipt(&stands) {
                Some(receipt) if receipt.id() == run => Ok(Issued::Given(receipt.own())),
                Some(receipt) => Ok(Issued::Given(receipt)),
                None => Err(Refused::Idem(error)),
            },
            Ok(None) | Err(_) => Err(Refused::Idem(error)),
        }
    }

    fn answered(&self, answer: Answer) -> Result<Receipt, Error> {
        match answer {
            Answer::Refuse(error) => Err(error),
            Answer::Replay(replay) => self.replayed(&replay),
        }
    }

    fn replayed(&self, replay: &Replay) -> Result<Receipt, Error> {
        let Some(receipt) = self.receipt(replay.outcome()) else {
            let why =
                "it is no receipt: the operation was called before, not dispatched".to_owned();
            return Err(replay.is_not_read(Unusable { kind: ErrorKind::Unreadable, why }));
        };
        replay.is_read();
        Ok(receipt)
    }

    fn receipt(&self, outcome: &Record) -> Option<Receipt> {
        let (run, receipt) = ReceiptRecord::read(outcome)?;
        Some(Receipt::new(self.idem.run(run), receipt, true))
    }
}

impl Receipt {
    /// This call's own, which its worker has stored.
    fn own(self) -> Self {
        Self { replay: false, ..self }
    }
}

const fn has_result(state: &RunState) -> bool {
    matches!(state, RunState::Succeeded(_))
}
