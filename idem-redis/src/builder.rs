//! Settings of the backend, and its connection.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisResult};
use tokio::time::timeout;

use crate::RedisBackend;
use crate::address::Address;
use crate::check::check;
use crate::doctor;
use crate::error::ConnectError;
use crate::place::{Certificates, Place};
use crate::servers::Servers;

/// Commands that may wait for their turn to be written.
const QUEUED_COMMANDS: usize = 512;

/// The longest that opening a connection and waiting for a reply may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) connect: Duration,
    pub(crate) command: Duration,
}

impl Times {
    /// Settings of a connection that keeps to these times.
    pub(crate) fn connection(self) -> AsyncConnectionConfig {
        AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect))
            .set_response_timeout(Some(self.command))
            .set_pipeline_buffer_size(QUEUED_COMMANDS)
    }

    /// Opens a connection in the time for it, looking for the server included.
    pub(crate) async fn open(
        self,
        place: &Place,
        config: AsyncConnectionConfig,
    ) -> RedisResult<MultiplexedConnection> {
        match timeout(self.connect, place.open(&config)).await {
            Ok(opened) => opened,
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        }
    }
}

/// Settings of a [`RedisBackend`].
#[must_use]
pub struct RedisBuilder {
    url: String,
    times: Times,
    certificates: Certificates,
}

impl RedisBuilder {
    pub(crate) fn new(url: String) -> Self {
        let second = Duration::from_secs(1);
        Self {
            url,
            times: Times { connect: second, command: second },
            certificates: Certificates::default(),
        }
    }

    /// The longest that opening a connection may take, its greeting included. Default: 1 s.
    pub fn connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.times.connect = connect_timeout;
        self
    }

    /// The longest wait for the reply to a command; after it the connection is given up, and the
    /// command counts as unanswered. Default: 1 s.
    ///
    /// Keep it below an eighth of the shortest lease, which is what a renewal has, and below the
    /// `store_timeout` of the `Idem`, so that a command that got lost is sent again in time.
    pub fn command_timeout(mut self, command_timeout: Duration) -> Self {
        self.times.command = command_timeout;
        self
    }

    /// The certificates in PEM that sign those of the servers, in place of the system's. For addresses
    /// that begin with `rediss`.
    ///
    /// Encryption is that of rustls, from TLS 1.2 on. It uses the process's cryptography provider; where
    /// none has been installed when the backend connects, `ring` is installed for the process.
    #[cfg(feature = "tls")]
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.certificates.root = Some(pem.into());
        self
    }

    /// The certificate and its key in PEM that the service shows. Default: none is shown.
    #[cfg(feature = "tls")]
    pub fn client_certificate(
        mut self,
        certificate: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        let (client_cert, client_key) = (certificate.into(), key.into());
        self.certificates.client = Some(redis::ClientTlsConfig { client_cert, client_key });
        self
    }

    /// Connects, and looks whether the servers will do: their version, their role, and whether the
    /// user may run scripts.
    ///
    /// Of a cluster one node has to be there; one that is away is told of in the log. So is a
    /// setting that endangers what idem promises, as far as `INFO` shows it and the user may ask for
    /// it; [`RedisBackend::doctor`] finds more.
    ///
    /// # Errors
    /// [`ConnectError`] says what is wrong and what to change.
    pub async fn connect(self) -> Result<RedisBackend, ConnectError> {
        let Self { url, times, certificates } = self;
        if times.connect.is_zero() || times.command.is_zero() {
            let fault = "the connect and the command timeout are more than zero";
            return Err(ConnectError::Setting(fault.to_owned()));
        }
        let servers = Servers::new(Address::parse(&url)?, times, &certificates)?;
        check(&servers).await?;
        doctor::warn(&servers, times).await;
        Ok(RedisBackend::new(Arc::new(servers), times))
    }
}

impl fmt::Debug for RedisBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may hold a password.
        let Self { url: _, times, certificates: _ } = self;
        f.debug_struct("RedisBuilder").field("times", times).finish_non_exhaustive()
    }
}
