//! Scripts that the server forgets at the worst moment.

use idem_runtime::protocol::transition::{CompleteReply, RenewReply};
use idem_runtime::{Backend, BackendError};
use idem_tests::{Aim, Fault, RedisServer};

use super::{COMPLETE, RENEW, Rig, script_on};
use crate::kit::{LONG, outcome, record_key, renewal, reserved};

fn forget(server: &RedisServer) {
    let _: String = server.ask(&["SCRIPT", "FLUSH", "SYNC"]);
}

/// Between two renewals of one pipeline: those before have been carried out, those after are sent again,
/// and each lease has its own answer.
#[tokio::test]
async fn in_the_midst_of_a_batch() {
    let rig = Rig::start();
    let backend = rig.connect().await;
    let renewals = Aim::script(RENEW);
    for forgotten_at in 1..=6 {
        let mut batch = Vec::new();
        for nth in 0..3 {
            let key = record_key(&format!("mine {forgotten_at} {nth}"));
            batch.push(renewal(&key, reserved(&backend, &key).await));
            let others = record_key(&format!("other {forgotten_at} {nth}"));
            reserved(&backend, &others).await;
            batch.push(renewal(&others, batch[0].owner));
        }
        let before = rig.proxy.came(&renewals);
        let held = rig.proxy.on_request(renewals.clone().nth(forgotten_at), Fault::Hold);
        let (replies, ()) = tokio::join!(backend.renew(&batch), async {
            held.strikes().await;
            // Those before it are on their way, and have to have been carried out.
            let carried_out = || rig.proxy.answered(&renewals) == before + forgotten_at - 1;
            idem_tests::eventually("those before it are answered", carried_out).await;
            forget(&rig.server);
            held.lift();
        });
        let replies: Vec<_> = replies.into_iter().map(|reply| reply.unwrap()).collect();
        let (mine, other) = (RenewReply::Renewed, RenewReply::Taken);
        assert_eq!(replies, [mine, other, mine, other, mine, other], "{forgotten_at}");
        // Only those that were not known are sent again.
        assert_eq!(rig.proxy.came(&renewals) - before, 6 + 7 - forgotten_at);
    }
}

/// The connection is cut while the scripts are sent again: all that was not answered is unanswered, what
/// was is not.
#[tokio::test]
async fn and_the_connection_cut_as_they_are_sent_again() {
    let rig = Rig::start();
    let backend = rig.connect().await;
    let mut batch = Vec::new();
    for nth in 0..4 {
        let key = record_key(&format!("key {nth}"));
        batch.push(renewal(&key, reserved(&backend, &key).await));
    }
    let held = rig.proxy.on_request(Aim::script(RENEW).nth(3), Fault::Hold);
    rig.proxy.on_request(Aim::command("SCRIPT"), Fault::Cut(10));
    let (replies, ()) = tokio::join!(backend.renew(&batch), async {
        held.strikes().await;
        let carried_out = || rig.proxy.answered(&Aim::script(RENEW)) == 2;
        idem_tests::eventually("those before it are answered", carried_out).await;
        forget(&rig.server);
        held.lift();
    });
    let kinds: Vec<_> =
        replies.iter().map(|reply| reply.as_ref().map_err(BackendError::is_answer)).collect();
    let renewed = Ok(&RenewReply::Renewed);
    assert_eq!(kinds, [renewed, renewed, Err(false), Err(false)]);
    rig.proxy.heal();
    let again = backend.renew(&batch).await;
    assert!(again.into_iter().all(|reply| reply.unwrap() == RenewReply::Renewed));
}

/// Each call in turn finds its script forgotten: nothing of it is seen from outside.
#[tokio::test]
async fn at_every_step_of_a_call() {
    let rig = Rig::start();
    let process = rig.process().await;
    for nth in 0..5 {
        let key = format!("key {nth}");
        let held = rig.proxy.on_request(script_on(COMPLETE, &key).nth(1), Fault::Hold);
        let (done, ()) = tokio::join!(process.call(&key, nth), async {
            held.strikes().await;
            forget(&rig.server);
            held.lift();
        });
        let done = done.unwrap();
        assert!(done.stored && !done.lapsed);
        // Unknown, then with the script before it.
        assert_eq!(rig.proxy.came(&script_on(COMPLETE, &key)), 2);
    }
    assert!(!process.events.has("completion_deferred"));
}

/// A server that is started again has its records and no script: the next thing is a renewal, a
/// completion, a batch.
#[tokio::test]
async fn by_a_server_that_is_started_again() {
    let mut server = RedisServer::start_kept();
    let backend = crate::kit::connect(&server).await;
    let key = record_key("a");
    let owner = reserved(&backend, &key).await;
    let mut batch = vec![renewal(&key, owner)];
    for nth in 0..5 {
        let key = record_key(&format!("key {nth}"));
        batch.push(renewal(&key, reserved(&backend, &key).await));
    }
    let forgotten = |server: &RedisServer| {
        let hash = redis::Script::new(RENEW).get_hash().to_owned();
        let known: Vec<u8> = server.ask(&["SCRIPT", "EXISTS", &hash]);
        assert_eq!(known, [0]);
    };
    server.restart();
    forgotten(&server);
    // What was sent on the connection that broke is unanswered; a call would repeat it.
    let renew = async |batch: &[_]| match backend.renew(batch).await {
        replies if replies.iter().any(Result::is_err) => backend.renew(batch).await,
        replies => replies,
    };
    let renewed = renew(&batch[..1]).await.remove(0);
    assert_eq!(renewed.unwrap(), RenewReply::Renewed);
    server.restart();
    forgotten(&server);
    let renewed = renew(&batch).await;
    assert!(renewed.into_iter().all(|reply| reply.unwrap() == RenewReply::Renewed));
    server.restart();
    let done = outcome(owner, b"done");
    let stored = match backend.complete(&key, &done, LONG).await {
        Err(error) if !error.is_answer() => backend.complete(&key, &done, LONG).await,
        stored => stored,
    };
    assert_eq!(stored.unwrap(), CompleteReply::Stored);
}

/// Again, between being sent and being called: that is no answer, and the operation is repeated.
#[tokio::test]
async fn as_they_are_sent_again() {
    let rig = Rig::start();
    let backend = rig.connect().await;
    let key = record_key("a");
    let batch = [renewal(&key, reserved(&backend, &key).await)];
    forget(&rig.server);
    let loads = || rig.proxy.answered(&Aim::command("SCRIPT").about("LOAD"));
    let before = loads();
    let held = rig.proxy.on_request(Aim::script(RENEW).nth(2), Fault::Hold);
    let (mut replies, ()) = tokio::join!(backend.renew(&batch), async {
        held.strikes().await;
        idem_tests::eventually("it is loaded", || loads() > before).await;
        forget(&rig.server);
        held.lift();
    });
    match replies.remove(0) {
        Ok(reply) => assert_eq!(reply, RenewReply::Renewed),
        Err(error) => assert!(!error.is_answer(), "{error}"),
    }
}
