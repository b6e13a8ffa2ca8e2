//! The soak: processes that call each other's keys at random, on one server, while they are killed and
//! stopped, the server is killed, stopped and emptied, and connections are cut; afterwards the history
//! of all that is checked against what the protocol promises.
//!
//! `cargo run --bin soak -- --minutes 10`. A seed repeats what is called and what goes wrong, and when;
//! what meets what is up to the machine.

mod conductor;
mod faults;
mod guard;
mod options;
mod pulse;
mod report;
mod schedule;
mod worker;

use std::process::ExitCode;

use clap::Parser;

use options::Options;

fn main() -> ExitCode {
    let options = Options::parse();
    let result = match &options.worker {
        Some(settings) => worker::run(settings).map(|()| ExitCode::SUCCESS),
        None => conductor::run(&options),
    };
    result.unwrap_or_else(|error| {
        eprintln!("soak: {error}");
        ExitCode::from(2)
    })
}
