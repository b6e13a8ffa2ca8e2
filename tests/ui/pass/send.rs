//! Every policy and every form of key in a task of its own: nothing of the key outlives its
//! statement, so that a key, or a borrow of one, need not be `Send` for the future to be.
#![deny(warnings)]

use std::{cell::Cell, rc::Rc, sync::RwLock};

use idem_runtime::{Error, Idem, KeyWriter, MemoryBackend, ToKey, idempotent};

struct NotSync(Cell<u64>);

impl ToKey for NotSync {
    fn write(&self, out: &mut KeyWriter) {
        self.0.get().write(out);
    }
}

async fn find(text: &str) -> Result<Option<u64>, Error> {
    Ok(Some(text.len() as u64))
}

macro_rules! functions {
    ($text:ident, $id:ident; $($name:ident: [$($args:tt)*];)*) => {
        $(
            #[idempotent($($args)*)]
            async fn $name($text: String, $id: u64) -> Result<u64, Error> {
                tokio::task::yield_now().await;
                Ok($text.len() as u64 + $id)
            }
        )*

        async fn spawn_all(idem: &Idem) {
            $(
                let called = tokio::spawn(idem.scope($name("ab".to_owned(), 1))).await;
                assert_eq!(called.unwrap().unwrap(), 3, stringify!($name));
            )*
        }
    };
}

functions! { text, id;
    borrowed: [key = text];
    owned: [key = format!("{text}{id}"), on_duplicate = reject];
    tuple: [key = (&text, id), on_duplicate = wait("1s"), on_lost = cancel];
    template: [key = "{text}/{id}", on_drop = release];
    template_detached: [key = "{text}/{id}", on_drop = detach, codec = json];
    template_reconciling: [key = "{text}/{id}", on_crash = reconcile(find(&text))];
    awaited: [key = find(&text).await?.unwrap_or(0), fingerprint = find(&text).await?];
    awaited_detached: [key = find(&text).await?.unwrap_or(0), on_drop = detach, on_outage = run];
    not_sync: [key = NotSync(Cell::new(id)), on_lost = ignore];
    not_send: [key = *Rc::new(id), fingerprint = Rc::new(id).to_string(), on_crash = refuse];
}

#[idempotent(key = "{number}")]
async fn not_sync_argument(number: NotSync) -> Result<u64, Error> {
    tokio::task::yield_now().await;
    Ok(number.0.get())
}

#[idempotent(key = *count.read().unwrap(), fingerprint = *count.read().unwrap())]
async fn locked(count: &'static RwLock<u64>) -> Result<u64, Error> {
    tokio::task::yield_now().await;
    *count.write().unwrap() += 1;
    Ok(*count.read().unwrap())
}

static COUNT: RwLock<u64> = RwLock::new(1);

#[tokio::test]
async fn every_call_is_a_task() {
    let idem = Idem::builder().backend(MemoryBackend::new()).build().unwrap();
    spawn_all(&idem).await;
    let argument = NotSync(Cell::new(7));
    let called = tokio::spawn(idem.scope(not_sync_argument(argument))).await;
    assert_eq!(called.unwrap().unwrap(), 7);
    assert_eq!(tokio::spawn(idem.scope(locked(&COUNT))).await.unwrap().unwrap(), 2);
}
