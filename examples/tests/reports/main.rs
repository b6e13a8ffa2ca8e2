//! `reports`, run as a person would: what it prints, what it proves, and what it would not.

mod kit;

mod check;
mod command_line;
mod rendering;
