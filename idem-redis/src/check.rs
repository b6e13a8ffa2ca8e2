//! Whether a server will do: asked once, when the backend connects.

use redis::{Pipeline, Value};

use crate::connections::Connections;
use crate::error::{ConnectError, text};
use crate::scripts::{self, Script};

/// The first versions whose `SET` takes `NX` with `GET`, and whose scripts take flags.
const REDIS_NEEDED: (&str, (u32, u32)) = ("7.0", (7, 0));
const VALKEY_NEEDED: (&str, (u32, u32)) = ("7.2", (7, 2));

/// Asks for version and role, loads the scripts, and runs one that does nothing.
pub(crate) async fn check(connections: &Connections) -> Result<(), ConnectError> {
    let replies = ask(connections, Pipeline::new().cmd("HELLO")).await?;
    let greeting = match replies.first() {
        // An older server does not know the command; a newer one wants a password first.
        Some(Value::ServerError(error)) if error.code() != "ERR" => {
            return Err(unreachable(connections, text(error)));
        }
        reply => Greeting::read(reply.unwrap_or(&Value::Nil)),
    };
    greeting.check_version()?;
    greeting.check_role(connections)?;
    check_scripting(connections).await?;
    tracing::info!(
        target: "idem",
        address = connections.address(),
        server = greeting.server,
        version = greeting.version,
        "connected to Redis"
    );
    Ok(())
}

async fn ask(connections: &Connections, commands: &Pipeline) -> Result<Vec<Value>, ConnectError> {
    connections.send(commands).await.map_err(|error| {
        let silent = "no answer in time".to_owned();
        unreachable(connections, if error.is_timeout() { silent } else { error.to_string() })
    })
}

fn unreachable(connections: &Connections, reason: String) -> ConnectError {
    ConnectError::Unreachable { address: connections.address(), reason }
}

async fn check_scripting(connections: &Connections) -> Result<(), ConnectError> {
    let nothing = Script::new("return 1");
    let mut commands = Pipeline::new();
    for script in scripts::all().into_iter().chain([&nothing]) {
        commands.add_command(script.load());
    }
    commands.add_command(nothing.on_nothing());
    for reply in ask(connections, &commands).await? {
        if let Value::ServerError(error) = reply {
            return Err(match error.code() {
                // No right to it, or renamed away.
                "NOPERM" | "ERR" => ConnectError::Scripting(text(&error)),
                _ => unreachable(connections, text(&error)),
            });
        }
    }
    Ok(())
}

/// What a server says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
struct Greeting {
    server: String,
    version: String,
    mode: String,
    role: String,
}

impl Greeting {
    /// `HELLO` changes nothing, and no user can be denied it. A server that does not know it says so:
    /// it is older than 6.0, and has nothing to read here.
    fn read(reply: &Value) -> Self {
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

    fn check_role(&self, connections: &Connections) -> Result<(), ConnectError> {
        let role = match (self.mode.as_str(), self.role.as_str()) {
            ("cluster", _) => "a node of a cluster",
            ("sentinel", _) => "a sentinel",
            // Newer servers may say it in their newer word.
            (_, "slave" | "replica") => "a read replica",
            _ => return Ok(()),
        };
        Err(ConnectError::Role { address: connections.address(), role: role.to_owned() })
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
