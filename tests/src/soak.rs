//! The soak's parts that others can use: the operations that its processes call, the history that they
//! write, and the check of a history against what the protocol promises.
//!
//! A history is all that a check knows. It is written by the actions, the callers and whoever makes
//! things go wrong, each by itself, and nothing of it comes out of idem's own books except what its
//! public items tell: an answer, and how long an owner may claim its key.

pub mod check;
mod dice;
pub mod disturbances;
pub mod history;
mod operation;
pub mod story;

pub use dice::Dice;
pub use operation::{OPERATIONS, Operation};
