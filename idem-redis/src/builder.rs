//! Settings of the backend, and its connection.

use std::fmt;
use std::time::Duration;

use redis::io::tcp::TcpSettings;
use redis::{Client, ConnectionInfo, IntoConnectionInfo};

use crate::RedisBackend;
use crate::changes::Changes;
use crate::check::check;
use crate::connections::Connections;
use crate::error::ConnectError;

/// The longest that opening a connection and waiting for a reply may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) connect: Duration,
    pub(crate) command: Duration,
}

/// Settings of a [`RedisBackend`].
#[must_use]
pub struct RedisBuilder {
    url: String,
    times: Times,
}

impl RedisBuilder {
    pub(crate) fn new(url: String) -> Self {
        let second = Duration::from_secs(1);
        Self { url, times: Times { connect: second, command: second } }
    }

    /// The longest that opening a connection may take, its greeting included. Default: 1 s.
    pub const fn connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.times.connect = connect_timeout;
        self
    }

    /// The longest wait for the reply to a command; after it the connection is given up, and the
    /// command counts as unanswered. Default: 1 s.
    ///
    /// Keep it below an eighth of the shortest lease, which is what a renewal has, and below the
    /// `store_timeout` of the `Idem`, so that a command that got lost is sent again in time.
    pub const fn command_timeout(mut self, command_timeout: Duration) -> Self {
        self.times.command = command_timeout;
        self
    }

    /// Connects, and looks whether the server will do: its version, its role, and whether the user
    /// may run scripts.
    ///
    /// # Errors
    /// [`ConnectError`] says what is wrong and what to change.
    pub async fn connect(self) -> Result<RedisBackend, ConnectError> {
        if self.times.connect.is_zero() || self.times.command.is_zero() {
            let fault = "the connect and the command timeout are more than zero";
            return Err(ConnectError::Setting(fault.to_owned()));
        }
        let client = client(&self.url)?;
        let connections = Connections::new(client.clone(), self.times);
        check(&connections).await?;
        Ok(RedisBackend::new(connections, Changes::new(client, self.times), self.times))
    }
}

fn client(url: &str) -> Result<Client, ConnectError> {
    // The library's errors about addresses never repeat the address, which may hold a password.
    let unusable = |error: redis::RedisError| ConnectError::Setting(error.to_string());
    let info: ConnectionInfo = url.into_connection_info().map_err(unusable)?;
    // Commands are small and many: held back for a fuller packet, each would wait for the last.
    let tcp = TcpSettings::default().set_nodelay(true);
    Client::open(info.set_tcp_settings(tcp)).map_err(unusable)
}

impl fmt::Debug for RedisBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may hold a password.
        let Self { url: _, times } = self;
        f.debug_struct("RedisBuilder").field("times", times).finish_non_exhaustive()
    }
}
