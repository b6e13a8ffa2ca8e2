//! Whether a server will do: asked once, when the backend connects.

use redis::{Pipeline, RedisError, Value};

use crate::cluster::Cluster;
use crate::connections::Connections;
use crate::error::{ConnectError, text, told};
use crate::scripts::{self, Script};
use crate::servers::Servers;

/// The first versions whose `SET` takes `NX` with `GET`, and whose scripts take flags.
const REDIS_NEEDED: (&str, (u32, u32)) = ("7.0", (7, 0));
const VALKEY_NEEDED: (&str, (u32, u32)) = ("7.2", (7, 2));

/// Asks every server for version and role, gives it the scripts, and runs one that does nothing.
pub(crate) async fn check(servers: &Servers) -> Result<(), ConnectError> {
    match servers {
        Servers::One(server) => Server(server).check(Part::Alone).await,
        Servers::Cluster(cluster) => check_cluster(cluster).await,
    }
}

/// One node has to be there; of the others, those that are must do as well.
async fn check_cluster(cluster: &Cluster) -> Result<(), ConnectError> {
    learn(cluster).await?;
    let (mut reached, mut last) = (false, None);
    for node in cluster.nodes() {
        match Server(&node.connections).check(Part::Node).await {
            Ok(()) => reached = true,
            Err(ConnectError::Unreachable { address, reason }) => {
                tracing::warn!(target: "idem", address, reason, "a node of the Redis cluster is away");
                last = Some(ConnectError::Unreachable { address, reason });
            }
            Err(error) => return Err(error),
        }
    }
    match last {
        Some(error) if !reached => Err(error),
        _ => Ok(()),
    }
}

/// Learns which node has which slots.
pub(crate) async fn learn(cluster: &Cluster) -> Result<(), ConnectError> {
    cluster.learn().await.map_err(|error| {
        let (address, reason) = (cluster.address(), reason(&error));
        // What a server says that is no node.
        if reason.contains("cluster support disabled") {
            let needed = "use an address that begins with `redis://`";
            return ConnectError::Role { address, role: "no node of a cluster", needed };
        }
        ConnectError::Unreachable { address, reason }
    })
}

/// What part a server has to play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Alone,
    Node,
}

/// A server that is asked.
#[derive(Clone, Copy)]
pub(crate) struct Server<'a>(pub(crate) &'a Connections);

impl Server<'_> {
    async fn check(&self, part: Part) -> Result<(), ConnectError> {
        let replies = self.ask(Pipeline::new().cmd("HELLO")).await?;
        let greeting = match replies.first() {
            // An older server does not know the command; a newer one wants a password first.
            Some(Value::ServerError(error)) if error.code() != "ERR" => {
                return Err(self.unreachable(text(error)));
            }
            reply => Greeting::read(reply.unwrap_or(&Value::Nil)),
        };
        greeting.check_version()?;
        greeting.check_part(part, self.address())?;
        self.check_scripting().await?;
        let (server, version) = (greeting.server, greeting.version);
        tracing::info!(target: "idem", address = self.address(), server, version, "connected to Redis");
        Ok(())
    }

    pub(crate) async fn ask(&self, commands: &Pipeline) -> Result<Vec<Value>, ConnectError> {
        self.0.send(commands).await.map_err(|error| self.unreachable(reason(&error)))
    }

    pub(crate) fn unreachable(&self, reason: String) -> ConnectError {
        ConnectError::Unreachable { address: self.address(), reason }
    }

    pub(crate) fn address(&self) -> String {
        self.0.place().address()
    }

    async fn check_scripting(&self) -> Result<(), ConnectError> {
        let nothing = Script::new("return 1");
        let mut commands = Pipeline::new();
        for script in scripts::all().into_iter().chain([&nothing]) {
            commands.add_command(script.load());
        }
        commands.add_command(nothing.on_nothing());
        for reply in self.ask(&commands).await? {
            if let Value::ServerError(error) = reply {
                return Err(match error.code() {
                    // No right to it, or renamed away.
                    "NOPERM" | "ERR" => ConnectError::Scripting(text(&error)),
                    _ => self.unreachable(text(&error)),
                });
            }
        }
        Ok(())
    }
}

