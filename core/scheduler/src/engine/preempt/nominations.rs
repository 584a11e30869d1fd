//! Nominees: pods for which room is being made on a node, and which pods have to leave it to them.
//!
//! Invariant: the devices that are planned for a nominee are in the ledger under holders of its own, except while a pod is
//! looked at to which they do not matter: the nominee itself, and pods that are more important.

use std::sync::Arc;

use cluster::claims::Held;
use decisions::pod::{Choice, Wanted};
use decisions::preempt::Nomination;
use decisions::wake::{Object, Wake, Wakes};
use model::identity::{NodeName, PodUid};
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::engine::Engine;
use crate::write::Write;

impl Engine {
    /// Takes note of the nomination that a waiting pod's status tells, if it is another than before. What we decided since
    /// then is newer than a status that stays the same.
    pub(crate) fn fold_nomination(&mut self, now: Timestamp, before: Option<&Pod>, pod: &Arc<Pod>) -> Wakes {
        let known = self.plans.nominations.get(&pod.uid);
        if before.is_some_and(|before| before.nominated_node == pod.nominated_node) {
            if let Some(known) = known.cloned() {
                self.nominate(Nomination { pod: pod.clone(), ..known });
            }
            return Wakes::NONE;
        }
        match &pod.nominated_node {
            None => self.end_nomination(&pod.uid, None),
            Some(node) => {
                let same = known.filter(|known| known.node == *node).cloned();
                let left = if same.is_none() { self.end_nomination(&pod.uid, None) } else { Wakes::NONE };
                if same.is_none() {
                    // It is not of our making, or of a past one. It is used or withdrawn by looking at the pod.
                    self.wake_nominee(&pod.uid, now);
                }
                let nomination = same.unwrap_or_else(|| Nomination::new(node.clone(), pod.clone()));
                self.nominate(Nomination { pod: pod.clone(), ..nomination });
                left
            }
        }
    }

    /// Keeps room for a pod from now on.
    pub(crate) fn nominate(&mut self, nomination: Nomination) {
        self.end_nomination(&nomination.pod.uid.clone(), None);
        self.facts.claims.take(&nomination.planned);
        self.touch_nomination(&nomination);
        self.plans.nominations.insert(nomination);
    }

    /// Keeps no room for a pod any more, since it went to a node, or to none, and tells which changes could help others.
    pub(crate) fn end_nomination(&mut self, uid: &str, went_to: Option<&NodeName>) -> Wakes {
        let Some(nomination) = self.plans.nominations.remove(uid) else { return Wakes::NONE };
        self.facts.claims.give_back(&nomination.planned);
        self.touch_nomination(&nomination);
        if went_to == Some(&nomination.node) && nomination.planned.is_empty() {
            return Wakes::NONE;
        }
        let drivers = nomination.planned.iter().map(|held| Object::Driver(held.device.driver.clone()));
        Wake::PodRemoved.of_node(&nomination.node).or(Wake::Claim.of(drivers))
    }

    /// Ends a nomination that leads to nothing, here and in the API.
    pub(crate) fn withdraw(&mut self, pod: &Pod) -> Wakes {
        let is_nominated = self.plans.nominations.get(&pod.uid).is_some();
        if is_nominated || pod.nominated_node.is_some() {
            let (pod, uid) = (pod.id.clone(), pod.uid.clone());
            self.outbox.submit(Write::Nominate { pod, uid, node: None });
        }
        self.end_nomination(&pod.uid, None)
    }

    /// The node of nominees is gone: they look for another.
    pub(crate) fn wake_nominees_of(&mut self, now: Timestamp, node: &str) {
        let nominees: Vec<PodUid> = self.plans.nominations.on(node).map(|one| one.pod.uid.clone()).collect();
        nominees.iter().for_each(|uid| self.wake_nominee(uid, now));
    }

    /// Answers about the node and about the devices may be others now.
    fn touch_nomination(&mut self, nomination: &Nomination) {
        if let Some(at) = self.facts.nodes.find(&nomination.node) {
            self.facts.touches.touch(at);
        }
        for one in &nomination.planned {
            self.facts.touch_pool(&one.device.pool_id());
        }
    }

    /// Keeps no room for these pods for the moment.
    pub(crate) fn put_nominations_aside(&mut self, pods: &[Arc<Pod>]) -> Vec<Nomination> {
        if self.plans.nominations.is_empty() {
            return Vec::new();
        }
        let mut aside = Vec::new();
        for pod in pods {
            let Some(nomination) = self.plans.nominations.remove(&pod.uid) else { continue };
            self.facts.claims.give_back(&nomination.planned);
            self.touch_nomination(&nomination);
            aside.push(nomination);
        }
        aside
    }

    /// Nominees whose planned devices a more important pod has now look for others.
    pub(crate) fn wake_dispossessed(&mut self, now: Timestamp, lifted: &[PodUid], choice: &Choice) {
        let grants = || {
            choice.claims.iter().flat_map(|wanted| match wanted {
                Wanted::Allocation { allocation, .. } | Wanted::Claim { allocation } => {
                    &allocation.grants[..]
                }
                Wanted::Reserved | Wanted::Reservation { .. } => &[],
            })
        };
        let is_taken = |held: &Held| grants().any(|grant| grant.device == held.device);
        for uid in lifted {
            let nomination = self.plans.nominations.get(uid);
            if nomination.is_some_and(|one| one.planned.iter().any(is_taken)) {
                self.wake_nominee(uid, now);
            }
        }
    }
}
