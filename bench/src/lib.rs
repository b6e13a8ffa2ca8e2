//! What the figures are taken of: one idempotent function, and the bare store it is compared with.
//!
//! Shared by the program that times calls and the one that counts their allocations.

mod bare;
mod service;

pub use bare::Bare;
pub use service::{Order, Receipt, charge, encoded_receipt, fresh_idem, orders};
