//! Sentinels: asked which server is the master whenever a connection is opened.

use std::io;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Client, RedisError, RedisResult, Value};

use crate::builder::Times;
use crate::check::Greeting;
use crate::connections::Connections;
use crate::place::Manner;

/// Who knows the master.
#[derive(Debug)]
pub(crate) struct Sentinels {
    sentinels: Vec<Client>,
    /// The name under which they watch it.
    master: String,
    manner: Manner,
    times: Times,
}

impl Sentinels {
    pub(crate) fn new(
        sentinels: Vec<Client>,
        master: String,
        manner: Manner,
        times: Times,
    ) -> Self {
        Self { sentinels, master, manner, times }
    }

    pub(crate) fn with_pushes(&self) -> Self {
        Self {
            sentinels: self.sentinels.clone(),
            master: self.master.clone(),
            manner: self.manner.with_pushes(),
            times: self.times,
        }
    }

    pub(crate) fn each(&self) -> &[Client] {
        &self.sentinels
    }

    pub(crate) fn master(&self) -> &str {
        &self.master
    }

    /// The master's database.
    #[cfg(feature = "consumer")]
    pub(crate) fn database(&self) -> i64 {
        self.manner.login.db()
    }

    /// A server of the deployment.
    pub(crate) fn server(&self, host: &str, port: u16) -> RedisResult<Connections> {
        self.manner.connections(host, port, self.times)
    }

    pub(crate) fn address(&self) -> String {
        let sentinels: Vec<_> = self
            .sentinels
            .iter()
            .map(|sentinel| sentinel.get_connection_info().addr().to_string())
            .collect();
        format!("the master `{}` of the sentinels {}", self.master, sentinels.join(", "))
    }

    /// A connection to the first server named that is there and is a master.
    ///
    /// All sentinels are asked at once, and all servers that they name: one that is cut off must not
    /// cost the time of the others, and one that has not heard of a failover yet names a server that
    /// is no master any more, or is not there.
    pub(crate) async fn open(
        &self,
        config: &AsyncConnectionConfig,
    ) -> RedisResult<MultiplexedConnection> {
        let mut named: FuturesUnordered<_> =
            self.sentinels.iter().map(|sentinel| self.ask(sentinel)).collect();
        let mut opening = FuturesUnordered::new();
        let (mut tried, mut fault) = (Vec::new(), None);
        loop {
            tokio::select! {
                Some(answer) = named.next() => match answer {
                    Ok(server) if tried.contains(&server) => {}
                    Ok(server) => {
                        tried.push(server.clone());
                        opening.push(self.open_master(server, config));
                    }
                    // What was found out about a server says more than that a sentinel is away.
                    Err(error) => fault = fault.or(Some(error)),
                },
                Some(opened) = opening.next() => match opened {
                    Ok(connection) => return Ok(connection),
                    Err(error) => fault = Some(error),
                },
                else => break,
            }
        }
        Err(fault.unwrap_or_else(|| io::Error::other("there are no sentinels").into()))
    }

    /// The server that this sentinel holds for the master.
    async fn ask(&self, sentinel: &Client) -> RedisResult<(String, u16)> {
        let config = self.times.connection();
        let mut connection = sentinel.get_multiplexed_async_connection_with_config(&config).await?;
        let mut command = redis::cmd("SENTINEL");
        command.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.master);
        let named: Option<(String, u16)> = command.query_async(&mut connection).await?;
        named.ok_or_else(|| {
            // Not for ever: it may have been started anew, and another one may know better.
            io::Error::other(format!("the sentinels know no master named `{}`", self.master)).into()
        })
    }

    async fn open_master(
        &self,
        (host, port): (String, u16),
        config: &AsyncConnectionConfig,
    ) -> RedisResult<MultiplexedConnection> {
        let client = self.manner.client(&host, port)?;
        let mut connection = client.get_multiplexed_async_connection_with_config(config).await?;
        let greeting = connection.req_packed_command(&redis::cmd("HELLO")).await?;
        if let Value::ServerError(error) = greeting {
            return Err(RedisError::from(error));
        }
        if !Greeting::read(&greeting).is_master() {
            let fault = format!("the sentinels name {host}:{port}, which is no master now");
            return Err(io::Error::other(fault).into());
        }
        Ok(connection)
    }
}
