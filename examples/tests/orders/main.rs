//! `orders`, run as a person would: what it prints, what it proves, and what it would not.

mod billing;
mod command_line;
mod kit;
