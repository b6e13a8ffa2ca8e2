//! The proxy itself: that it does to commands what a fault says, and nothing to others.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use idem_tests::{Aim, Fault, RedisServer, eventually};

use super::Rig;

/// A client that writes what it is told and takes what comes.
struct Client(TcpStream);

impl Client {
    fn of(rig: &Rig) -> Self {
        let address = rig.proxy.url().replace("redis://", "");
        let stream = TcpStream::connect(address).unwrap();
        // Longer than any answer takes; only a failure waits for so long.
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self(stream)
    }

    fn write(&mut self, bytes: &str) {
        self.0.write_all(bytes.as_bytes()).unwrap();
    }

    fn expect(&mut self, bytes: &str) {
        let mut read = vec![0; bytes.len()];
        self.0.read_exact(&mut read).unwrap();
        assert_eq!(String::from_utf8_lossy(&read), bytes);
    }

    /// The connection is closed, and nothing comes before that.
    fn is_closed(&mut self) {
        match self.read() {
            Ok(count) => assert_eq!(count, 0),
            Err(error) => assert_eq!(error, ErrorKind::ConnectionReset),
        }
    }

    fn read(&mut self) -> Result<usize, ErrorKind> {
        loop {
            match self.0.read(&mut [0; 64]).map_err(|error| error.kind()) {
                Err(ErrorKind::Interrupted) => {}
                read => return read,
            }
        }
    }

    /// Nothing comes, and the connection stays open.
    fn is_silent(&mut self) {
        self.0.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        assert_eq!(self.read(), Err(ErrorKind::WouldBlock));
        self.0.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    }
}

fn set(key: &str) -> String {
    format!("*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n$1\r\n1\r\n", key.len())
}

fn is_there(server: &RedisServer, key: &str) -> bool {
    server.ask(&["EXISTS", key])
}

#[tokio::test]
async fn without_a_fault_everything_passes() {
    let rig = Rig::start();
    let (mut one, mut other) = (Client::of(&rig), Client::of(&rig));
    // Byte by byte.
    for byte in set("a").chars() {
        one.write(&byte.to_string());
    }
    one.expect("+OK\r\n");
    other.write(&format!("*2\r\n$3\r\nGET\r\n$1\r\na\r\n{}*1\r\n$4\r\nPING\r\n", set("b")));
    other.expect("$1\r\n1\r\n+OK\r\n+PONG\r\n");
    assert_eq!(rig.proxy.answered(&Aim::all()), 4);
    assert_eq!(rig.proxy.passed(&Aim::command("set").about("b")), 1);
    assert_eq!(rig.proxy.came(&Aim::command("DEL")), 0);
}

#[tokio::test]
async fn a_request_that_is_cut_is_not_carried_out_and_what_went_before_is() {
    for bytes in [0, 1, 20] {
        let rig = Rig::start();
        let trap = rig.proxy.on_request(Aim::command("SET").nth(2), Fault::Cut(bytes));
        let mut client = Client::of(&rig);
        client.write(&[set("a"), set("b"), set("c")].concat());
        trap.strikes().await;
        eventually("what went before is carried out", || is_there(&rig.server, "a")).await;
        assert!(!is_there(&rig.server, "b") && !is_there(&rig.server, "c"));
        assert_eq!((rig.proxy.came(&Aim::all()), rig.proxy.passed(&Aim::all())), (2, 1));
        // It strikes once.
        let mut again = Client::of(&rig);
        again.write(&set("b"));
        again.expect("+OK\r\n");
        assert_eq!(trap.struck(), 1);
    }
}

#[tokio::test]
async fn a_request_that_is_cut_at_its_end_is_carried_out() {
    let rig = Rig::start();
    rig.proxy.on_request(Aim::command("SET"), Fault::Cut(usize::MAX));
    let mut client = Client::of(&rig);
    client.write(&set("a"));
    client.is_closed();
    eventually("it is carried out", || is_there(&rig.server, "a")).await;
    assert_eq!((rig.proxy.passed(&Aim::all()), rig.proxy.answered(&Aim::all())), (1, 0));
}

#[tokio::test]
async fn a_reply_is_cut_at_its_byte() {
    for bytes in 0..=5 {
        let rig = Rig::start();
        let trap = rig.proxy.on_reply(Aim::command("SET").about("b"), Fault::Cut(bytes));
        let mut client = Client::of(&rig);
        client.write(&[set("a"), set("b")].concat());
        client.expect("+OK\r\n");
        client.expect(&"+OK\r\n"[..bytes]);
        client.is_closed();
        assert_eq!(trap.struck(), 1);
        assert!(is_there(&rig.server, "b"));
        // The client may have all of it and yet no connection any more.
        assert_eq!(rig.proxy.answered(&Aim::all()), if bytes == 5 { 2 } else { 1 });
    }
}

