//! What is to be done about what was decided: writes, each with its owner, and what people are told.
//!
//! Writes about the users of one claim that are asked for at once are one write: members of a gang that share a claim get it together,
//! and let it go together. Written one by one, each would make the others' version of the claim an old one. For the same reason what
//! is asked for while such a write is not answered waits for the answer, and then goes out as one write: of hundreds of pods that
//! share a claim, each waits for two answers at the most, whatever they are sent on their way by.
//!
//! Writes that replace what the one before wrote go out one after the other too, or an old reason could overtake a new one and stay on
//! the pod: while one is not answered, only the newest of those that are asked for meanwhile waits.
//!
//! Invariants: a write knows its owner when it is submitted, so that its answer goes there and nowhere else. A write that is
//! carried out with another, or later, is settled with that; its owner does not know the difference. Of each claim one write about its
//! users is under way, and of each pod one note and one nomination.

use std::collections::BTreeMap;

use model::claim::ClaimId;
use model::group::GroupId;
use model::identity::{ClaimUid, NodeName, PodUid};
use model::timestamp::Timestamp;
use rustc_hash::FxHashMap;

use decisions::considering::Consideration;

use crate::considerations::{ConsiderationId, Considerations};
use crate::news::{Announcement, PreemptionNews};
use crate::write::{Consumer, Write, WriteId};

/// What is to be done.
#[derive(Debug)]
pub enum Effect {
    /// Write this, and tell what came of it.
    Submit(WriteId, Write),
    /// Decide this while others have their turns, and tell the verdict.
    Consider(ConsiderationId, Box<Consideration>),
    /// Tell people.
    Announce(Announcement),
    /// There is something to do at this time, even if nothing happens until then.
    WakeAt(Timestamp),
}

/// What waits for the answer to a write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// A pod on its way to a node, by uid.
    Binding(PodUid),
    /// What was written of a claim for a pod that is gone, or that is on another node by now.
    Abandoned,
    /// Claims that are about to lose their devices, or to go.
    GivingUp,
    /// The eviction of a pod, for the sake of another or of its own gang.
    Eviction {
        /// The uid of the pod that goes.
        victim: PodUid,
        /// The uid of the pod for which it does.
        preemptor: PodUid,
    },
    /// A note on a group.
    GroupNote(GroupId),
    /// A note on a pod, by uid.
    PodNote(PodUid),
    /// What drivers' controllers are told about a pod.
    Context,
}

/// What is to be done, and what waits for which answer.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    effects: Vec<Effect>,
    next: u64,
    /// Writes that are not answered yet. Those that nothing waits for are not here.
    owners: FxHashMap<WriteId, Owner>,
    /// Writes that are carried out with another, by that.
    merged: FxHashMap<WriteId, Vec<WriteId>>,
    /// What is being considered.
    pub considerations: Considerations,
    /// How many of the effects are known to have changed what is decided.
    noted: usize,
    /// Claims with a write about their users that is not answered, by that.
    under_way: FxHashMap<WriteId, ClaimUid>,
    /// What waits for the answer, by the uid of the claim.
    behind: FxHashMap<ClaimUid, Vec<Effect>>,
    /// Writes that replace what was written before, and are not answered.
    replacing: FxHashMap<WriteId, Replaced>,
    /// The newest that waits for the answer.
    newest: FxHashMap<Replaced, Option<(WriteId, Write)>>,
    /// What came of looking for pods to preempt, since that was asked last.
    pub preemptions: BTreeMap<PreemptionNews, u64>,
}

/// What a write replaces, of which so the last counts: by the uid of the pod.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Replaced {
    /// Why a pod waits.
    Note(PodUid),
    /// The node that is made free for a pod.
    Nomination(PodUid),
}

impl Outbox {
    /// Asks for a write; nothing waits for its answer.
    pub fn submit(&mut self, write: Write) -> WriteId {
        let id = WriteId(self.next);
        self.next += 1;
        self.effects.push(Effect::Submit(id, write));
        id
    }

    /// Asks for a write whose answer is waited for.
    pub fn submit_for(&mut self, owner: Owner, write: Write) -> WriteId {
        let id = self.submit(write);
        self.owners.insert(id, owner);
        id
    }

    /// Asks for something to be decided while others have their turns.
    pub fn consider(&mut self, id: ConsiderationId, consideration: Consideration) {
        self.note_changes();
        self.effects.push(Effect::Consider(id, Box::new(consideration)));
        self.noted = self.effects.len();
    }

    /// If something is to be done since this was asked the last time, it may change what is decided.
    pub fn note_changes(&mut self) {
        if self.noted != self.effects.len() {
            self.noted = self.effects.len();
            self.considerations.note_change();
        }
    }

    /// The answer to a write goes to another owner.
    pub fn hand_over(&mut self, write: WriteId, owner: Owner) {
        self.owners.insert(write, owner);
    }

    /// Tells people.
    pub fn announce(&mut self, announcement: Announcement) {
        self.effects.push(Effect::Announce(announcement));
    }

