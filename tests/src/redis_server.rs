//! A real Redis server of a test's own: on a free port, in a folder of its own, without persistence,
//! gone with the test however that ends.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use redis::{Connection, FromRedisValue, RedisResult};

/// Longer than a server takes to start on a busy machine; only a failure waits for so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// The shell ends the server when its standard input does: with the `RedisServer`, and also with a
/// test process that is killed.
const RUN: &str = r#"
dir=$(mktemp -d) && cd "$dir" || exit 1
redis-server "$@" </dev/null >/dev/null 2>&1 &
echo $!
cat >/dev/null
kill -KILL $! 2>/dev/null
wait $! 2>/dev/null
cd / && rm -rf "$dir"
"#;

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct RedisServer {
    port: u16,
    settings: Vec<String>,
    process: Option<Process>,
}

#[derive(Debug)]
struct Process {
    shell: Child,
    /// Dropping it ends the shell, and that the server.
    ends: Option<ChildStdin>,
    server: u32,
}

impl RedisServer {
    /// A server with its usual settings, and nothing kept on the disk.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// A server with more settings, as on its command line: `--maxmemory`, `2mb`.
    ///
    /// # Panics
    /// If there is no `redis-server`, or it does not start.
    #[must_use]
    pub fn start_with(settings: &[&str]) -> Self {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        // A port that is free now may be another's by the time the server wants it.
        for _ in 0..10 {
            let port = free_port();
            if let Some(process) = Process::start(port, &settings) {
                return Self { port, settings, process: Some(process) };
            }
        }
        panic!("no redis-server started: is it installed? (apt-get install redis-server)");
    }

    /// Its port, on the loopback interface.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Its address for a user of its access control list.
    #[must_use]
    pub fn url_of(&self, user: &str, password: &str) -> String {
        format!("redis://{user}:{password}@127.0.0.1:{}", self.port)
    }

    /// Sends a command on a connection of its own.
    ///
    /// # Panics
    /// If the server refuses it, or does not answer.
    pub fn ask<T: FromRedisValue>(&self, command: &[&str]) -> T {
        let reply = connect(self.port).and_then(|mut server| query(&mut server, command));
        reply.unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// How often each command was carried out since the counters were reset.
    #[must_use]
    pub fn calls(&self, command: &str) -> u64 {
        let stats: String = self.ask(&["INFO", "commandstats"]);
        let line = format!("cmdstat_{command}:calls=");
        stats
            .lines()
            .find_map(|stat| stat.strip_prefix(&line)?.split(',').next()?.parse().ok())
            .unwrap_or(0)
    }

    /// Stops the process where it is, as SIGSTOP does; it keeps its connections.
    pub fn pause(&self) {
        self.signal("-STOP");
    }

    /// Lets a stopped process go on.
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    /// Kills the server and starts an empty one at the same address.
    ///
    /// # Panics
    /// If that does not start.
    pub fn restart(&mut self) {
        self.kill();
        self.process = Process::start(self.port, &self.settings);
        assert!(self.process.is_some(), "the server does not start again");
    }

    /// Kills the server.
    pub fn kill(&mut self) {
        self.process = None;
    }

    fn signal(&self, signal: &str) {
        let Some(Process { server, .. }) = &self.process else { panic!("the server was killed") };
        let sent = Command::new("kill").args([signal, &server.to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal} {server}");
    }
}

impl Process {
    /// Starts a server and waits until it answers; `None` if it does not, or another one does.
    fn start(port: u16, settings: &[String]) -> Option<Self> {
        let mut shell = Command::new("sh")
            .args(["-c", RUN, "sh", "--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no"])
            .args(settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let (ends, stdout) = (shell.stdin.take(), shell.stdout.take()?);
        let mut server = String::new();
        BufReader::new(stdout.take(32)).read_line(&mut server).ok()?;
        let process = Self { shell, ends, server: server.trim().parse().ok()? };
        process.wait_until_it_answers(port).then_some(process)
    }

    fn wait_until_it_answers(&self, port: u16) -> bool {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let who = connect(port)
                .and_then(|mut server| query::<String>(&mut server, &["INFO", "server"]));
            if let Ok(info) = who {
                return info.contains(&format!("process_id:{}\r\n", self.server));
            }
            if !self.is_there() {
                return false;
            }
            sleep(Duration::from_millis(5));
        }
        false
    }

    fn is_there(&self) -> bool {
        let asked = Command::new("kill")
            .args(["-0", &self.server.to_string()])
            .stderr(Stdio::null())
            .status();
        asked.is_ok_and(|status| status.success())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.ends = None;
        let _ = self.shell.wait();
    }
}

fn free_port() -> u16 {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr());
    free.unwrap_or_else(|error| panic!("no free port: {error}")).port()
}

fn connect(port: u16) -> RedisResult<Connection> {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}"))?;
    let connection = client.get_connection_with_timeout(Duration::from_secs(5))?;
    connection.set_read_timeout(Some(Duration::from_secs(5)))?;
    Ok(connection)
}

fn query<T: FromRedisValue>(server: &mut Connection, command: &[&str]) -> RedisResult<T> {
    let Some((name, arguments)) = command.split_first() else { panic!("no command") };
    redis::cmd(name).arg(arguments).query(server)
}
