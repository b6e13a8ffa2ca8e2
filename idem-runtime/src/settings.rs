//! What the attribute sets for one function, over what the builder set for all.

use std::time::Duration;

use crate::policy::{OnCrash, OnDrop, OnDuplicate, OnLost, OnOutage, Terms};

/// The settings that one function has of its own; `None`: the builder's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overrides {
    pub(crate) lease_ms: Option<u64>,
    pub(crate) ttl_ms: Option<u64>,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) retention_ms: Option<u64>,
    pub(crate) on_duplicate: Option<OnDuplicate>,
    pub(crate) on_lost: Option<OnLost>,
    pub(crate) on_drop: Option<OnDrop>,
    pub(crate) on_crash: Option<OnCrash>,
    pub(crate) on_outage: Option<OnOutage>,
}

impl Overrides {
    pub(crate) const NONE: Self = Self {
        lease_ms: None,
        ttl_ms: None,
        deadline_ms: None,
        retention_ms: None,
        on_duplicate: None,
        on_lost: None,
        on_drop: None,
        on_crash: None,
        on_outage: None,
    };

    /// These over `defaults`.
    pub(crate) fn over(&self, defaults: &Terms) -> Terms {
        let ms = |own: Option<u64>, default| own.map_or(default, Duration::from_millis);
        Terms {
            lease: ms(self.lease_ms, defaults.lease),
            ttl: ms(self.ttl_ms, defaults.ttl),
            deadline: self.deadline_ms.map(Duration::from_millis).or(defaults.deadline),
            retention: ms(self.retention_ms, defaults.retention),
            on_duplicate: self.on_duplicate.unwrap_or(defaults.on_duplicate),
            on_lost: self.on_lost.unwrap_or(defaults.on_lost),
            on_drop: self.on_drop.unwrap_or(defaults.on_drop),
            on_crash: self.on_crash.unwrap_or(defaults.on_crash),
            on_outage: self.on_outage.unwrap_or(defaults.on_outage),
            on_gone: defaults.on_gone,
        }
    }
}
