//! Receipts, model-checked: a few calls that dispatch one key, a queue, workers, a canceller, and an
//! adversary.
//!
//! The store's steps on the receipt and on the record of each run are the runtime's own, and so is the
//! account of time of dispatchers and workers. What the runtime does around them is retold in
//! [`dispatching`], [`reclaiming`], [`attaching`], [`ending`] and [`keeping`], each step under the name of
//! what it stands for; the verdicts of the table in [`run`].

// What there is.
mod setting;
mod run;
mod state;

// What happens.
mod steps;
mod turn;
mod store;
mod dispatching;
mod reclaiming;
mod attaching;
mod ending;
mod keeping;
mod adversary;

// What has to hold.
mod properties;
mod model;
mod mutants;
mod story;

mod settings_hold;
mod mutants_die;
