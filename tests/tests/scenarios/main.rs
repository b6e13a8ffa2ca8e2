//! The scenarios that users of comparable systems ran into, each a test of its name, as far as one
//! process and the memory backend can show it. Two `Idem`s on one store stand for two processes.

mod callers;
mod leases;
mod results;
mod store;
mod waiters;
