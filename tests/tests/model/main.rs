//! The protocol, model-checked: every way that a few callers of one key, a store and an adversary
//! can take within bounds.
//!
//! The store's steps are the runtime's own (`protocol::transition`), so are the owner's account of
//! time (`protocol::tenure`) and the checks on a found record (`protocol::judge`). What the runtime
//! does around them in async code is retold in [`begin`], [`running`], [`keeping`] and [`settling`],
//! each step under the name of the function it stands for. docs/proof.md says what is proved.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

// What there is.
mod time;
mod record;
mod message;
mod setting;
mod state;

// What happens.
mod steps;
mod turn;
mod store;
mod begin;
mod running;
mod keeping;
mod settling;
mod adversary;
mod operator;

// What has to hold.
mod properties;
mod model;
mod mutants;
mod report;
mod story;

// What the histories of runs say of it.
mod walk;
mod telling;
mod disturbing;

mod settings_hold;
mod mutants_die;
mod histories_hold;
mod mutants_show;

mod receipts;
