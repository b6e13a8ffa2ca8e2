//! What servers and addresses say, by chance: never a panic, never a meaning that is not there.
//! `FUZZ_SECONDS=600 cargo test --release -p idem-redis fuzz -- --nocapture` goes on for longer.

mod addresses;
mod replies;
pub(crate) mod values;
