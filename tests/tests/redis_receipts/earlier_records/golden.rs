//! The records, as they stand in stores: version, state, owner; fingerprint; retention, fence; dispatched
//! at, attempt, flags, codec; version of the value, or checksum of a reservation; length, checksum, value.
//!
//! Once released they are never to change: services that are updated find them in their stores. All are of
//! one dispatch: key `a`, fingerprint of `7u64`, lease 30 s, ttl 1 h, deadline 10 min, hold 15 min, queue
//! timeout 20 min.

pub(super) const RECEIPT: &str = "\
    0101e12ff31b9856632dfd7c1d25e743a245\
    5dc474276585482f6ebb541da47f6cfd\
    00000000000000000000000000000000\
    000001a22bd791ce00000001000400000000\
    000000184295d465\
    82a561745f6d73cf000001a22bd791cfa6717565756564c3";

/// What the dispatch left in each record of its run.
macro_rules! run {
    ($head:literal, $retention:literal, $attempt:literal, $seal:literal, $frame:literal, $state:literal) => {
        concat!(
            $head,
            "5dc474276585482f6ebb541da47f6cfd",
            $retention,
            "0000000000000000",
            "000001a22bd791cf",
            $attempt,
            "0004",
            $seal,
            $frame,
            "84a776657273696f6e01a864697370617463688aa96f7065726174696f6eae7265706f7274732e\
             72656e646572a36b6579a161ab66696e6765727072696e74c4105dc474276585482f6ebb541da47f6cfd\
             a86c656173655f6d73cd7530a674746c5f6d73ce0036ee80ab646561646c696e655f6d73ce000927c0\
             a7686f6c645f6d73ce000dbba0b071756575655f74696d656f75745f6d73ce00124f80\
             a561745f6d73cf000001a22bd791cfa6717565756564",
            $state
        )
    };
}

pub(super) const ACCEPTED: &str = run!(
    "0101e12ff31b9856632dfd7c1d25e743a246",
    "0000000000000000",
    "00000001",
    "00000000",
    "000000d025484e7d",
    "c2a57374617465a84163636570746564a76c6966655f6d73ce006ec760"
);
pub(super) const QUEUED: &str = run!(
    "0101e12ff31b9856632dfd7c1d25e743a246",
    "0000000000000000",
    "00000001",
    "00000000",
    "000000cebbd90e52",
    "c3a57374617465a6517565756564a76c6966655f6d73ce006ec760"
);
pub(super) const RUNNING: &str = run!(
    "0100e12ff31b9856632dfd7c1d25e743a247",
    "000000000044aa20",
    "00000001",
    "8e9e1be5",
    "000000cf9fb4f990",
    "c3a57374617465a752756e6e696e67a76c6966655f6d73ce00451f50"
);
pub(super) const WAITING: &str = run!(
    "0101e12ff31b9856632dfd7c1d25e743a248",
    "0000000000000000",
    "00000001",
    "00000000",
    "000000d52ced8673",
    "c3a5737461746581a757616974696e67a462757379a76c6966655f6d73ce006ec760"
);
pub(super) const SUCCEEDED: &str = run!(
    "0101e12ff31b9856632dfd7c1d25e743a249",
    "0000000000000000",
    "00000002",
    "00000000",
    "000000e90b964cad",
    "c3a5737461746581a953756363656564656481a44b65707482a5636f64656301a56279746573c40107a76c6966655f6d73ce003763b0"
);
pub(super) const FAILED: &str = run!(
    "0101e12ff31b9856632dfd7c1d25e743a249",
    "0000000000000000",
    "00000002",
    "00000000",
    "000000d85bb87a99",
    "c3a5737461746581a64661696c6564a86e6f207061706572a76c6966655f6d73ce003763b0"
);
pub(super) const CANCELLED: &str = run!(
    "0101e12ff31b9856632dfd7c1d25e743a24a",
    "0000000000000000",
    "00000001",
    "00000000",
    "000000d10c0968f3",
    "c3a57374617465a943616e63656c6c6564a76c6966655f6d73ce003763b0"
);
pub(super) const SKIPPED: &str = run!(
    "0101e12ff31b9856632dfd7c1d25e743a24a",
    "0000000000000000",
    "00000001",
    "00000000",
    "000000cf9d8ccdc0",
    "c3a57374617465a7536b6970706564a76c6966655f6d73ce003763b0"
);
