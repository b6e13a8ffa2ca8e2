//! Records: damaged ones are `Unreadable` or in progress. None is absent, or another value.

mod by_chance;
mod call;
mod every_byte;
mod sample;
mod store;