#[tokio::test]
async fn what_is_held_goes_on_when_that_is_lifted() {
    let rig = Rig::start();
    let mut client = Client::of(&rig);
    let request = rig.proxy.on_request(Aim::command("SET").about("b"), Fault::Hold);
    client.write(&[set("a"), set("b"), set("c")].concat());
    client.expect("+OK\r\n");
    client.is_silent();
    assert_eq!((request.struck(), rig.proxy.came(&Aim::all())), (1, 2));
    assert!(!is_there(&rig.server, "b"));
    let reply = rig.proxy.on_reply(Aim::all(), Fault::Hold);
    request.lift();
    reply.strikes().await;
    client.is_silent();
    assert!(is_there(&rig.server, "b"));
    rig.proxy.heal();
    client.expect("+OK\r\n+OK\r\n");
}

/// A request is carried out although whoever sent it is gone by then.
#[tokio::test]
async fn what_is_held_outlives_its_client() {
    let rig = Rig::start();
    let mut client = Client::of(&rig);
    let trap = rig.proxy.on_request(Aim::all(), Fault::Hold);
    client.write(&set("a"));
    trap.strikes().await;
    drop(client);
    trap.lift();
    eventually("it is carried out", || is_there(&rig.server, "a")).await;
}

#[tokio::test]
async fn what_is_swallowed_never_comes() {
    let rig = Rig::start();
    let (mut client, mut other) = (Client::of(&rig), Client::of(&rig));
    let reply = rig.proxy.on_reply(Aim::command("SET").about("a"), Fault::Swallow);
    client.write(&[set("a"), set("b")].concat());
    reply.strikes().await;
    rig.proxy.heal();
    client.is_silent();
    eventually("both are carried out", || is_there(&rig.server, "b")).await;
    let request = rig.proxy.on_request(Aim::all(), Fault::Swallow);
    other.write(&set("c"));
    request.strikes().await;
    rig.proxy.heal();
    other.write(&set("d"));
    other.is_silent();
    assert!(!is_there(&rig.server, "c") && !is_there(&rig.server, "d"));
}

#[tokio::test]
async fn a_delay_takes_its_time() {
    let rig = Rig::start();
    let by = Duration::from_millis(300);
    rig.proxy.on_reply(Aim::command("SET").nth(1), Fault::Delay(by));
    let mut client = Client::of(&rig);
    let start = std::time::Instant::now();
    client.write(&[set("a"), set("b")].concat());
    client.expect("+OK\r\n+OK\r\n");
    assert!(start.elapsed() >= by, "{:?}", start.elapsed());
}

#[tokio::test]
async fn connections_are_cut_and_refused() {
    let rig = Rig::start();
    let mut client = Client::of(&rig);
    client.write(&set("a"));
    client.expect("+OK\r\n");
    rig.proxy.refuse(true);
    rig.proxy.cut();
    client.is_closed();
    Client::of(&rig).is_closed();
    rig.proxy.heal();
    let mut client = Client::of(&rig);
    client.write(&set("b"));
    client.expect("+OK\r\n");
}

/// Replies of a subscription belong to it, one for each channel; messages belong to nothing.
#[tokio::test]
async fn replies_are_told_from_what_comes_unasked() {
    for (greeting, greeted) in [("", false), ("*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n", true)] {
        let rig = Rig::start();
        let mut client = Client::of(&rig);
        client.write(greeting);
        client.write("*3\r\n$9\r\nSUBSCRIBE\r\n$1\r\na\r\n$1\r\nb\r\n");
        let subscribed = Aim::command("SUBSCRIBE");
        eventually("subscribed", || rig.proxy.answered(&subscribed) == 1).await;
        let ping = rig.proxy.on_reply(Aim::command("PING"), Fault::Cut(0));
        for _ in 0..3 {
            let told: u64 = rig.server.ask(&["PUBLISH", "a", "message"]);
            assert_eq!(told, 1);
        }
        // Refused, since it has no channel; and the command after it.
        client.write("*1\r\n$9\r\nSUBSCRIBE\r\n*1\r\n$4\r\nPING\r\n");
        ping.strikes().await;
        assert_eq!(rig.proxy.answered(&Aim::all()), 2 + usize::from(greeted));
    }
}
