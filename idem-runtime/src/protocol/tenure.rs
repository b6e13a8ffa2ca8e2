//! The owner's half of the protocol: what an owner may believe and do, by its own monotonic clock.

use std::time::Duration;

use super::Moment;

/// Renewals per lease: at a quarter two misses in a row are absorbed, at a third only one.
const RENEWALS_PER_LEASE: u32 = 4;
/// The part of a lease an owner leaves unused, for what its clock does not see (suspend, drift).
const MARGIN: u32 = 10;

/// One owner's account of its hold on a key.
///
/// All moments are of one clock; "sent" is a moment before the command left. Nothing here is told
/// when a reply arrived: a reply only confirms what was sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tenure {
    lease: Duration,
    ttl: Duration,
    /// When the first command that took the key was sent, or the last confirmed renewal.
    confirmed: Moment,
    /// When the first complete was sent.
    completing: Option<Moment>,
    lapsed: bool,
    closed: bool,
}

impl Tenure {
    /// The hold of an owner whose *first* command that took the key (a begin, or a takeover's
    /// replace) was sent at `sent`. What a repeat of that command finds may have been running since
    /// the first, so a repeat never moves it.
    #[must_use]
    pub const fn taken(lease: Duration, ttl: Duration, sent: Moment) -> Self {
        Self { lease, ttl, confirmed: sent, completing: None, lapsed: false, closed: false }
    }

    /// Past this moment the owner no longer claims the key.
    #[must_use]
    pub fn deadline(&self) -> Moment {
        self.confirmed.after(self.lease - self.lease / MARGIN)
    }

    /// What is left until the lease deadline.
    #[must_use]
    pub fn time_left(&self, now: Moment) -> Duration {
        self.deadline().since(now)
    }

    /// Whether the lease deadline has passed without a confirmed renewal.
    #[must_use]
    pub fn at_risk(&self, now: Moment) -> bool {
        now > self.deadline()
    }

    /// Whether the body may be polled for the first time: two thirds of the lease are left.
    #[must_use]
    pub fn may_start(&self, now: Moment) -> bool {
        self.time_left(now) >= self.lease / 3 * 2
    }

