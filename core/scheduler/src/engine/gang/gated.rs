//! Pods that are held back until something exists, by themselves or with their gang: they are told what that is.
//!
//! Invariant: each pod is told once of each thing that it lacks, and nothing if that turns up in time. A pod may be heard of before
//! what was made ahead of it, and what a controller makes takes a while. Facts alone write nothing: it is said with a turn. When it is
//! said, no room is kept any more for the gang.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::groups::Key;
use decisions::filters::{Filter, FilterSet};
use decisions::held_back::{lack_of_gang, lack_of_pod};
use decisions::lacking::Lacking;
use model::identity::PodUid;
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::engine::{Announcement, Engine};
use crate::write::{WaitReason, Write};

/// How much later than a pod something may be heard of that has to be there.
const HEARD_WITHIN_MS: i64 = 1_000;

/// How long a controller may take to make something.
const MADE_WITHIN_MS: i64 = 5_000;

/// For how many pods and gangs is looked in one turn what they lack.
const LOOKS_MAX: usize = 64;

/// Pods and gangs that are held back, by their key in the queue.
#[derive(Debug, Default)]
pub(crate) struct Gated {
    /// Since when it has yet to be told what they lack, and when that is due.
    since: BTreeMap<Key, (Timestamp, Timestamp)>,
    due: BTreeSet<(Timestamp, Key)>,
    /// What pods were told, by uid.
    told: BTreeMap<Key, BTreeMap<PodUid, Lacking>>,
}

/// How long it may take for something to turn up before it is worth a word.
fn patience_ms(lack: &Lacking) -> i64 {
    match lack {
        Lacking::Claim(_)
        | Lacking::Group(_)
        | Lacking::Workload { .. }
        | Lacking::GroupOfWorkload { .. }
        | Lacking::Replica { .. }
        | Lacking::Composite { .. }
        | Lacking::CompositeCycle { .. } => HEARD_WITHIN_MS,
        Lacking::Template { .. }
        | Lacking::Gates
        | Lacking::Member { .. }
        | Lacking::Members { .. }
        | Lacking::Groups { .. } => MADE_WITHIN_MS,
    }
}

/// Whether a pod that was told of one was told of the other. Whatever another member lacks, it is said once.
fn is_as(one: &Lacking, other: &Lacking) -> bool {
    one == other || matches!((one, other), (Lacking::Member { .. }, Lacking::Member { .. }))
}

fn filters(lack: &Lacking) -> FilterSet {
    let is_of_claims = matches!(lack, Lacking::Claim(_) | Lacking::Template { .. });
    is_of_claims.then_some(Filter::Devices).into_iter().collect()
}

impl Gated {
    /// Takes note that what is queued under a key is held back.
    pub(crate) fn add(&mut self, key: &Key, now: Timestamp) {
        if !self.since.contains_key(key) {
            self.put(key, now, now.plus_millis(HEARD_WITHIN_MS));
        }
    }

    /// Takes note that it is not held back any more, or is gone.
    pub(crate) fn remove(&mut self, key: &Key) {
        if let Some((_, due)) = self.since.remove(key) {
            self.due.remove(&(due, key.clone()));
        }
        self.told.remove(key);
    }

    /// Takes note that a pod of a gang is gone.
    pub(super) fn forget(&mut self, key: &Key, uid: &str) {
        if let Some(told) = self.told.get_mut(key) {
            told.remove(uid);
        }
    }

    pub(super) fn next_time(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    fn put(&mut self, key: &Key, since: Timestamp, due: Timestamp) {
        self.since.insert(key.clone(), (since, due));
        self.due.insert((due, key.clone()));
    }

    fn pop(&mut self, now: Timestamp) -> Option<(Key, Timestamp)> {
        let first = self.due.first().filter(|(at, _)| *at <= now)?.clone();
        self.due.remove(&first);
        let (since, _) = self.since.remove(&first.1)?;
        Some((first.1, since))
    }
}

impl Engine {
    /// Tells pods what they lack, if there was time for it to turn up.
    pub(crate) fn tell_gated(&mut self, now: Timestamp) {
        for _ in 0..LOOKS_MAX {
            let Some((key, since)) = self.gangs.gated.pop(now) else { return };
            let root = key.root();
            let pods = match &key {
                Key::Pod(uid) => self.facts.waiting.get(uid).cloned().into_iter().collect(),
                Key::Gang(_) | Key::Tree(_) => {
                    root.as_ref().map(|root| self.members_here(root)).unwrap_or_default()
                }
            };
            let together =
                root.as_ref().and_then(|root| lack_of_gang(&self.facts, &self.settings, root, &pods));
            let (mut later, mut is_lacking) = (None, false);
            for pod in pods {
                let is_told_otherwise =
                    !pod.gates.is_empty() || pod.node.is_some() || self.bindings.has(&pod.uid);
                let lack = lack_of_pod(&self.facts, &self.settings, &pod);
                let Some(lack) = lack.or_else(|| together.clone()).filter(|_| !is_told_otherwise) else {
                    continue;
                };
                let due = since.plus_millis(patience_ms(&lack));
                if now < due {
                    later = Some(later.map_or(due, |time: Timestamp| time.min(due)));
                    continue;
                }
                is_lacking = true;
                self.tell_lack(&key, pod, lack);
            }
            if let Some(root) = root.filter(|_| is_lacking) {
                // It would not be looked at when the room is free, and others could use it meanwhile.
                self.free_room_of(&root);
            }
            if let Some(due) = later {
                self.gangs.gated.put(&key, since, due);
            }
        }
    }

    fn tell_lack(&mut self, key: &Key, pod: Arc<Pod>, lack: Lacking) {
        let told = self.gangs.gated.told.entry(key.clone()).or_default();
        if told.get(&pod.uid).is_some_and(|known| is_as(known, &lack)) {
            return;
        }
        let (message, filters, reasons) = (lack.with_hint(), filters(&lack), vec![lack.code()]);
        told.insert(pod.uid.clone(), lack);
        let (id, uid, reason) = (pod.id.clone(), pod.uid.clone(), WaitReason::Unschedulable);
        self.outbox.submit(Write::Note { pod: id, uid, reason, message: message.clone() });
        self.queue.forget_told(key);
        let is_news = true;
        self.outbox.announce(Announcement::FailedScheduling { pod, message, filters, reasons, is_news });
    }
}
