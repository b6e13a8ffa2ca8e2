//! The body of a run, and what it ends with.

use std::any::Any;
use std::fmt::Display;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use super::run_record::{RunState, Value};
use crate::bounds::Storable;
use crate::codec::{Codec, MessagePack};

/// How much of an error's text is kept, in bytes: it is read with every look at the run.
const MOST_TEXT: usize = 4096;

type Panic = Box<dyn Any + Send>;

/// How a body ended.
pub(super) enum BodyEnd<T, E> {
    /// With this, which ends the run like that.
    Result(Result<T, E>, RunState),
    /// With an error after which the run may be tried again, and its text.
    ToBeRetried(E, String),
    Panicked(Panic),
}

/// Runs a body, and says what its run is to be ended with.
pub(super) async fn run_body<T, E, B>(
    body: B,
    may_retry: impl FnOnce(&E) -> bool,
    max_result: usize,
) -> BodyEnd<T, E>
where
    B: Future<Output = Result<T, E>>,
    T: Storable,
    E: Display,
{
    // The user's code as well: to decide about an error, to show it, to serialise a value.
    let ended = async {
        match body.await {
            Ok(value) => {
                let state = RunState::Succeeded(encoded(&value, max_result));
                BodyEnd::Result(Ok(value), state)
            }
            Err(error) if may_retry(&error) => {
                let reason = cut(error.to_string());
                BodyEnd::ToBeRetried(error, reason)
            }
            Err(error) => {
                let state = RunState::Failed(cut(error.to_string()));
                BodyEnd::Result(Err(error), state)
            }
        }
    };
    caught(ended).await.unwrap_or_else(BodyEnd::Panicked)
}

fn encoded<T: Storable>(value: &T, max_result: usize) -> Value {
    let mut bytes = Vec::new();
    match MessagePack::encode_checked(value, &mut bytes) {
        Err(error) => Value::NotKept(error.to_string()),
        Ok(()) if bytes.len() > max_result => Value::NotKept(format!(
            "the encoded value has {} bytes, more than the limit of {max_result} (`max_result`)",
            bytes.len()
        )),
        Ok(()) => Value::Kept { codec: MessagePack::ID, bytes },
    }
}

/// Polls a future to its end, or to the panic that ends it.
async fn caught<F: Future>(future: F) -> Result<F::Output, Panic> {
    let mut future = std::pin::pin!(future);
    // After a panic it is dropped and not polled again.
    poll_fn(|task| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(task))) {
        Ok(polled) => polled.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

/// What a panic says.
pub(super) fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    cut(format!("it panicked: {}", text.unwrap_or("it did not say why")))
}

/// As much of a text as is kept.
fn cut(mut text: String) -> String {
    if text.len() > MOST_TEXT {
        let end = (0..=MOST_TEXT).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
    text
}
