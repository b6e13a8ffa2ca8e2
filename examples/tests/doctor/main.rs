//! The doctor as a process: its table, and what it ends with.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use idem_tests::{RedisCluster, RedisServer};

/// What one run said.
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}

fn doctor(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_doctor"));
    command.args(args).env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Said {
    doctor(args).output().expect("it runs").into()
}

/// By a timeout that leaves a busy machine room.
fn look(url: &str) -> Said {
    run(&[url, "--command-timeout", "10000"])
}

/// The lines of the table that begin a finding, without what is known of the version.
fn rows(said: &Said) -> Vec<&str> {
    let begins =
        |line: &&str| !line.starts_with(' ') && !line.starts_with(|c: char| c.is_numeric());
    let lines = said.stdout.lines().filter(|line| !line.is_empty()).filter(begins);
    lines.filter(|line| !line.contains("  version  ")).collect()
}

#[test]
fn what_endangers_the_promises_ends_with_one() {
    let server = RedisServer::start();
    let said = look(&server.url());
    assert_eq!((said.code, &*said.stderr), (Some(1), ""), "{}", said.stdout);
    let rows = rows(&said);
    let [row] = &*rows else { panic!("{}", said.stdout) };
    let address = format!("127.0.0.1:{}", server.port());
    let cells: Vec<_> = row.split_whitespace().take(5).collect();
    assert_eq!(cells, ["endangers", "persistence", &*address, "no", "append-only"]);
    assert!(said.stdout.contains("> set `appendonly yes`"), "{}", said.stdout);
    assert!(said.stdout.contains("\n\n1 endangers, 0 degrades, "), "{}", said.stdout);
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 100), "{}", said.stdout);
}

#[test]
fn a_healthy_server_and_lesser_findings_end_with_zero() {
    let server = RedisServer::start_with(&["--appendonly", "yes"]);
    let said = look(&server.url());
    assert_eq!((said.code, &*said.stderr), (Some(0), ""), "{}", said.stdout);
    assert!(rows(&said).is_empty(), "{}", said.stdout);
    let _: String = server.ask(&["CONFIG", "SET", "maxmemory-policy", "volatile-ttl"]);
    let said = look(&server.url());
    assert_eq!((said.code, &*said.stderr), (Some(0), ""), "{}", said.stdout);
    let rows = rows(&said);
    assert!(rows.len() == 1 && rows[0].starts_with("degrades"), "{}", said.stdout);
}

#[test]
fn what_is_the_same_on_several_nodes_is_one_row() {
    let cluster = RedisCluster::start();
    let said = look(&cluster.url());
    assert_eq!((said.code, &*said.stderr), (Some(1), ""), "{}", said.stdout);
    let persistence = rows(&said).iter().filter(|row| row.contains(" persistence ")).count();
    assert_eq!(persistence, 1, "{}", said.stdout);
    for node in &cluster.nodes()[..3] {
        assert!(said.stdout.contains(&format!("127.0.0.1:{}", node.port())), "{}", said.stdout);
    }
}

#[test]
fn a_prefix_has_the_rights_on_its_keys_looked_at() {
    let server = RedisServer::start_with(&["--appendonly", "yes"]);
    let user = ["ACL", "SETUSER", "idem", "on", ">hunter2", "~shop:*", "&shop:*", "+@all"];
    let _: String = server.ask(&user);
    let url = server.url_of("idem", "hunter2");
    let with = |prefix| run(&[&url, "--prefix", prefix, "--command-timeout", "10000"]);
    assert_eq!(rows(&with("shop")), [""; 0]);
    let said = with("shelf");
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert!(said.stdout.contains("`~shelf:*`"), "{}", said.stdout);
}

#[test]
fn what_cannot_be_looked_at_ends_with_two_and_one_line() {
    let mut server = RedisServer::start();
    let (url, address) = (server.url_of("idem", "hunter2"), server.port());
    let refused = look(&url);
    server.kill();
    let away = look(&url);
    let none = look("redis-cluster://:hunter2@one,,two");
    let unread = run(&[&server.url(), "--root-certificate", "/no/such/file"]);
    for (said, told) in [
        (refused, format!("cannot connect to Redis at 127.0.0.1:{address}: ")),
        (away, "refused".to_owned()),
        (none, "a host is missing".to_owned()),
        (unread, "cannot read /no/such/file".to_owned()),
    ] {
        assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{}", said.stderr);
        assert!(
            said.stderr.starts_with("doctor: ") && said.stderr.contains(&told),
            "{}",
            said.stderr
        );
        assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
        assert!(!said.stderr.contains("hunter2"), "{}", said.stderr);
    }
}

#[test]
fn the_address_may_come_by_standard_input() {
    let server = RedisServer::start();
    let mut child =
        doctor(&["-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    writeln!(stdin, "{}", server.url()).expect("it reads");
    drop(stdin);
    let said = Said::from(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert!(said.stdout.contains("appendonly yes"), "{}", said.stdout);
}

#[test]
fn help_explains_everything_and_a_wrong_command_line_ends_with_two() {
    let said = run(&["--help"]);
    assert_eq!((said.code, &*said.stderr), (Some(0), ""));
    for word in [
        "<ADDRESS>",
        "--prefix",
        "--command-timeout",
        "--root-certificate",
        "endangers",
        "Exit status:",
        "+config|get",
        "RUST_LOG",
    ] {
        assert!(said.stdout.contains(word), "{word} is missing: {}", said.stdout);
    }
    for args in [&[][..], &["redis://localhost", "--command-timeout", "0"], &["a", "b"]] {
        assert_eq!(run(args).code, Some(2), "{args:?}");
    }
}
