//! What a message holds, and who handles it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use idem_redis::consumer::{Batch, Fields, Message, MessageId};
use idem_runtime::codec::{Json, MessagePack};
use idem_runtime::{Codec, Idem, idempotent};
use idem_tests::eventually;
use redis::Value;
use serde::{Deserialize, Serialize};

use crate::kit::{GROUP, Log, Running, STREAM, World};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: u64,
    note: Option<String>,
}

fn order() -> Order {
    Order { id: 17, note: Some("x".to_owned()) }
}

/// A place for the one value that a handler got.
#[derive(Clone, Default)]
struct Got(Arc<Mutex<Option<Order>>>);

impl Got {
    fn handler(
        &self,
    ) -> impl Fn(Message<Order>) -> std::future::Ready<Result<(), String>> + Send + Sync + 'static
    {
        let got = self.clone();
        move |message| {
            *got.0.lock().unwrap() = Some(message.into_inner());
            std::future::ready(Ok(()))
        }
    }

    async fn order(&self) -> Order {
        eventually("a value", || self.0.lock().unwrap().is_some()).await;
        self.0.lock().unwrap().clone().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_is_read_from_the_fields_from_json_and_by_a_codec() {
    let world = World::start().await;
    let got = Got::default();
    let running = Running::start(world.builder().handler(got.handler()), Log::default());
    world.add_with(&["id", "17", "note", "x"]);
    assert_eq!(got.order().await, order());
    running.end().await;

    let got = Got::default();
    let consumer = world.builder().field::<Json>("data").handler(got.handler());
    let running = Running::start(consumer, Log::default());
    world.add_with(&["data", r#"{"id": 17, "note": "x"}"#]);
    assert_eq!(got.order().await, order());
    running.end().await;

    let got = Got::default();
    let consumer = world.builder().field::<MessagePack>("data").handler(got.handler());
    let running = Running::start(consumer, Log::default());
    let mut bytes = Vec::new();
    MessagePack::encode(&order(), &mut bytes).unwrap();
    let mut connection = redis::Client::open(world.server.url()).unwrap().get_connection().unwrap();
    let mut add = redis::cmd("XADD");
    let _: Value = add.arg(STREAM).arg("*").arg("data").arg(bytes).query(&mut connection).unwrap();
    assert_eq!(got.order().await, order());
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_taken_as_it_is() {
    let world = World::start().await;
    let got: Arc<Mutex<Option<(MessageId, Fields)>>> = Arc::default();
    let gets = Arc::clone(&got);
    let consumer = world.builder().handler(move |message: Message<Fields>| {
        *gets.lock().unwrap() = Some((message.id(), message.into_inner()));
        std::future::ready(Ok::<_, String>(()))
    });
    let running = Running::start(consumer, Log::default());
    let id = world.add_with(&["a", "1", "b", "2", "a", "3"]);
    eventually("it is done", || got.lock().unwrap().is_some()).await;
    let (of, fields) = got.lock().unwrap().take().unwrap();
    let all: Vec<_> = fields.iter().collect();
    assert_eq!(of, id);
    assert_eq!(all, [(&b"a"[..], &b"1"[..]), (b"b", b"2"), (b"a", b"3")]);
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_cannot_be_read_is_among_the_dead_after_one_delivery() {
    let world = World::start().await;
    let (got, log) = (Got::default(), Log::default());
    let builder = world.builder().dead_letter("orders.dead").observer(log.observer());
    let running = Running::start(builder.handler(got.handler()), log);
    let id = world.add_with(&["id", "seventeen"]);
    let told = running.log.hears("dead").await;
    let why = "it cannot be read: field `id`: its text does not fit, expected a number (u64)";
    assert_eq!((told.ids, &*told.text), (vec![id], why));
    let dead = world.entries("orders.dead").swap_remove(0).1;
    assert!(dead.contains(&why.to_owned()) && dead.contains(&"seventeen".to_owned()), "{dead:?}");
    assert!(dead.windows(2).any(|pair| pair == ["idem.deliveries", "1"]), "{dead:?}");
    assert!(world.is_done());
    world.add_with(&["id", "17", "note", "x"]);
    assert_eq!(got.order().await, order());
    running.end().await;
}

/// The code of a type may panic: that is a message that cannot be read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_while_a_message_is_read_is_one_that_cannot_be_read() {
    #[derive(Debug)]
    struct Panics;

    impl<'de> Deserialize<'de> for Panics {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            panic!("a bug of its own")
        }
    }

    let world = World::start().await;
    let log = Log::default();
    let builder = world.builder().dead_letter("orders.dead").observer(log.observer());
    let consumer = builder.handler(async |_: Message<Panics>| Ok::<_, String>(()));
    let running = Running::start(consumer, log);
    let id = world.add();
    let told = running.log.hears("dead").await;
    let why = "it cannot be read: reading it panicked: a bug of its own";
    assert_eq!((told.ids, &*told.text), (vec![id], why));
    running.end().await;
}

/// A value may be a secret, and errors go to logs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_a_message_cannot_be_read_is_told_without_its_value() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Card {
        id: u64,
    }

    let world = World::start().await;
    let log = Log::default();
    let builder = world.builder().dead_letter("orders.dead").observer(log.observer());
    let consumer =
        builder.field::<Json>("data").handler(async |_: Message<Card>| Ok::<_, String>(()));
    let running = Running::start(consumer, log);
    world.add_with(&["data", r#"{"id": "4111-secret"}"#]);
    let told = running.log.hears("dead").await.text;
    assert!(told.contains("expected u64") && !told.contains("secret"), "{told}");
    running.end().await;
}

/// A field that is missing, and one with other bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_a_field_cannot_be_read_is_told() {
    let world = World::start().await;
    let (got, log) = (Got::default(), Log::default());
    let builder = world.builder().dead_letter("orders.dead").observer(log.observer());
    let consumer = builder.field::<Json>("data").handler(got.handler());
    let running = Running::start(consumer, log);
    for (fields, why) in
        [(["other", "1"], "there is no field `data`"), (["data", "{"], "field `data`: EOF while")]
    {
        let before = running.log.count("dead");
        world.add_with(&fields);
        eventually("it is dead", || running.log.count("dead") > before).await;
        let told = running.log.of("dead").swap_remove(before).text;
        assert!(told.contains(why), "{told}");
    }
    running.end().await;
}

/// Without dead letters nothing is lost: another version of the service may read it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_dead_letters_a_message_that_cannot_be_read_is_delivered_again() {
    let world = World::start().await;
    let (got, log) = (Got::default(), Log::default());
    let running =
        Running::start(world.builder().observer(log.observer()).handler(got.handler()), log);
    let id = world.add_with(&["id", "seventeen"]);
    eventually("it is delivered again", || running.log.count("undecodable") == 2).await;
    assert_eq!(running.log.of("undecodable")[0].ids, [id]);
    assert!(world.row(id).is_some_and(|row| row.deliveries == 2));
    running.end().await;
}

/// Those of a batch that can be read are handled, the others are set aside.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_holds_what_can_be_read() {
    let world = World::start().await;
    let ids =
        [world.add_with(&["id", "1"]), world.add_with(&["id", "x"]), world.add_with(&["id", "3"])];
    let (log, got) = (Log::default(), Arc::new(Mutex::new(Vec::new())));
    let gets = Arc::clone(&got);
    let builder = world.builder().batch(10).dead_letter("orders.dead").observer(log.observer());
    let consumer = builder.handler(move |batch: Batch<Order>| {
        let all: Vec<_> = batch.iter().map(|message| (message.id(), message.as_ref().id)).collect();
        gets.lock().unwrap().push(all);
        std::future::ready(Ok::<_, String>(()))
    });
    let running = Running::start(consumer, log);
    assert_eq!(running.log.hears("done").await.ids, [ids[0], ids[2]]);
    assert_eq!(*got.lock().unwrap(), [vec![(ids[0], 1), (ids[2], 3)]]);
    assert_eq!(running.log.hears("dead").await.ids, [ids[1]]);
    eventually("all is done", || world.is_done()).await;
    running.end().await;
}

static BILLED: AtomicUsize = AtomicUsize::new(0);

#[idempotent(name = "orders.bill", key = order.id)]
async fn bill(order: Message<Order>) -> Result<u64, idem_runtime::Error> {
    BILLED.fetch_add(1, Ordering::SeqCst);
    Ok(order.id)
}

/// A message that is delivered again is answered from the record of its order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_annotated_function_is_a_handler() {
    let world = World::start().await;
    Idem::builder()
        .backend(world.backend.clone())
        .prefix("shop")
        .build()
        .unwrap()
        .install()
        .unwrap();
    let log = Log::default();
    let consumer = world.builder().observer(log.observer()).handler(bill);
    let running = Running::start(consumer, log);
    // Twice in the stream, and once delivered anew.
    world.add_with(&["id", "17"]);
    let again = world.add_with(&["id", "17"]);
    eventually("both are done", || running.log.count("done") == 2).await;
    let before = again.to_string();
    let _: Value = world.server.ask(&["XGROUP", "SETID", STREAM, GROUP, "0"]);
    eventually("they are delivered again", || running.log.count("done") == 4).await;
    assert_eq!(BILLED.load(Ordering::SeqCst), 1, "{before}");
    running.end().await;
}

/// A handler can be tested without a stream.
#[tokio::test]
async fn a_message_can_be_made_for_a_test() {
    let message = Message::for_test(MessageId::new(1, 0), 2, order());
    assert_eq!((message.id().to_string(), message.deliveries()), ("1-0".to_owned(), 2));
    assert!(!message.is_lost() && !message.token().is_cancelled());
    assert_eq!(*message, order());
}
