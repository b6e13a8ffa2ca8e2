//! A server that lies: a reply by chance in the place of one that it gave. The call has its own value
//! or an error, in time, and the next one is answered as well.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idem_fuzzing::{Judged, fuzz};
use idem_redis::RedisBackend;
use idem_runtime::{Error, ErrorKind, Idem, OnDuplicate};
use idem_tests::{Aim, Fault, Proxy, RedisServer};
use proptest::prelude::*;

/// One reply, whole, or something that is none.
fn lies() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        (-2..6_i64).prop_map(|number| format!(":{number}")),
        "[+]([A-Z]{0,6}|OK)",
        "-(ERR|OOM|NOSCRIPT|LOADING|MOVED|ASK|NOPERM|[A-Z]{0,5})( [0-9a-z.:]{0,8}){0,2}",
        "[$*](-1|0)",
        "[_]",
        // None, and lengths that nothing comes after.
        "[$*%~>=](99|2147483647|9223372036854775807|-7|x)",
        "[a-z\u{0}]{1,6}",
    ];
    let text = |bytes: &[u8]| [format!("${}\r\n", bytes.len()).as_bytes(), bytes].concat();
    let bulk = any::<Vec<u8>>().prop_map(move |bytes| text(&bytes));
    // What could be a record.
    let record = prop::collection::vec(any::<u8>(), 66..90)
        .prop_map(move |bytes| text(&[&[1, bytes[0] % 2], &bytes[..]].concat()));
    let one = prop_oneof![4 => line.prop_map(String::into_bytes).boxed(), 1 => bulk.boxed(), 2 => record.boxed()];
    let one = one.prop_map(|one| [&one[..], b"\r\n"].concat()).boxed();
    let pair = (one.clone(), any::<i64>())
        .prop_map(|(one, left)| [b"*2\r\n", &one[..], format!(":{left}\r\n").as_bytes()].concat());
    prop_oneof![4 => one, 1 => pair.boxed()]
}

/// The command that the lie is about, the first or the second of its kind.
fn aims() -> impl Strategy<Value = Aim> {
    (prop::sample::select(vec!["SET", "EVALSHA"]), 1..3_usize)
        .prop_map(|(command, nth)| Aim::command(command).nth(nth))
}

struct Rig {
    proxy: Proxy,
    _server: RedisServer,
    calls: AtomicU64,
}

impl Rig {
    /// A process that has connected, and gives up soon.
    async fn process(&self) -> Idem {
        let short = Duration::from_millis(100);
        let builder = RedisBackend::builder(self.proxy.url()).command_timeout(short);
        let backend = builder.connect().await.unwrap();
        Idem::builder().backend(backend).store_timeout(short * 2).build().unwrap()
    }

    async fn call(&self, idem: &Idem, key: u64) -> Result<u64, Error> {
        let call = idem.call("charge").key(&key).on_duplicate(OnDuplicate::Reject);
        let called = call.run(async |_| Ok::<u64, Error>(key));
        let answered = tokio::time::timeout(Duration::from_secs(20), called).await;
        answered.expect("a call has an answer in time").map(|outcome| outcome.value)
    }
}

fn kind(answer: &Result<u64, Error>) -> &'static str {
    match answer.as_ref().map_err(Error::kind) {
        Ok(_) => "its own value",
        Err(ErrorKind::Backend) => "refused: the store",
        Err(ErrorKind::InProgress) => "refused: in progress",
        Err(ErrorKind::Unreadable) => "refused: unreadable",
        Err(ErrorKind::LeaseLost) => "refused: lease lost",
        Err(_) => "refused: otherwise",
    }
}

#[test]
fn replies_by_chance() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = RedisServer::start();
    let rig = Rig { proxy: Proxy::start(&server), _server: server, calls: AtomicU64::new(0) };
    let judge = |(aim, lie): (Aim, Vec<u8>)| -> Judged {
        let key = rig.calls.fetch_add(1, Ordering::SeqCst);
        runtime.block_on(async {
            let idem = rig.process().await;
            let trap = rig.proxy.on_reply(aim, Fault::Instead(lie.into()));
            let answers = [rig.call(&idem, key).await, rig.call(&idem, key).await];
            rig.proxy.heal();
            for answer in &answers {
                match answer {
                    Ok(value) => prop_assert_eq!(*value, key, "another's value"),
                    Err(error) if error.kind() == ErrorKind::Backend => {
                        let why = std::error::Error::source(error).map(ToString::to_string);
                        prop_assert!(why.is_some_and(|why| !why.is_empty()), "{}", error);
                    }
                    Err(_) => {}
                }
            }
            idem.shutdown(Duration::from_millis(50)).await;
            Ok(if trap.struck() == 0 { "not asked" } else { kind(&answers[0]) })
        })
    };
    let kinds =
        ["its own value", "refused: the store", "refused: in progress", "refused: lease lost"];
    fuzz("replies of a server", &kinds, 500, &(aims(), lies()), judge);
}
