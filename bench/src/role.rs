//! The processes that suites start: this program again, told by a hidden option what it is.

use std::env;
use std::process::Command;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::{keeper, redis};

/// What a process does in place of a suite.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Role {
    /// Waits for the outcomes of another process's calls.
    Waiter(redis::Waiter),
    /// Holds leases.
    Holder(keeper::Hold),
}

impl Role {
    /// This program in that role.
    pub(crate) fn command(&self) -> anyhow::Result<Command> {
        let program = env::current_exe().context("looking for this program itself")?;
        let role = serde_json::to_string(self).context("writing a role")?;
        let mut command = Command::new(program);
        command.args(["--role", &role]);
        Ok(command)
    }

    pub(crate) fn play(self) -> anyhow::Result<()> {
        match self {
            Self::Waiter(waiter) => waiter.run(),
            Self::Holder(hold) => hold.run(),
        }
    }
}
