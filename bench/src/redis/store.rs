//! The server that is measured on: one of the suite's own, or another.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use idem_processes::RedisServer;
use idem_redis::RedisBackend;
use idem_runtime::Idem;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo};

use super::service::TTL;

/// As many commands wait for their turn as on a connection of the backend's.
const QUEUED_COMMANDS: usize = 512;
const SECOND: Duration = Duration::from_secs(1);

/// A server. Dropping it stops one of the suite's own.
pub(crate) struct Store {
    url: String,
    _own: Option<RedisServer>,
}

impl Store {
    /// The server at `url`, or a new one.
    pub(crate) fn at(url: Option<&str>) -> Self {
        match url {
            Some(url) => Self { url: url.to_owned(), _own: None },
            None => {
                let own = RedisServer::start();
                Self { url: own.url(), _own: Some(own) }
            }
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// An `Idem` on it.
    pub(super) async fn idem(&self) -> anyhow::Result<Idem> {
        idem_on(&self.url, &prefix()).await
    }

    /// A bare connection, set up as the backend's are.
    pub(crate) async fn connection(&self) -> anyhow::Result<MultiplexedConnection> {
        let info = self.url.as_str().into_connection_info().context("the address")?;
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(SECOND))
            .set_response_timeout(Some(SECOND))
            .set_pipeline_buffer_size(QUEUED_COMMANDS);
        let client = Client::open(info).context("the address")?;
        client.get_multiplexed_async_connection_with_config(&config).await.context("connecting")
    }

    /// How often each command was carried out so far; those that scripts run are counted as well.
    pub(crate) fn counts(&self) -> anyhow::Result<BTreeMap<String, u64>> {
        let info: String = redis::cmd("INFO").arg("commandstats").query(&mut self.visit()?)?;
        Ok(info.lines().filter_map(count).collect())
    }

    /// Seconds that the server's own thread has run so far.
    pub(crate) fn time(&self) -> anyhow::Result<f64> {
        let info: String = redis::cmd("INFO").arg("cpu").query(&mut self.visit()?)?;
        let times = info.lines().filter_map(|line| line.split_once("_main_thread:"));
        times.map(|(_, time)| time.trim().parse::<f64>().context("the server's times")).sum()
    }

    /// How many subscriptions there are to the changes of a record of this name.
    pub(super) fn watchers(&self, record: &str) -> anyhow::Result<u64> {
        let mut ask = redis::cmd("PUBSUB");
        let (_, count): (String, u64) =
            ask.arg("SHARDNUMSUB").arg(record).query(&mut self.visit()?)?;
        Ok(count)
    }

    /// A connection for a question beside the figures.
    fn visit(&self) -> anyhow::Result<redis::Connection> {
        let client = Client::open(self.url.as_str()).context("the address")?;
        client.get_connection_with_timeout(SECOND * 5).context("connecting")
    }
}

/// An `Idem` with the settings that a service would have, save a short ttl.
pub(super) async fn idem_on(url: &str, prefix: &str) -> anyhow::Result<Idem> {
    let backend = RedisBackend::connect(url).await?;
    Ok(Idem::builder().backend(backend).prefix(prefix).ttl(TTL).build()?)
}

/// Of this process only, so that two runs on one server do not meet.
pub(crate) fn prefix() -> String {
    format!("bench/{}", std::process::id())
}

/// `cmdstat_set:calls=2,usec=…` as `("set", 2)`.
fn count(line: &str) -> Option<(String, u64)> {
    let (command, stat) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
    Some((command.to_owned(), stat.split(',').next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn a_line_of_the_statistics_is_a_command_and_its_count() {
        let line = "cmdstat_config|get:calls=12,usec=30,usec_per_call=2.50,rejected_calls=0";
        assert_eq!(count(line), Some(("config|get".to_owned(), 12)));
        assert_eq!(count("# Commandstats"), None);
    }
}
