//! A real Redis server of a test's own: on a free port, in a folder of its own, without persistence
//! unless that is asked for, gone with the test however that ends.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use redis::FromRedisValue;

use crate::asking::Asking;

/// Longer than a server takes to start on a busy machine; only a failure waits for so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// The shell ends the server when its standard input does: with the `RedisServer`, and also with a
/// test process that is killed. A line kills the server, the next one starts it in the same folder.
const RUN: &str = r#"
dir=$(mktemp -d) && cd "$dir" || exit 1
: >redis.conf
goes_on=0
while [ $goes_on = 0 ]; do
  redis-server redis.conf "$@" </dev/null >/dev/null 2>&1 &
  echo $!
  read -r _; goes_on=$?
  kill -KILL $! 2>/dev/null
  wait $! 2>/dev/null
  [ $goes_on = 0 ] && echo killed && { read -r _; goes_on=$?; }
done
cd / && rm -rf "$dir"
"#;
/// Every change is on the disk before it is answered.
const KEEPING: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct RedisServer {
    port: u16,
    settings: Vec<String>,
    /// Whether what it holds outlives a kill.
    keeps: bool,
    process: Option<Process>,
}

#[derive(Debug)]
struct Process {
    shell: Child,
    /// Dropping it ends the shell, and that the server.
    orders: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
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
        Self::start_or_keep(settings, false)
    }

    /// A server that writes every change to its disk before it answers, and that finds all of it
    /// there when it is started again.
    ///
    /// # Panics
    /// As [`start_with`](Self::start_with).
    #[must_use]
    pub fn start_kept() -> Self {
        Self::start_kept_with(&[])
    }

    /// The same with more settings.
    ///
    /// # Panics
    /// As [`start_with`](Self::start_with).
    #[must_use]
    pub fn start_kept_with(settings: &[&str]) -> Self {
        Self::start_or_keep(&[&KEEPING, settings].concat(), true)
    }

    fn start_or_keep(settings: &[&str], keeps: bool) -> Self {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        // A port that is free now may be another's by the time the server wants it.
        for _ in 0..10 {
            let port = free_port();
            if let Some(process) = Process::start(port, &settings) {
                return Self { port, settings, keeps, process: Some(process) };
            }
        }
        panic!("no redis-server started: is it installed? (apt-get install redis-server)");
    }

    /// Its port, on the loopback interface.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether it has been started and not been killed.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.server != 0)
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
        let reply = Asking::connect(self.port).and_then(|mut server| server.ask(command));
        reply.unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// Sends a command for each of many last arguments, all at once.
    ///
    /// # Panics
    /// If the server refuses one, or does not answer.
    pub fn ask_each<T: FromRedisValue>(&self, command: &[&str], last: &[String]) -> Vec<T> {
        let commands: Vec<_> =
            last.iter().map(|last| [command, &[last.as_str()]].concat()).collect();
        let replies = Asking::connect(self.port).and_then(|mut server| server.ask_all(&commands));
        replies.unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// Waits until as many replicas have all that this server has now.
    ///
    /// # Panics
    /// If they do not.
    pub fn wait_for_replicas(&self, count: usize) {
        let offset = |line: &str| line.rsplit_once("offset=")?.1.split(',').next()?.parse().ok();
        let wanted: u64 = self.info("replication", "master_repl_offset");
        let start = Instant::now();
        loop {
            let info: String = self.ask(&["INFO", "replication"]);
            let replicas = info.lines().filter(|line| line.starts_with("slave"));
            let up_to_date = replicas.filter_map(offset).filter(|has: &u64| *has >= wanted);
            if up_to_date.count() >= count {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "replicas lag behind: {info}");
            sleep(Duration::from_millis(20));
        }
    }

    /// A number out of a section of what the server says of itself.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn info(&self, section: &str, name: &str) -> u64 {
        let info: String = self.ask(&["INFO", section]);
        let field = |line: &str| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok();
        info.lines().find_map(field).unwrap_or_else(|| panic!("no {name} in {info}"))
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

    /// Kills the server, unless that was done, and starts one at the same address: empty, or with
    /// what was kept.
    ///
    /// # Panics
    /// If that does not start.
    pub fn restart(&mut self) {
        self.kill();
        self.process = match self.process.take() {
            Some(kept) => kept.start_again(self.port),
            None => Process::start(self.port, &self.settings),
        };
        assert!(self.process.is_some(), "the server does not start again");
    }

    /// Kills the server, as SIGKILL does.
    pub fn kill(&mut self) {
        if !self.keeps {
            self.process = None;
        } else if let Some(process) = &mut self.process {
            process.kill();
        }
    }

    fn signal(&self, signal: &str) {
        let Some(Process { server: server @ 1.., .. }) = &self.process else {
            panic!("the server was killed")
        };
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
            // What a terminal sends to the tests does not reach it: it ends with them, after them.
            .process_group(0)
            .spawn()
            .ok()?;
        let (orders, says) = (shell.stdin.take(), BufReader::new(shell.stdout.take()?));
        Self { shell, orders, says, server: 0 }.wait_until_it_runs(port)
    }

    /// Starts the server that was killed, with what it kept.
    fn start_again(mut self, port: u16) -> Option<Self> {
        self.order()?;
        self.wait_until_it_runs(port)
    }

    /// Kills the server and leaves its folder; nothing if that was done.
    fn kill(&mut self) {
        if self.server != 0 {
            self.server = 0;
            let killed = self.order().and_then(|()| self.line());
            assert_eq!(killed.as_deref(), Some("killed"));
        }
    }

    fn order(&mut self) -> Option<()> {
        self.orders.as_mut()?.write_all(b"\n").ok()
    }

    /// What the shell says next.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.says.read_line(&mut line).ok()?;
        Some(line.trim().to_owned())
    }

    fn wait_until_it_runs(mut self, port: u16) -> Option<Self> {
        self.server = self.line()?.parse().ok()?;
        self.wait_until_it_answers(port).then_some(self)
    }

    fn wait_until_it_answers(&self, port: u16) -> bool {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let who = Asking::connect(port)
                .and_then(|mut server| server.ask::<String>(&["INFO", "everything"]));
            if let Ok(info) = who
                && !info.contains("\nloading:1\r")
            {
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
        self.orders = None;
        let _ = self.shell.wait();
    }
}

/// A port that nobody listens on now.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn free_port() -> u16 {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr());
    free.unwrap_or_else(|error| panic!("no free port: {error}")).port()
}