    /// A write is answered: what waited for it and for those that were carried out with it, in the order in which they were asked
    /// for.
    pub fn settle(&mut self, write: WriteId) -> Vec<(WriteId, Owner)> {
        if let Some(claim) = self.under_way.remove(&write) {
            self.effects.extend(self.behind.remove(&claim).unwrap_or_default());
        }
        if let Some(replaced) = self.replacing.remove(&write) {
            let newest = self.newest.remove(&replaced).flatten();
            self.effects.extend(newest.map(|(id, write)| Effect::Submit(id, write)));
        }
        let others = self.merged.remove(&write).unwrap_or_default();
        let all = [write].into_iter().chain(others);
        all.filter_map(|one| Some((one, self.owners.remove(&one)?))).collect()
    }

    /// Everything that is to be done since this was asked the last time, and when there is something to do at the latest.
    pub fn take(&mut self, wake_at: Option<Timestamp>) -> Vec<Effect> {
        self.merge_writes();
        self.hold_back();
        self.effects.extend(wake_at.map(Effect::WakeAt));
        self.noted = 0;
        std::mem::take(&mut self.effects)
    }

    /// Keeps writes back while another is not answered: about the users of a claim, and those that replace what it writes.
    fn hold_back(&mut self) {
        for effect in std::mem::take(&mut self.effects) {
            let Effect::Submit(id, write) = effect else {
                self.effects.push(effect);
                continue;
            };
            if let Some(replaced) = replaced_by(&write) {
                self.hold_back_older(replaced, id, write);
                continue;
            }
            let Some(claim) = users_written(&write).cloned() else {
                self.effects.push(Effect::Submit(id, write));
                continue;
            };
            match self.behind.get_mut(&claim) {
                Some(behind) => behind.push(Effect::Submit(id, write)),
                None => {
                    self.under_way.insert(id, claim.clone());
                    self.behind.insert(claim, Vec::new());
                    self.effects.push(Effect::Submit(id, write));
                }
            }
        }
    }

    /// Sends a write that replaces what was written before, or has it wait for the answer to that; one that waited already is carried out
    /// with it.
    fn hold_back_older(&mut self, replaced: Replaced, id: WriteId, write: Write) {
        let Some(newest) = self.newest.get_mut(&replaced) else {
            self.newest.insert(replaced.clone(), None);
            self.replacing.insert(id, replaced);
            return self.effects.push(Effect::Submit(id, write));
        };
        if let Some((older, _)) = newest.replace((id, write)) {
            let with = self.merged.remove(&older).unwrap_or_default();
            self.merged.entry(id).or_default().extend([older].into_iter().chain(with));
        }
    }

    /// Makes one write of those that are asked for at once and can be one. It has the place of the first.
    fn merge_writes(&mut self) {
        if self.effects.iter().filter_map(key_of).nth(1).is_none() {
            return;
        }
        let mut first: BTreeMap<(Kind, ClaimId, ClaimUid), usize> = BTreeMap::new();
        let mut kept: Vec<Effect> = Vec::with_capacity(self.effects.len());
        for effect in std::mem::take(&mut self.effects) {
            match key_of(&effect).map(|key| *first.entry(key).or_insert(kept.len())) {
                Some(at) if at < kept.len() => self.merge(&mut kept[at], effect),
                _ => kept.push(effect),
            }
        }
        self.effects = kept;
    }

    /// Has a write carried out with another.
    fn merge(&mut self, into: &mut Effect, mut other: Effect) {
        if matches!(other, Effect::Submit(_, Write::Allocate { .. })) {
            // The member that brings the devices reserves them for the others.
            std::mem::swap(into, &mut other);
        }
        let (Effect::Submit(id, write), Effect::Submit(merged, mut other)) = (into, other) else { return };
        let others = consumers_of(&mut other).map(std::mem::take).unwrap_or_default();
        if let Some(consumers) = consumers_of(write) {
            // A group that uses the claim in its members' stead is one user.
            for consumer in others {
                if consumers.iter().all(|known| known.user() != consumer.user()) {
                    consumers.push(consumer);
                }
            }
        }
        let with = self.merged.remove(&merged).unwrap_or_default();
        self.merged.entry(*id).or_default().extend([merged].into_iter().chain(with));
    }
}

/// Writes that can be one: all of them about the same claim.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    /// They give it devices, or reserve it.
    Taking,
    /// They take reservations back that are of no use on a node.
    Letting(Option<NodeName>),
}

/// What a write can be one with: its kind, the claim and the claim's uid.
fn key_of(effect: &Effect) -> Option<(Kind, ClaimId, ClaimUid)> {
    let Effect::Submit(_, write) = effect else { return None };
    match write {
        Write::Allocate { claim, uid, .. } | Write::Reserve { claim, uid, .. } => {
            Some((Kind::Taking, claim.clone(), uid.clone()))
        }
        Write::Release { claim, uid, node, .. } => {
            Some((Kind::Letting(node.clone()), claim.clone(), uid.clone()))
        }
        _ => None,
    }
}

