//! What was told of why pods wait, and when that is news.

use std::collections::BTreeSet;

use cluster::groups::Key;
use decisions::meaning::Meaning;
use model::identity::PodUid;
use model::timestamp::Timestamp;

use super::Queue;
use crate::pacing::{Pace, Told};

impl Queue {
    /// Whether something was told of why a pod waits.
    #[must_use]
    pub fn is_told(&self, key: &Key) -> bool {
        self.pods.get(key).is_some_and(|waiting| waiting.told.is_some())
    }

    /// Takes note of why what waits under a key does, and says of which of its pods that is to be told.
    pub fn news<'p>(
        &mut self,
        key: &Key,
        pods: impl IntoIterator<Item = &'p PodUid>,
        (meaning, pace): (Meaning, Pace),
        now: Timestamp,
    ) -> BTreeSet<PodUid> {
        let pods = pods.into_iter().cloned();
        let Some(waiting) = self.pods.get_mut(key) else { return pods.collect() };
        if Told::is_news(&mut waiting.told, meaning, pace, now) {
            waiting.told_of = pods.collect();
            return waiting.told_of.clone();
        }
        // Who came later was not told yet.
        pods.filter(|uid| waiting.told_of.insert(uid.clone())).collect()
    }

    /// Something else was told of pods that wait under a key, so that why they wait is news again.
    pub fn forget_told(&mut self, key: &Key) {
        if let Some(waiting) = self.pods.get_mut(key) {
            waiting.told = None;
        }
    }
}
