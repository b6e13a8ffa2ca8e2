//! Registration: what has to stand before the first message is taken, and is taken back if it does not.

use std::io;
use std::sync::Arc;

use idem_runtime::BackendError;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::desk::Desk;
use super::error::ConsumerError;
use super::event::ConsumerEventKind as Kind;
use super::lifecycle::Inner;
use super::message_id::MessageId;
use super::reader::Reader;
use super::registry::Registered;
use super::renew::{self, Renewer};
use super::settle::Job;
use super::slots::{Portion, Slots};
use super::stream::{Made, Stream};

/// A consumer that is ready to take messages.
pub(super) struct Ready {
    pub(super) desk: Arc<Desk>,
    pub(super) reader: Reader,
    pub(super) jobs: mpsc::UnboundedReceiver<Job>,
    /// Up to where the group has done everything.
    pub(super) floor: MessageId,
    /// Whoever has these is a consumer: dropped, renewals end with the last message in hand.
    pub(super) _registered: Registered,
    pub(super) _renewing: DropGuard,
}

/// Registers a consumer: its options are checked first, then that nobody in this process contradicts
/// them, then the server is asked whether it will do; then the group is created.
pub(super) async fn register(inner: &Inner) -> Result<Ready, ConsumerError> {
    let Inner { servers, options, stream, .. } = inner;
    options.check(inner.handler.takes_batches)?;
    if let Some(dead) = &options.dead_letter
        && !servers.are_together(&stream.name, dead)
    {
        return Err(ConsumerError::Options(format!(
            "in a cluster the stream and the dead letters have to be in one slot: let the names of \
             `{}` and `{dead}` share a part in braces",
            stream.name
        )));
    }
    let registered = register_here(inner)?;
    let dead = options.dead_letter.as_deref();
    let fault = stream.fault(dead, options.delete_on_ack).await;
    let fault = match fault {
        // The server does not say to which key the user has no right.
        Err(error) if error.is_answer() => {
            let keys: Vec<_> = [Some(&*stream.name), dead].into_iter().flatten().collect();
            Some(format!("{error} (the keys are {})", keys.join(", ")))
        }
        fault => fault.map_err(|error| failed(stream, error))?,
    };
    if let Some(reason) = fault {
        let stream = stream.name.to_string();
        return Err(ConsumerError::Unfit { stream, reason });
    }
    let made = match stream.create(options.start.id(), None).await {
        Ok(made) => made,
        Err(error) => return Err(not_created(inner, error).await),
    };
    match set_up(inner, registered).await {
        Ok(ready) => {
            if made.group {
                ready.desk.tell(Kind::Created { stream: made.stream, again: false });
            }
            Ok(ready)
        }
        Err(error) => {
            roll_back(stream, made).await;
            Err(error)
        }
    }
}

fn register_here(inner: &Inner) -> Result<Registered, ConsumerError> {
    let Stream { name, group, consumer, .. } = &inner.stream;
    let [stream, group, consumer] = [name, group, consumer].map(ToString::to_string);
    let name = [inner.servers.identity(), stream.clone(), group.clone(), consumer.clone()];
    Registered::new(name, inner.options.lease()).ok_or(ConsumerError::Conflict {
        stream,
        group,
        consumer,
    })
}

async fn set_up(inner: &Inner, registered: Registered) -> Result<Ready, ConsumerError> {
    let Inner { options, stream, hand, teller, .. } = inner;
    let floor = stream.floor().await.map_err(|error| failed(stream, error))?;
    let mut reader = Reader::new(stream.clone());
    reader.open().await.map_err(|error| failed(stream, error))?;
    let closed = CancellationToken::new();
    let renewing = closed.clone().drop_guard();
    if let Some(every) = options.renewal() {
        let (stream, hand, teller) = (stream.clone(), Arc::clone(hand), Arc::clone(teller));
        let ready = renew::start(Renewer { stream, hand, teller, every, closed });
        let ready = ready.map_err(|source| thread(&inner.stream, source))?;
        let ended = || thread(&inner.stream, io::Error::other("it has ended"));
        ready.await.map_err(|_| ended())?.map_err(|error| failed(&inner.stream, error))?;
    }
    let portion = match options.batch {
        Some(most) => Portion::Batch { most },
        None => Portion::Single { ahead: options.read_ahead },
    };
    let (sender, jobs) = mpsc::unbounded_channel();
    let desk = Desk {
        stream: stream.clone(),
        options: options.clone(),
        handler: Arc::clone(&inner.handler),
        hand: Arc::clone(hand),
        slots: Slots::new(options.concurrency, portion),
        teller: Arc::clone(teller),
        jobs: sender,
    };
    Ok(Ready {
        desk: Arc::new(desk),
        reader,
        jobs,
        floor,
        _registered: registered,
        _renewing: renewing,
    })
}

/// Without an answer it may have been created all the same. Of that only the consumer is known to be
/// this one's, if nobody has named it.
async fn not_created(inner: &Inner, error: BackendError) -> ConsumerError {
    if !error.is_answer() {
        let made = Made { stream: false, group: false, consumer: inner.options.consumer.is_none() };
        let (stream, group) = (&*inner.stream.name, &*inner.stream.group);
        tracing::warn!(target: "idem", stream, group, "the stream and the group may have been created");
        roll_back(&inner.stream, made).await;
    }
    failed(&inner.stream, error)
}

/// Takes back exactly what was made.
async fn roll_back(stream: &Stream, made: Made) {
    if let Err(error) = stream.undo(made).await {
        tracing::warn!(
            target: "idem",
            stream = &*stream.name,
            group = &*stream.group,
            ?made,
            %error,
            "a registration failed, and what it had made could not be taken back"
        );
    }
}

fn failed(stream: &Stream, source: BackendError) -> ConsumerError {
    ConsumerError::Backend { stream: stream.name.to_string(), source }
}

fn thread(stream: &Stream, source: io::Error) -> ConsumerError {
    ConsumerError::Thread { stream: stream.name.to_string(), source }
}
