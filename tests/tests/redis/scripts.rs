//! Scripts that the server has forgotten.

use idem_runtime::Backend;
use idem_runtime::protocol::transition::{
    CompleteReply, DiscardReply, FenceReply, ReleaseReply, RenewReply, ReplaceReply,
};
use idem_runtime::record::Owner;
use idem_tests::RedisServer;

use crate::kit::{LONG, connect, outcome, record_key, renewal, reservation, reserved};

fn forget(server: &RedisServer) {
    let _: String = server.ask(&["SCRIPT", "FLUSH", "SYNC"]);
}

#[tokio::test]
async fn cold_scripts() {
    let server = RedisServer::start();
    let backend = connect(&server).await;
    let key = record_key("a");
    let owner = reserved(&backend, &key).await;

    forget(&server);
    let renewed = backend.renew(&[renewal(&key, owner)]).await;
    assert_eq!(renewed.into_iter().next().unwrap().unwrap(), RenewReply::Renewed);
    forget(&server);
    assert!(matches!(backend.fence(&key, owner).await.unwrap(), FenceReply::Fence(1..)));
    forget(&server);
    let done = outcome(owner, b"done");
    assert_eq!(backend.complete(&key, &done, LONG).await.unwrap(), CompleteReply::Stored);
    forget(&server);
    let new = reservation(Owner::fresh());
    let replaced = backend.replace(&key, done.head(), &new, LONG, None).await.unwrap();
    assert_eq!(replaced, ReplaceReply::Replaced);
    forget(&server);
    assert_eq!(backend.release(&key, new.owner).await.unwrap(), ReleaseReply::Released);
    forget(&server);
    assert_eq!(backend.discard(&key, owner).await.unwrap(), DiscardReply::NotThere);
}

/// Every lease of a batch gets its own answer, also those whose script call came too early.
#[tokio::test]
async fn cold_scripts_in_a_batch() {
    let server = RedisServer::start();
    let backend = connect(&server).await;
    let (mine, taken, done) = (record_key("mine"), record_key("taken"), record_key("done"));
    let owner = reserved(&backend, &mine).await;
    reserved(&backend, &taken).await;
    let completed = reserved(&backend, &done).await;
    backend.complete(&done, &outcome(completed, b"done"), LONG).await.unwrap();
    let batch = [
        renewal(&mine, owner),
        renewal(&taken, owner),
        renewal(&done, completed),
        renewal(&record_key("gone"), owner),
    ];
    forget(&server);
    let replies: Vec<_> =
        backend.renew(&batch).await.into_iter().map(|reply| reply.unwrap()).collect();
    let each = [RenewReply::Renewed, RenewReply::Taken, RenewReply::Completed, RenewReply::Gone];
    assert_eq!(replies, each);
    // Sent again for all, and each carried out once: a renewal is the same twice, its count is not.
    assert_eq!(server.calls("pexpire"), 1);
}
