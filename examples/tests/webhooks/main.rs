//! `webhooks`, run as a person would: what it prints, what it leaves in the ledger, how it exits.

mod kit;

mod command_line;
mod input;
mod ledger;
mod redis;
mod shipped;
#[cfg(unix)]
mod signals;
