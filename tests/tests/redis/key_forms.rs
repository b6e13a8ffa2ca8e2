//! Names of records, as they stand in the server.

use idem_runtime::{Backend, ErrorKind, Key, RecordKey};
use idem_tests::RedisServer;

use crate::kit::{connect, process, reserved};

#[tokio::test]
async fn key_forms() {
    let server = RedisServer::start();
    let backend = connect(&server).await;
    let long = "x".repeat(10_000);
    let forms = [
        ("order 17", "shop:charge:order 17".to_owned()),
        ("{a}b", "shop:charge:%7Ba%7Db".to_owned()),
        ("a\nb\0", "shop:charge:a%0Ab%00".to_owned()),
        ("%7B", "shop:charge:%257B".to_owned()),
        ("ü", "shop:charge:%C3%BC".to_owned()),
        (&long, format!("shop:charge:%blake3-{}", blake3_of(&long))),
    ];
    for (key, name) in &forms {
        let key = RecordKey::new("shop".into(), "charge".into(), Key::of(*key).unwrap());
        reserved(&backend, &key).await;
        let there: bool = server.ask(&["EXISTS", name]);
        assert!(there, "{name} is not there");
    }
    let names: Vec<String> = server.ask(&["KEYS", "*"]);
    assert_eq!(names.len(), forms.len(), "nothing stands beside the records: {names:?}");

    for (one, other) in [(("a:b", "c"), ("a", "b:c")), (("a", ""), ("", "a"))] {
        for parts in [one, other] {
            let key = RecordKey::new("shop".into(), "pair".into(), Key::of(&parts).unwrap());
            reserved(&backend, &key).await;
        }
    }
    let pairs: Vec<String> = server.ask(&["KEYS", "shop:pair:*"]);
    assert_eq!(pairs.len(), 4, "{pairs:?}");
}

#[tokio::test]
async fn an_empty_key_is_refused_and_leaves_nothing() {
    let server = RedisServer::start();
    let process = process(&server).await;
    assert_eq!(process.call("", 1).await.unwrap_err().kind(), ErrorKind::InvalidKey);
    let names: Vec<String> = server.ask(&["KEYS", "*"]);
    assert_eq!(names, Vec::<String>::new());
}

/// What somebody else put under the name is in progress for all operations, and left alone.
#[tokio::test]
async fn what_cannot_be_read_is_somebody_elses() {
    use idem_runtime::protocol::transition::{BeginReply, RenewReply};
    use idem_runtime::record::{Owner, Standing};

    use crate::kit::{record_key, renewal, reservation};

    let server = RedisServer::start();
    let backend = connect(&server).await;
    let (key, owner) = (record_key("a"), Owner::fresh());
    for planted in ["", "x", "another version's record, longer than a head is, and with more in it"]
    {
        let _: String = server.ask(&["SET", "shop:charge:a", planted]);
        let begun = backend.begin(&key, &reservation(owner), crate::kit::LONG).await.unwrap();
        assert_eq!(begun, BeginReply::Found(Standing::Foreign(planted.as_bytes().into())));
        let renewed = backend.renew(&[renewal(&key, owner)]).await.remove(0).unwrap();
        assert_eq!(renewed, RenewReply::Taken);
        let found = backend.peek(&key).await.unwrap().unwrap();
        assert_eq!(found.standing, Standing::Foreign(planted.as_bytes().into()));
        let left: String = server.ask(&["GET", "shop:charge:a"]);
        assert_eq!(left, planted);
    }
    // A list under the name is an error, not a reason to run.
    let _: i64 = server.ask(&["LPUSH", "shop:charge:list", "x"]);
    let error = backend
        .begin(&record_key("list"), &reservation(owner), crate::kit::LONG)
        .await
        .unwrap_err();
    assert!(error.is_answer() && error.to_string().contains("WRONGTYPE"), "{error}");
}

fn blake3_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}