/// Why a server cannot be reached, and what to do where that is plain.
pub(crate) fn reason(error: &RedisError) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut reason = told(error);
    let advice = [
        ("UnknownIssuer", "set `root_certificate` to the certificate of who signed the server's"),
        ("CertificateRequired", "set `client_certificate`"),
        ("command 'SENTINEL'", "the server there is no sentinel"),
    ];
    if let Some((_, advice)) = advice.iter().find(|(of, _)| reason.contains(of)) {
        reason.push_str("; ");
        reason.push_str(advice);
    }
    reason
}

/// What a server says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub(crate) server: String,
    pub(crate) version: String,
    mode: String,
    role: String,
}

impl Greeting {
    /// `HELLO` changes nothing, and no user can be denied it. A server that does not know it says so:
    /// it is older than 6.0, and has nothing to read here.
    pub(crate) fn read(reply: &Value) -> Self {
        let mut greeting = Self::default();
        let fields: Vec<(&Value, &Value)> = match reply {
            Value::Array(flat) => {
                flat.chunks_exact(2).map(|field| (&field[0], &field[1])).collect()
            }
            Value::Map(fields) => fields.iter().map(|(name, value)| (name, value)).collect(),
            _ => Vec::new(),
        };
        for (name, value) in fields {
            match word(name).as_str() {
                "server" => greeting.server = word(value),
                "version" => greeting.version = word(value),
                "mode" => greeting.mode = word(value),
                "role" => greeting.role = word(value),
                _ => {}
            }
        }
        greeting
    }

    fn check_version(&self) -> Result<(), ConnectError> {
        let (needed, least) = if self.server == "valkey" { VALKEY_NEEDED } else { REDIS_NEEDED };
        let mut numbers = self.version.split('.').map(str::parse);
        let found = match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Some((major, minor)),
            _ => None,
        };
        if found.is_some_and(|found| found >= least) {
            return Ok(());
        }
        let or = |text: &str, other: &str| {
            if text.is_empty() { other.to_owned() } else { text.to_owned() }
        };
        Err(ConnectError::TooOld {
            server: or(&self.server, "redis"),
            found: or(&self.version, "before 6.0"),
            needed,
        })
    }

    pub(crate) fn is_master(&self) -> bool {
        // Newer servers may say it in their newer word.
        !matches!(&*self.role, "slave" | "replica")
    }

    fn check_part(&self, part: Part, address: String) -> Result<(), ConnectError> {
        let (role, needed) = match (&*self.mode, part) {
            ("sentinel", _) => {
                ("a sentinel", "use an address that begins with `redis-sentinel://`")
            }
            ("cluster", Part::Alone) => {
                ("a node of a cluster", "use an address that begins with `redis-cluster://`")
            }
            (_, Part::Alone) if !self.is_master() => {
                ("a read replica", "connect to a standalone server or to the master")
            }
            _ => return Ok(()),
        };
        Err(ConnectError::Role { address, role, needed })
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(server: &str, version: &str) -> Greeting {
        Greeting { server: server.into(), version: version.into(), ..Greeting::default() }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        for (server, version) in
            [("redis", "7.0.0"), ("redis", "7.0.15"), ("redis", "10.1.0"), ("valkey", "8.0.1")]
        {
            assert!(greeting(server, version).check_version().is_ok(), "{server} {version}");
        }
        for (server, version) in
            [("redis", "6.2.14"), ("valkey", "7.1.9"), ("redis", "x"), ("", "")]
        {
            assert!(greeting(server, version).check_version().is_err(), "{server} {version}");
        }
    }

    #[test]
    fn the_version_found_and_the_one_needed_are_told() {
        let told = |greeting: &Greeting| greeting.check_version().expect_err("too old").to_string();
        assert_eq!(
            told(&greeting("redis", "6.2.14")),
            "redis 6.2.14 is too old for idem: it needs 7.0 or later"
        );
        assert_eq!(
            told(&Greeting::read(&Value::Nil)),
            "redis before 6.0 is too old for idem: it needs 7.0 or later"
        );
    }

    #[test]
    fn a_greeting_is_read_as_a_list_and_as_a_map() {
        let text = |text: &str| Value::BulkString(text.into());
        let flat = Value::Array(vec![
            text("server"),
            text("redis"),
            text("version"),
            text("7.4.1"),
            text("proto"),
            Value::Int(2),
            text("role"),
            text("slave"),
        ]);
        let read = Greeting::read(&flat);
        assert_eq!((&*read.version, &*read.role), ("7.4.1", "slave"));
        let map =
            Value::Map(vec![(text("server"), text("valkey")), (text("mode"), text("cluster"))]);
        assert_eq!(Greeting::read(&map).mode, "cluster");
    }
}
