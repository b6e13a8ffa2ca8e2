//! Arguments by chance: an expansion that is Rust, or errors that stand where the mistake is, and
//! never a panic. `FUZZ_SECONDS=600 cargo test --release -p idem-macros fuzz -- --nocapture`
//! goes on for longer.

mod arguments;
mod durations;
mod grammar;
