//! The installed `Idem`: one for the process, last in the order of those a call looks for. Alone in
//! its binary, since it is the process's.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

use idem_runtime::{
    AlreadyInstalled, Error, ErrorKind, Idem, MemoryBackend, Source, idempotent, observe,
};

struct Service {
    idem: Idem,
}

impl Service {
    #[idempotent(name = "named", key = 1, runtime = self.idem)]
    async fn named(&self) -> Result<u64, Error> {
        Ok(1)
    }
}

#[idempotent(name = "named", key = 1)]
async fn found() -> Result<u64, Error> {
    Ok(1)
}

async fn source(call: impl Future<Output = Result<u64, Error>>) -> Source {
    observe(call).await.facts.unwrap().source
}

#[tokio::test]
async fn the_named_one_comes_first_then_the_scope_then_the_installed_one() {
    let idem = || Idem::builder().backend(MemoryBackend::new()).build().unwrap();
    let (named, scoped, installed) = (idem(), idem(), idem());
    assert_eq!(found().await.unwrap_err().kind(), ErrorKind::NotInstalled);
    assert!(Idem::installed().is_none());

    installed.install().unwrap();
    assert_eq!(idem().install(), Err(AlreadyInstalled));

    let service = Service { idem: named.clone() };
    assert_eq!(scoped.scope(source(service.named())).await, Source::Fresh);
    assert_eq!(named.scope(source(found())).await, Source::Replayed);
    assert_eq!(scoped.scope(source(found())).await, Source::Fresh);
    assert_eq!(source(found()).await, Source::Fresh);
    assert_eq!(source(found()).await, Source::Replayed);
    // In a task of its own the scope is gone, the installed one is not.
    let spawned = scoped.scope(async { tokio::spawn(source(found())).await.unwrap() });
    assert_eq!(spawned.await, Source::Replayed);
}
