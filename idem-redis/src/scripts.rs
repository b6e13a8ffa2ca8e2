//! The scripts: one operation each, on one key each; and one that asks what the user may do.

use std::sync::LazyLock;

use redis::Cmd;

use crate::servers::Call;

/// A script and the hash that the server knows it by.
#[derive(Debug)]
pub(crate) struct Script {
    code: &'static str,
    hash: String,
}

macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(
            pub(crate) static $name: LazyLock<Script> =
                LazyLock::new(|| Script::new(include_str!(concat!("../scripts/", $file))));
        )*

        /// Every script.
        pub(crate) fn all() -> Vec<&'static Script> {
            vec![$(&$name),*]
        }
    };
}

scripts! {
    RENEW = "renew.lua";
    COMPLETE = "complete.lua";
    RELEASE = "release.lua";
    REPLACE = "replace.lua";
    DISCARD = "discard.lua";
    FENCE = "fence.lua";
    PEEK = "peek.lua";
    MAY = "may.lua";
}

impl Script {
    pub(crate) fn new(code: &'static str) -> Self {
        Self { code, hash: redis::Script::new(code).get_hash().to_owned() }
    }

    /// A call on the record of this name; the caller adds what else the script takes.
    pub(crate) fn on(&self, record: String) -> Call {
        let mut call = Call::sized(record);
        call.command.arg("EVALSHA").arg(&self.hash).arg("1").arg(&call.record);
        call
    }

    /// A call on a record and another one, which is on the same server.
    #[cfg(feature = "consumer")]
    pub(crate) fn on_both(&self, record: &str, other: &str) -> Call {
        let mut call = Call::sized(record.to_owned());
        call.command.arg("EVALSHA").arg(&self.hash).arg("2").arg(record).arg(other);
        call
    }

    /// A call without a record, of a script that needs none.
    pub(crate) fn on_nothing(&self) -> Cmd {
        let mut call = redis::cmd("EVALSHA");
        call.arg(&self.hash).arg(0);
        call
    }

    /// Gives the server the script.
    pub(crate) fn load(&self) -> Cmd {
        let mut load = redis::cmd("SCRIPT");
        load.arg("LOAD").arg(self.code);
        load
    }
}
