//! What a candidate does next, as a function of what it has seen. Times are durations on one clock of its own.

use std::time::Duration;

use objects::coordination::Lease;
use thiserror::Error;

/// How long things last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// A lease that has not been renewed for so long can be taken.
    pub lease_duration: Duration,
    /// A leader that has not been able to renew for so long gives up.
    pub renew_deadline: Duration,
    /// The pause between attempts.
    pub retry_period: Duration,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// Terms that could make two leaders, or none.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("invalid leader election settings: {0}; hint: the defaults are 15s, 10s and 2s")]
pub struct BadTerms(&'static str);

impl Terms {
    /// Sees that each leaves room for the next.
    ///
    /// # Errors
    /// When one does not.
    pub fn check(&self) -> Result<(), BadTerms> {
        if self.retry_period.is_zero() {
            Err(BadTerms("the retry period must be greater than 0"))
        } else if self.lease_duration <= self.renew_deadline {
            Err(BadTerms("the lease duration must be longer than the renew deadline"))
        } else if self.renew_deadline <= self.retry_period.mul_f64(1.2) {
            Err(BadTerms("the renew deadline must be more than 1.2 times the retry period"))
        } else {
            Ok(())
        }
    }
}

/// What a candidate has seen.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The lease as it was last read; none if there is none.
    pub lease: Option<Lease>,
    /// When it was first seen like this.
    pub since: Duration,
    /// When we last renewed it, if we lead.
    pub renewed: Option<Duration>,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseAction {
    /// There is no lease: make it.
    Create,
    /// The lease is nobody's, has run out, or is still in our name from an earlier life: take it.
    Take,
    /// The lease is ours: renew it.
    Renew,
    /// Somebody else holds the lease until this time, if it is not renewed.
    Wait {
        /// When it runs out.
        until: Duration,
    },
    /// We led, and lead no longer.
    Lost,
}

/// Decides what `me` does at `now`.
pub fn decide(seen: &Observed, me: &str, terms: &Terms, now: Duration) -> LeaseAction {
    if let Some(renewed) = seen.renewed
        && now >= renewed + terms.renew_deadline
    {
        return LeaseAction::Lost;
    }
    // Also a leader whose lease was deleted makes it again: whoever is first leads, and it knows no better candidate.
    let Some(lease) = &seen.lease else { return LeaseAction::Create };
    let holder = lease.spec.holder_identity.as_deref().unwrap_or_default();
    if holder == me {
        return if seen.renewed.is_some() { LeaseAction::Renew } else { LeaseAction::Take };
    }
    if seen.renewed.is_some() {
        return LeaseAction::Lost;
    }
    if holder.is_empty() {
        return LeaseAction::Take;
    }
    // The holder knows how long it wants to be waited for; a lease that does not say is judged by our own terms.
    let seconds = lease.spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    let lasts = seconds.filter(|seconds| *seconds > 0).map_or(terms.lease_duration, Duration::from_secs);
    let until = seen.since + lasts;
    if now < until { LeaseAction::Wait { until } } else { LeaseAction::Take }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use objects::coordination::Lease;

    use super::{LeaseAction, Observed, Terms, decide};

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn held_by(holder: &str, lease_seconds: Option<i32>) -> Option<Lease> {
        let mut lease = Lease::default();
        lease.spec.holder_identity = Some(holder.to_owned());
        lease.spec.lease_duration_seconds = lease_seconds;
        Some(lease)
    }

    #[test]
    fn a_candidate_does_what_the_lease_allows() {
        let lease = || held_by("me", Some(15));
        // What is seen of the lease, since when, renewed by us when, now, and what follows.
        let table = [
            ("no lease", None, 0, None, 0, LeaseAction::Create),
            ("nobody's", held_by("", Some(1)), 0, None, 0, LeaseAction::Take),
            (
                "another's and fresh",
                held_by("you", Some(15)),
                100,
                None,
                114,
                LeaseAction::Wait { until: at(115) },
            ),
            ("another's and run out", held_by("you", Some(15)), 100, None, 115, LeaseAction::Take),
            (
                "another's, which lasts longer than ours",
                held_by("you", Some(60)),
                100,
                None,
                130,
                LeaseAction::Wait { until: at(160) },
            ),
            (
                "another's without a duration",
                held_by("you", None),
                100,
                None,
                114,
                LeaseAction::Wait { until: at(115) },
            ),
            (
                "another's with a senseless duration",
                held_by("you", Some(-1)),
                100,
                None,
                115,
                LeaseAction::Take,
            ),
            ("ours from an earlier life", lease(), 100, None, 101, LeaseAction::Take),
            ("ours", lease(), 100, Some(100), 102, LeaseAction::Renew),
            ("ours, and hard to renew", lease(), 100, Some(100), 109, LeaseAction::Renew),
            ("ours, and not renewed in time", lease(), 100, Some(100), 110, LeaseAction::Lost),
            (
                "ours before, taken by another",
                held_by("you", Some(15)),
                103,
                Some(102),
                104,
                LeaseAction::Lost,
            ),
            ("ours before, given away", held_by("", Some(1)), 103, Some(102), 104, LeaseAction::Lost),
            ("ours before, deleted", None, 103, Some(102), 104, LeaseAction::Create),
            (
                "ours before, deleted, and not made again in time",
                None,
                103,
                Some(102),
                112,
                LeaseAction::Lost,
            ),
        ];
        for (case, lease, since, renewed, now, expected) in table {
            let seen = Observed { lease, since: at(since), renewed: renewed.map(at) };
            assert_eq!(decide(&seen, "me", &Terms::default(), at(now)), expected, "{case}");
        }
    }

    #[test]
    fn a_leader_gives_up_before_another_may_take_the_lease() {
        let terms = Terms::default();
        let ours = Observed { lease: held_by("me", Some(15)), since: at(0), renewed: Some(at(0)) };
        let theirs = Observed { renewed: None, ..ours.clone() };
        let mut somebody_leads = false;
        for now in 0..30 {
            let i_lead = decide(&ours, "me", &terms, at(now)) == LeaseAction::Renew;
            let you_may = decide(&theirs, "you", &terms, at(now)) == LeaseAction::Take;
            assert!(!(i_lead && you_may), "two leaders at {now}");
            somebody_leads |= you_may;
        }
        assert!(somebody_leads);
    }

    #[test]
    fn terms_leave_room_for_one_another() {
        assert_eq!(Terms::default().check(), Ok(()));
        let short = Terms { lease_duration: at(10), ..Terms::default() };
        let hasty = Terms { renew_deadline: at(2), ..Terms::default() };
        let restless = Terms { retry_period: at(0), ..Terms::default() };
        for bad in [short, hasty, restless] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
