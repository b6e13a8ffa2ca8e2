//! Places: where a connection goes, and as whom.

use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, ProtocolVersion,
    RedisConnectionInfo, RedisResult,
};

use crate::builder::Times;
use crate::connections::Connections;
use crate::sentinels::Sentinels;

/// Where a connection goes: each opening looks anew.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// One server.
    Server(Arc<Client>),
    /// The server that sentinels name the master.
    Master(Arc<Sentinels>),
}

impl Place {
    pub(crate) async fn open(
        &self,
        config: &AsyncConnectionConfig,
    ) -> RedisResult<MultiplexedConnection> {
        match self {
            Self::Server(client) => {
                client.get_multiplexed_async_connection_with_config(config).await
            }
            Self::Master(sentinels) => sentinels.open(config).await,
        }
    }

    /// The same place, spoken to by RESP3, by which a server tells of changes.
    pub(crate) fn with_pushes(&self) -> RedisResult<Self> {
        match self {
            Self::Server(client) => {
                let info = client.get_connection_info().clone();
                let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
                Ok(Self::Server(Arc::new(Client::open(info.set_redis_settings(settings))?)))
            }
            Self::Master(sentinels) => Ok(Self::Master(Arc::new(sentinels.with_pushes()))),
        }
    }

    /// The server's host; empty where that is not a fixed one.
    pub(crate) fn host(&self) -> &str {
        match self {
            Self::Server(client) => match client.get_connection_info().addr() {
                ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host,
                _ => "",
            },
            Self::Master(_) => "",
        }
    }

    /// The server and the database.
    #[cfg(feature = "consumer")]
    pub(crate) fn identity(&self) -> String {
        let database = match self {
            Self::Server(client) => client.get_connection_info().redis_settings().db(),
            Self::Master(sentinels) => sentinels.database(),
        };
        format!("{}/{database}", self.address())
    }

    /// For a person: host and port, the socket's path, or the master's name.
    pub(crate) fn address(&self) -> String {
        match self {
            Self::Server(client) => client.get_connection_info().addr().to_string(),
            Self::Master(sentinels) => sentinels.address(),
        }
    }
}

/// As whom and how every server of a deployment is spoken to.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    pub(crate) login: RedisConnectionInfo,
    pub(crate) encrypted: bool,
    pub(crate) certificates: Certificates,
}

impl Manner {
    pub(crate) fn client(&self, host: &str, port: u16) -> RedisResult<Client> {
        let host = host.to_owned();
        let address = if self.encrypted {
            ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None }
        } else {
            ConnectionAddr::Tcp(host, port)
        };
        let info = redis::IntoConnectionInfo::into_connection_info(address)?;
        self.certificates.client(info.set_redis_settings(self.login.clone()))
    }

    /// Connections to a server of the deployment.
    pub(crate) fn connections(
        &self,
        host: &str,
        port: u16,
        times: Times,
    ) -> RedisResult<Connections> {
        let place = Place::Server(Arc::new(self.client(host, port)?));
        Ok(Connections::new(place, times))
    }

    pub(crate) fn with_pushes(&self) -> Self {
        let login = self.login.clone().set_protocol(ProtocolVersion::RESP3);
        Self { login, ..self.clone() }
    }
}

/// Which certificates are trusted, and which one is shown; the system's and none unless set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Certificates {
    #[cfg(feature = "tls")]
    pub(crate) root: Option<Vec<u8>>,
    #[cfg(feature = "tls")]
    pub(crate) client: Option<redis::ClientTlsConfig>,
}

impl Certificates {
    /// # Errors
    /// Certificates that would not be heeded or trust nobody.
    pub(crate) fn check(&self, encrypted: bool) -> Result<(), &'static str> {
        #[cfg(feature = "tls")]
        {
            if !encrypted && (self.root.is_some() || self.client.is_some()) {
                return Err("certificates are for addresses that begin with `rediss`");
            }
            let begins = b"-----BEGIN CERTIFICATE-----";
            let is_none = |pem: &Vec<u8>| !pem.windows(begins.len()).any(|part| part == begins);
            if self.root.as_ref().is_some_and(is_none) {
                return Err("the root certificate is no certificate in PEM");
            }
        }
        let _ = encrypted;
        Ok(())
    }

    /// A client for this address, with the settings that all connections share.
    pub(crate) fn client(&self, info: ConnectionInfo) -> RedisResult<Client> {
        // Commands are small and many: held back for a fuller packet, each would wait for the last.
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        #[cfg(feature = "tls")]
        if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            choose_cryptography();
            let certificates = redis::TlsCertificates {
                client_tls: self.client.clone(),
                root_cert: self.root.clone(),
            };
            return Client::build_with_tls(info, certificates);
        }
        Client::open(info)
    }
}

/// Makes sure that the process has a cryptography provider: where two are compiled in and none was
/// chosen, rustls would panic at the first connection.
#[cfg(feature = "tls")]
fn choose_cryptography() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have been faster, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}