    /// The pace of renewals.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.lease / RENEWALS_PER_LEASE
    }

    /// How long one attempt at a renewal may take.
    #[must_use]
    pub fn attempt_bound(&self) -> Duration {
        self.interval() / 2
    }

    /// When the renewal after the one that was due at `due` is due: at a fixed rate, so that a slow
    /// round shortens the next pause, yet never within half an interval, so that rounds which were
    /// missed (a suspended machine) are not made up for back to back.
    #[must_use]
    pub fn next_renewal(&self, due: Moment, now: Moment) -> Moment {
        due.after(self.interval()).max(now.after(self.interval() / 2))
    }

    /// When the first renewal is due.
    #[must_use]
    pub fn first_renewal(&self) -> Moment {
        self.confirmed.after(self.interval())
    }

    /// Takes note of the time: a deadline that passed unconfirmed stays on record, since another
    /// call may have run and released meanwhile.
    pub fn observe(&mut self, now: Moment) {
        self.lapsed |= self.at_risk(now);
        self.closed |= self.window_has_ended(now);
    }

    /// A renewal sent at `sent` was confirmed by `now`.
    pub fn renewed(&mut self, sent: Moment, now: Moment) {
        self.observe(now);
        self.confirmed = self.confirmed.max(sent);
    }

    /// The store has no record of this owner: somebody may have held the key in between. A begin
    /// that follows does not move the deadline; the renewal after it does.
    ///
    /// Says whether the window is open, so that a begin may follow.
    pub fn gone(&mut self, now: Moment) -> bool {
        self.lapsed = true;
        self.window_is_open(now)
    }

    /// A complete is about to be sent: gives the end of the window, or `None` if that has ended.
    pub fn completing(&mut self, now: Moment) -> Option<Moment> {
        if !self.window_is_open(now) {
            return None;
        }
        self.completing.get_or_insert(now);
        Some(self.window_end())
    }

    /// Whether the lease deadline ever passed unconfirmed or the store ever said *gone*.
    #[must_use]
    pub const fn has_lapsed(&self) -> bool {
        self.lapsed
    }

    /// Whether this owner may still send something other than a release.
    ///
    /// The window ends lease + ttl after the last confirmed renewal, or ttl after the first
    /// complete was sent: from then on an outcome that was stored may have expired, and a begin again
    /// would revive it. No later reply opens it again.
    pub fn window_is_open(&mut self, now: Moment) -> bool {
        self.observe(now);
        !self.closed
    }

    /// When the window ends, as far as is known now; that moment is outside of it.
    #[must_use]
    pub fn window_end(&self) -> Moment {
        let unconfirmed = self.confirmed.after(self.lease.saturating_add(self.ttl));
        let completing = self.completing.map_or(Moment::NEVER, |sent| sent.after(self.ttl));
        unconfirmed.min(completing)
    }

    fn window_has_ended(&self, now: Moment) -> bool {
        now >= self.window_end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(30);
    const TTL: Duration = Duration::from_secs(60);

    fn at(secs: u64) -> Moment {
        Moment::from_nanos(secs * 1_000_000_000)
    }

    #[test]
    fn the_deadline_is_a_tenth_short_of_the_lease_from_the_first_send() {
        let tenure = Tenure::taken(LEASE, TTL, at(100));
        assert_eq!(tenure.deadline(), at(127));
        assert!(!tenure.at_risk(at(127)));
        assert!(tenure.at_risk(at(128)));
    }

    #[test]
    fn a_body_starts_only_with_two_thirds_of_the_lease_left() {
        let tenure = Tenure::taken(LEASE, TTL, at(0));
        assert!(tenure.may_start(at(7)));
        assert!(!tenure.may_start(at(8)));
    }

    #[test]
    fn a_late_confirmation_moves_the_deadline_and_is_remembered_as_a_lapse() {
        let mut tenure = Tenure::taken(LEASE, TTL, at(0));
        tenure.renewed(at(10), at(11));
        assert_eq!(tenure.deadline(), at(37));
        assert!(!tenure.has_lapsed());
        tenure.renewed(at(36), at(38));
        assert!(tenure.has_lapsed());
        assert!(!tenure.at_risk(at(38)));
    }

    #[test]
    fn a_reply_to_an_older_renewal_does_not_move_the_deadline_back() {
        let mut tenure = Tenure::taken(LEASE, TTL, at(0));
        tenure.renewed(at(10), at(10));
        tenure.renewed(at(5), at(11));
        assert_eq!(tenure.deadline(), at(37));
    }

    #[test]
    fn gone_does_not_move_the_deadline() {
        let mut tenure = Tenure::taken(LEASE, TTL, at(0));
        assert!(tenure.gone(at(1)));
        assert!(tenure.has_lapsed());
        assert_eq!(tenure.deadline(), at(27));
    }

    #[test]
    fn the_window_ends_after_lease_and_ttl_and_stays_closed() {
        let mut tenure = Tenure::taken(LEASE, TTL, at(0));
        assert!(tenure.window_is_open(at(89)));
        assert!(!tenure.window_is_open(at(90)));
        tenure.renewed(at(89), at(91));
        assert!(!tenure.window_is_open(at(91)));
    }

    #[test]
    fn the_window_ends_a_ttl_after_the_first_complete() {
        let mut tenure = Tenure::taken(LEASE, TTL, at(0));
        tenure.completing(at(5));
        tenure.renewed(at(50), at(50));
        tenure.completing(at(60));
        assert!(tenure.window_is_open(at(64)));
        assert!(!tenure.window_is_open(at(65)));
    }

    #[test]
    fn renewals_keep_their_rate_and_are_never_back_to_back() {
        let tenure = Tenure::taken(Duration::from_secs(40), TTL, at(0));
        assert_eq!(tenure.first_renewal(), at(10));
        assert_eq!(tenure.next_renewal(at(10), at(14)), at(20));
        assert_eq!(tenure.next_renewal(at(10), at(100)), at(105));
    }

    #[test]
    fn an_attempt_at_a_renewal_may_take_half_an_interval() {
        let tenure = Tenure::taken(Duration::from_secs(40), TTL, at(0));
        assert_eq!(tenure.attempt_bound(), Duration::from_secs(5));
    }
}