/// The uid of the claim whose users a write is about.
fn users_written(write: &Write) -> Option<&ClaimUid> {
    match write {
        Write::Allocate { uid, .. } | Write::Reserve { uid, .. } | Write::Release { uid, .. } => Some(uid),
        _ => None,
    }
}

/// What a write replaces, if it leaves nothing of it.
fn replaced_by(write: &Write) -> Option<Replaced> {
    match write {
        Write::Note { uid, .. } => Some(Replaced::Note(uid.clone())),
        Write::Nominate { uid, .. } => Some(Replaced::Nomination(uid.clone())),
        _ => None,
    }
}

fn consumers_of(write: &mut Write) -> Option<&mut Vec<Consumer>> {
    match write {
        Write::Allocate { consumers, .. }
        | Write::Reserve { consumers, .. }
        | Write::Release { consumers, .. } => Some(consumers),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn consumer(name: &str) -> Consumer {
        Consumer { name: name.into(), uid: name.into(), group: None }
    }

    fn claim() -> (ClaimId, ClaimUid) {
        (ClaimId { namespace: "default".into(), name: "c".into() }, "uid-c".into())
    }

    fn reserve(pod: &str) -> Write {
        let (claim, uid) = claim();
        Write::Reserve { claim, uid, consumers: vec![consumer(pod)] }
    }

    fn release(pod: &str) -> Write {
        let (claim, uid) = claim();
        Write::Release { claim, uid, consumers: vec![consumer(pod)], node: None }
    }

    /// What goes out, as `id name pods`.
    fn out(outbox: &mut Outbox) -> Vec<String> {
        let effects = outbox.take(None).into_iter();
        let told = effects.map(|effect| match effect {
            Effect::Submit(id, mut write) => {
                let name = write.name();
                let pods = consumers_of(&mut write).expect("it has users").iter();
                format!("{} {name} {}", id.0, pods.map(|one| &*one.name).collect::<Vec<_>>().join(","))
            }
            other => panic!("{other:?} is no write"),
        });
        told.collect()
    }

    #[test]
    fn of_each_claim_one_write_about_its_users_is_under_way_and_the_others_go_out_together() {
        let mut outbox = Outbox::default();
        let pod = |name: &str| Owner::Binding(name.into());
        let first = outbox.submit_for(pod("a"), reserve("a"));
        assert_eq!(out(&mut outbox), ["0 reserve a"]);
        for name in ["b", "c"] {
            outbox.submit_for(pod(name), reserve(name));
            assert_eq!(out(&mut outbox), [""; 0], "another is not answered");
        }
        outbox.submit_for(pod("x"), release("x"));
        outbox.submit_for(pod("d"), reserve("d"));
        assert_eq!(out(&mut outbox), [""; 0]);
        assert_eq!(outbox.settle(first), [(first, pod("a"))]);
        assert_eq!(out(&mut outbox), ["1 reserve b,c,d"]);
        outbox.submit_for(pod("e"), reserve("e"));
        assert_eq!(out(&mut outbox), [""; 0]);
        let settled = outbox.settle(WriteId(1));
        assert_eq!(settled.into_iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(out(&mut outbox), ["3 release x"]);
        outbox.settle(WriteId(3));
        assert_eq!(out(&mut outbox), ["5 reserve e"]);
        outbox.settle(WriteId(5));
        assert!(outbox.behind.is_empty() && outbox.under_way.is_empty(), "nothing is left");
    }
    fn note(message: &str) -> Write {
        let (pod, uid) = (model::pod::PodId::default(), "uid-p".into());
        Write::Note { pod, uid, reason: crate::write::WaitReason::Unschedulable, message: message.to_owned() }
    }

    /// The messages that go out, with the ids of the writes.
    fn notes(outbox: &mut Outbox) -> Vec<String> {
        let told = outbox.take(None).into_iter().map(|effect| match effect {
            Effect::Submit(id, Write::Note { message, .. }) => format!("{} {message}", id.0),
            other => panic!("{other:?} is no note"),
        });
        told.collect()
    }

    #[test]
    fn of_the_notes_on_a_pod_one_is_under_way_and_the_newest_follows() {
        let mut outbox = Outbox::default();
        let owner = || Owner::PodNote("uid-p".into());
        let first = outbox.submit_for(owner(), note("one"));
        assert_eq!(notes(&mut outbox), ["0 one"]);
        for message in ["two", "three", "four"] {
            outbox.submit_for(owner(), note(message));
            assert_eq!(notes(&mut outbox), [""; 0], "it would overtake the first");
        }
        assert_eq!(outbox.settle(first), [(first, owner())]);
        assert_eq!(notes(&mut outbox), ["3 four"]);
        let settled = outbox.settle(WriteId(3));
        assert_eq!(settled.into_iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [3, 2, 1]);
        assert!(outbox.newest.is_empty() && outbox.replacing.is_empty(), "nothing is left");
        outbox.submit(note("five"));
        assert_eq!(notes(&mut outbox), ["4 five"]);
    }
}
