//! Notes on groups: what was said last is said again until the API has it.
//!
//! Invariant: of each group only the last note counts. One that could not be written is repeated, at first soon and then ever
//! more seldom, until it is written, another takes its place, or the group is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::groups::Key;
use decisions::meaning::Meaning;
use model::group::{Group, GroupId};
use model::identity::{GroupUid, PodUid};
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::engine::Engine;
use crate::outbox::Owner;
use crate::pacing::Told;
use crate::write::{GroupState, WaitReason, Write, WriteId, WriteOutcome};

/// How long a note that could not be written rests at first, and at most.
const PAUSE_MS_MIN: i64 = 1_000;
const PAUSE_MS_MAX: i64 = 300_000;

/// What was noted on groups and is not known to be written.
#[derive(Debug, Default)]
pub(super) struct Notes {
    last: BTreeMap<GroupId, Noted>,
    due: BTreeSet<(Timestamp, GroupId)>,
    /// What was told last of why a group waits.
    told: BTreeMap<GroupId, Option<Told>>,
}

#[derive(Debug)]
struct Noted {
    uid: GroupUid,
    state: GroupState,
    write: WriteId,
    failures: u32,
}

impl Notes {
    pub(super) fn next_time(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    pub(super) fn forget(&mut self, id: &GroupId) {
        self.forget_told(id);
        self.forget_last(id);
    }

    /// Takes note of why a group waits, and says whether that is to be told.
    pub(super) fn is_news(&mut self, id: &GroupId, meaning: Meaning, now: Timestamp) -> bool {
        Told::is_news(self.told.entry(id.clone()).or_default(), meaning, now)
    }

    /// Takes note of the words in which that is told, and says when they may be refreshed if they are others than before.
    pub(super) fn words(&mut self, id: &GroupId, message: &str, is_news: bool) -> Option<Timestamp> {
        self.told.get_mut(id)?.as_mut()?.words(message, is_news)
    }

    fn take_newer(&mut self, id: &GroupId, now: Timestamp) -> Option<String> {
        self.told.get_mut(id)?.as_mut()?.take_newer(now)
    }

    pub(super) fn forget_told(&mut self, id: &GroupId) {
        self.told.remove(id);
    }

    fn forget_last(&mut self, id: &GroupId) {
        self.last.remove(id);
        self.due.retain(|(_, other)| other != id);
    }
}

impl Engine {
    /// Notes on a group how it stands.
    pub(super) fn note_group(&mut self, group: &Group, state: GroupState) {
        if group.id.name.replica().is_some() {
            // There is no such object; the status of the workload is kept by a controller.
            return;
        }
        self.gangs.notes.forget_last(&group.id);
        self.write_note(group.id.clone(), group.uid.clone(), state, 0);
    }

    fn write_note(&mut self, id: GroupId, uid: GroupUid, state: GroupState, failures: u32) {
        let write = Write::NoteGroup { group: id.clone(), uid: uid.clone(), state: state.clone() };
        let write = self.outbox.submit_for(Owner::GroupNote(id.clone()), write);
        self.gangs.notes.last.insert(id, Noted { uid, state, write, failures });
    }

    /// Takes in what became of a note on a group.
    pub(crate) fn settle_note(
        &mut self,
        now: Timestamp,
        write: WriteId,
        id: GroupId,
        outcome: &WriteOutcome,
    ) {
        let notes = &mut self.gangs.notes;
        let Some(noted) = notes.last.get_mut(&id).filter(|noted| noted.write == write) else { return };
        match outcome {
            WriteOutcome::Done => drop(notes.last.remove(&id)),
            WriteOutcome::Failed(_) => {
                let pause =
                    PAUSE_MS_MIN.checked_shl(noted.failures).unwrap_or(PAUSE_MS_MAX).min(PAUSE_MS_MAX);
                noted.failures = (noted.failures + 1).min(16);
                notes.due.insert((now.plus_millis(pause), id));
            }
        }
    }

    /// Notes again what could not be written.
    pub(crate) fn note_again(&mut self, now: Timestamp) {
        while let Some((_, id)) = self.gangs.notes.due.first().filter(|(at, _)| *at <= now).cloned() {
            self.gangs.notes.due.pop_first();
            let Some(Noted { uid, state, failures, .. }) = self.gangs.notes.last.remove(&id) else {
                continue;
            };
            let is_meant = |group: &&Arc<Group>| group.uid == uid && !group.was_placed;
            if self.facts.groups.get(&id).filter(is_meant).is_some() {
                self.write_note(id, uid, state, failures);
            }
        }
    }

    /// Takes in what became of a note on a pod.
    pub(crate) fn settle_pod_note(&mut self, uid: &PodUid, outcome: &WriteOutcome) {
        if let WriteOutcome::Failed(_) = outcome
            && let Some(pod) = self.facts.waiting.get(uid)
        {
            self.queue.note_unwritten(&self.facts.groups.key_of(pod), uid);
        }
    }

    /// Refreshes the figures in what was told of why a pod or a group waits, if they are others by now.
    pub(crate) fn refresh_told(&mut self, now: Timestamp) {
        while let Some(key) = self.queue.refreshes.next(now) {
            if self.refresh(&key, now) {
                self.queue.refreshes.spend(now);
            }
        }
    }

    fn refresh(&mut self, key: &Key, now: Timestamp) -> bool {
        let reason = WaitReason::Unschedulable;
        match key {
            Key::Pod(uid) => {
                let waits = |pod: &&Arc<Pod>| pod.node.is_none() && !self.bindings.has(uid);
                let Some(pod) = self.facts.waiting.get(uid).filter(waits).cloned() else { return false };
                let Some(message) = self.queue.take_newer(key, now) else { return false };
                self.note_pod(&pod, reason, message);
            }
            Key::Gang(id) => {
                let Some(group) = self.facts.groups.get(id).filter(|_| !self.was_placed(id)).cloned() else {
                    return false;
                };
                let Some(message) = self.gangs.notes.take_newer(id, now) else { return false };
                self.note_group(&group, GroupState::Waiting { reason, message });
            }
            Key::Tree(_) => return false,
        }
        true
    }

    /// Whether there is something to be told of groups or of pods at this time that no attempt brings about.
    #[must_use]
    pub fn has_notes(&self, now: Timestamp) -> bool {
        self.next_note().is_some_and(|at| at <= now)
    }

    /// When something is to be told of groups or of pods that no attempt brings about.
    #[must_use]
    pub fn next_note(&self) -> Option<Timestamp> {
        let undecided = self.outbox.considerations.next_time();
        let refresh = self.queue.refreshes.next_time();
        let others = [self.gangs.gated.next_time(), undecided, self.next_wait_noted()];
        let times = [self.gangs.notes.next_time(), refresh].into_iter().chain(others);
        times.flatten().min()
    }
}
