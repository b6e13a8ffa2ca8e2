//! What can go wrong on the way between a process and its server, and with the server itself.
//!
//! In each: no two owners run at once where the protocol promises it, nothing is lost that was
//! stored, every error is the documented one, and a later call on the same `Idem` works.

use std::time::Duration;

use idem_redis::{RedisBackend, RedisBuilder};
use idem_tests::{Aim, Proxy, RedisServer};

use crate::kit::{Process, process_with};

mod clients_killed;
mod cut;
mod cut_anywhere;
mod forgotten;
mod late_begin;
mod load;
mod late_replies;
mod late_requests;
mod proxy;
mod restarts;
mod silence;

/// A script's code, to aim at its calls.
macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(const $name: &str = include_str!(concat!("../../../../idem-redis/scripts/", $file));)*
    };
}

scripts! {
    RENEW = "renew.lua";
    COMPLETE = "complete.lua";
    RELEASE = "release.lua";
    REPLACE = "replace.lua";
    FENCE = "fence.lua";
    PEEK = "peek.lua";
}

/// A lease that does not end by itself within a test, and that is renewed within it.
const LONG_LEASE: Duration = Duration::from_secs(8);

/// Longer than anything takes that is not kept from its end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server, and a proxy in front of it.
struct Rig {
    proxy: Proxy,
    server: RedisServer,
}

impl Rig {
    fn start() -> Self {
        Self::before(RedisServer::start())
    }

    fn before(server: RedisServer) -> Self {
        Self { proxy: Proxy::start(&server), server }
    }

    /// A backend that has connected by way of the proxy, and waits for a reply longer than a busy
    /// machine takes for one.
    async fn connect(&self) -> RedisBackend {
        self.connect_with(|builder| builder.connect_timeout(PATIENCE).command_timeout(PATIENCE))
            .await
    }

    async fn connect_with(
        &self,
        settings: impl FnOnce(RedisBuilder) -> RedisBuilder,
    ) -> RedisBackend {
        settings(RedisBackend::builder(self.proxy.url())).connect().await.unwrap()
    }

    /// A process by way of the proxy, with [`LONG_LEASE`] and [`PATIENCE`].
    async fn process(&self) -> Process {
        process_with(self.connect().await, |builder| {
            builder.lease(LONG_LEASE).store_timeout(PATIENCE)
        })
    }
}

/// The calls of a script on the record of `Process::call`.
fn script_on(code: &str, key: &str) -> Aim {
    Aim::script(code).about(&record_name(key))
}

/// The begins of `Process::call`.
fn begin_of(key: &str) -> Aim {
    Aim::command("SET").about(&record_name(key))
}

fn record_name(key: &str) -> String {
    format!("shop:charge:{key}")
}
