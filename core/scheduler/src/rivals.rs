//! Other schedulers that give out devices, known by the pods that wait for them.
//!
//! Invariant: as long as a pod with claims waits for another scheduler, that one may be about to write an allocation that
//! it decided on before it could know of ours. None is waited for without end.

use std::collections::BTreeSet;

use cluster::groups::Key;
use model::identity::PodUid;
use model::pod::Pod;
use model::timestamp::Timestamp;
use rustc_hash::FxHashMap;

/// How long another scheduler may take from a decision until it is written, and until we have heard of it. One that is
/// held up for longer may give a device away that a pod of ours has been bound to meanwhile.
const WRITES_WITHIN_MS: i64 = 500;

/// The scheduler that goes first: that of Kubernetes, unless another took its place. It never gives a device back, and
/// loses count of a device that it shares with one that does, so that it is best not met at all.
const GOES_FIRST: &str = "default-scheduler";

/// How long a pod that waits for that scheduler is expected to be placed soon, and how long a pod of ours waits at most.
const STANDS_BACK_MS_MAX: i64 = 2_000;

/// How often is looked whether the way is free.
const LOOKS_EVERY_MS: i64 = 100;

/// Pods with claims that wait for other schedulers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rivals {
    /// There was one at some time.
    met: bool,
    /// Since when they wait.
    waiting: FxHashMap<PodUid, Timestamp>,
    /// Those that wait for the scheduler that goes first.
    ahead: BTreeSet<(Timestamp, PodUid)>,
    /// When the last of them was seen.
    last_seen: Option<Timestamp>,
    /// Pods, gangs and trees of ours that stand back, and since when.
    standing_back: FxHashMap<Key, Timestamp>,
}

impl Rivals {
    /// Takes note that another scheduler gives out devices.
    pub(crate) fn meet(&mut self) {
        self.met = true;
    }

    /// Whether another scheduler gives out devices. One that did once may do so again.
    pub(crate) fn are_met(&self) -> bool {
        self.met
    }

    /// Takes note of a pod that is not ours and waits.
    pub(crate) fn waits(&mut self, now: Timestamp, pod: &Pod, wants_devices: bool) {
        self.met |= wants_devices;
        if !wants_devices || !pod.gates.is_empty() {
            return self.is_done(now, &pod.uid);
        }
        let since = *self.waiting.entry(pod.uid.clone()).or_insert(now);
        if *pod.scheduler == *GOES_FIRST {
            self.ahead.insert((since, pod.uid.clone()));
        }
        self.last_seen = Some(now);
    }

    /// Takes note of a pod that waits no longer, whichever scheduler it waited for.
    pub(crate) fn is_done(&mut self, now: Timestamp, uid: &PodUid) {
        self.standing_back.remove(&Key::Pod(uid.clone()));
        if let Some(since) = self.waiting.remove(uid) {
            self.ahead.remove(&(since, uid.clone()));
            self.last_seen = Some(now);
        }
    }

    /// When a pod of ours that wants devices is to be looked at again; `None` if the way is free, or it has waited enough.
    pub(crate) fn stands_back(&mut self, now: Timestamp, key: &Key) -> Option<Timestamp> {
        let newest = self.ahead.last().map(|(since, _)| since.plus_millis(STANDS_BACK_MS_MAX));
        let since = *self.standing_back.get(key).unwrap_or(&now);
        if newest.is_none_or(|until| until <= now) || since.plus_millis(STANDS_BACK_MS_MAX) <= now {
            self.standing_back.remove(key);
            return None;
        }
        self.standing_back.insert(key.clone(), since);
        Some(now.plus_millis(LOOKS_EVERY_MS))
    }

    /// Until when devices that the API has told of just now may be given away once more; `None` if no other scheduler does that.
    pub(crate) fn quiet_at(&self, now: Timestamp) -> Option<Timestamp> {
        let last = if self.waiting.is_empty() { self.last_seen? } else { now };
        let until = last.plus_millis(WRITES_WITHIN_MS);
        (until > now).then_some(until)
    }
}

#[cfg(test)]
mod tests {
    use model::pod::{ClaimSource, PodClaim, PodId};

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_micros(1_000_000_000).plus_millis(millis)
    }

    fn theirs(name: &str, scheduler: &str) -> Pod {
        let claims = vec![PodClaim { name: "c".into(), source: ClaimSource::Named("c".into()) }];
        let id = PodId { namespace: "default".into(), name: name.into() };
        Pod { id, uid: name.into(), scheduler: scheduler.into(), claims, ..Pod::default() }
    }

    #[test]
    fn ours_stand_back_for_the_default_scheduler_but_not_for_ever() {
        let mut rivals = Rivals::default();
        let ours = Key::Pod("ours".into());
        assert_eq!(rivals.stands_back(at(0), &ours), None, "no other scheduler is there");
        rivals.waits(at(0), &theirs("other", "another"), true);
        assert_eq!(rivals.stands_back(at(0), &ours), None, "who gives way itself is not waited for");
        rivals.waits(at(0), &theirs("a", GOES_FIRST), true);
        assert_eq!(rivals.stands_back(at(0), &ours), Some(at(100)));
        rivals.waits(at(1_500), &theirs("b", GOES_FIRST), true);
        assert_eq!(rivals.stands_back(at(1_900), &ours), Some(at(2_000)), "there are ever more of them");
        assert_eq!(rivals.stands_back(at(2_000), &ours), None, "it has waited enough");
        assert_eq!(rivals.stands_back(at(3_500), &ours), None, "they had time enough");
    }

    #[test]
    fn when_nobody_else_waits_the_way_is_free() {
        let mut rivals = Rivals::default();
        let pod = theirs("a", GOES_FIRST);
        rivals.waits(at(0), &pod, true);
        rivals.is_done(at(300), &pod.uid);
        assert_eq!(rivals.stands_back(at(300), &Key::Pod("ours".into())), None);
        assert_eq!(rivals.quiet_at(at(300)), Some(at(800)), "but what it wrote may not have arrived");
        assert_eq!(rivals.quiet_at(at(800)), None);
    }
}
