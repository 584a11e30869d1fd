//! What was told of why pods wait, and when that is news.

use std::collections::BTreeSet;

use cluster::groups::Key;
use decisions::meaning::Meaning;
use model::identity::PodUid;
use model::timestamp::Timestamp;

use super::Queue;
use crate::pacing::Told;

/// Which pods a reason is told to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct News {
    /// It means something else than what was told before, or these pods came later.
    pub to_tell: BTreeSet<PodUid>,
    /// What was told before could not be written.
    pub to_repeat: BTreeSet<PodUid>,
}

impl News {
    /// Whether it is to be written for a pod.
    #[must_use]
    pub fn is_written(&self, uid: &PodUid) -> bool {
        self.to_tell.contains(uid) || self.to_repeat.contains(uid)
    }
}

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
        meaning: Meaning,
        now: Timestamp,
    ) -> News {
        let pods = pods.into_iter().cloned();
        let Some(waiting) = self.pods.get_mut(key) else {
            return News { to_tell: pods.collect(), ..News::default() };
        };
        if Told::is_news(&mut waiting.told, meaning, now) {
            waiting.unwritten.clear();
            waiting.told_of = pods.collect();
            return News { to_tell: waiting.told_of.clone(), ..News::default() };
        }
        let may_repeat =
            !waiting.unwritten.is_empty() && waiting.told.as_mut().is_some_and(|told| told.may_repeat(now));
        let to_repeat = if may_repeat { std::mem::take(&mut waiting.unwritten) } else { BTreeSet::new() };
        // A pod that came later was not told yet.
        News { to_tell: pods.filter(|uid| waiting.told_of.insert(uid.clone())).collect(), to_repeat }
    }

    /// Takes note of the words in which a pod is told why it waits. If these are other than those that were told, for the same
    /// reason, they are told later.
    pub fn words(&mut self, key: &Key, message: &str, is_written: bool) {
        let told = self.pods.get_mut(key).and_then(|waiting| waiting.told.as_mut());
        let due = told.and_then(|told| told.words(message, is_written));
        self.refreshes.note(key, due);
    }

    /// The words that a pod is to be told instead of those before, for the same reason.
    pub fn take_newer(&mut self, key: &Key, now: Timestamp) -> Option<String> {
        self.pods.get_mut(key)?.told.as_mut()?.take_newer(now)
    }

    /// What was told of a pod that waits under a key could not be written.
    pub fn note_unwritten(&mut self, key: &Key, uid: &PodUid) {
        if let Some(waiting) = self.pods.get_mut(key).filter(|waiting| waiting.told_of.contains(uid)) {
            waiting.unwritten.insert(uid.clone());
        }
    }

    /// Something else was told of pods that wait under a key, so that why they wait is news again.
    pub fn forget_told(&mut self, key: &Key) {
        if let Some(waiting) = self.pods.get_mut(key) {
            waiting.told = None;
        }
        self.refreshes.note(key, None);
    }
}
