//! Folds facts into the state, and wakes who they can help.

use std::sync::Arc;

use cluster::claims::{ClaimState, Held, Shown};
use cluster::pools::PoolReach;
use cluster::published::Published;
use model::claim::ClaimId;
use model::device::PoolId;
use model::node::Node;
use model::pod::{ClaimSource, Pod, PodClaim};
use model::timestamp::Timestamp;

use super::Engine;
use crate::filters::Filter;
use crate::profile::Profile;
use crate::wake::{Wake, Wakes};
use cluster::change::Change;

impl Engine {
    pub(super) fn fold(&mut self, now: Timestamp, change: Change) {
        let wakes = match change {
            Change::NodeApplied(node) => self.fold_node(*node),
            Change::NodeGone(name) => self.node_gone(now, &name),
            Change::PodApplied(pod) => self.fold_pod(now, &pod),
            Change::PodGone(uid) => self.pod_gone(now, &uid),
            Change::SliceApplied(published) => {
                let published = self.taint_rules.publish(published);
                self.put_slice(published);
                Wake::Slice.into()
            }
            Change::SliceGone(name) => {
                if let Some(pool) = self.slices.get(&name).map(|known| known.slice.pool.clone()) {
                    self.touch_pool(&pool);
                }
                self.slices.remove(&name);
                self.scopes.forget();
                self.taint_rules.forget(&name);
                // It may have contradicted the rest of its pool.
                Wake::Slice.into()
            }
            Change::TaintRuleApplied(rule) => self.fold_taint_rule(rule),
            Change::TaintRuleGone(name) => self.taint_rule_gone(&name),
            Change::ClassApplied(class) => {
                self.classes.insert(class.name.clone(), class);
                self.scopes.forget();
                self.follow_classes();
                self.touches.touch_all();
                Wake::Class.into()
            }
            Change::ClassGone(name) => {
                self.classes.remove(&name);
                self.scopes.forget();
                self.follow_classes();
                self.touches.touch_all();
                Wakes::NONE
            }
            Change::ClaimApplied(state) => self.fold_claim(now, *state, Shown::Watch),
            Change::ClaimListed(state) => {
                self.claims_listed = Some(now);
                self.fold_claim(now, *state, Shown::List)
            }
            Change::ClaimAnswered(state) => self.fold_claim(now, *state, Shown::Answer),
            Change::ClaimGone(id) => self.claim_gone(now, &id, None),
            Change::ClaimMissing(id, uid) if self.knows_claim(&id, &uid) => {
                self.claim_gone(now, &id, Some(&uid))
            }
            // It is another by now, or is known to be gone.
            Change::ClaimMissing(..) => Wakes::NONE,
            Change::NamespaceApplied(name, labels) => {
                self.namespaces.apply(name, labels);
                Wake::Namespace.into()
            }
            Change::NamespaceGone(name) => {
                self.namespaces.remove(&name);
                Wakes::NONE
            }
            Change::BudgetApplied(budget) => {
                self.preempting.budgets.apply(*budget);
                Wakes::NONE
            }
            Change::BudgetGone(namespace, name) => {
                self.preempting.budgets.remove(&namespace, &name);
                Wakes::NONE
            }
            Change::Group(change) => self.fold_group(now, change),
            Change::Negotiation(change) => self.fold_negotiation(now, change),
            Change::Storage(change) => self.fold_storage(change),
            Change::Companions(change) => {
                self.fold_companions(change);
                Wakes::NONE
            }
        };
        self.queue.wake(wakes, now);
    }

    fn node_gone(&mut self, now: Timestamp, name: &Arc<str>) -> Wakes {
        let known = self.nodes.find(name).and_then(|at| self.nodes.get(at).node.clone());
        self.images.replace(known.as_deref(), None);
        if let Some(at) = self.nodes.remove(name) {
            self.touches.touch(at);
            self.softly_tainted.remove(&at);
            self.wake_nominees_of(now, name);
        }
        Wake::NodeRemoved.into()
    }

    fn fold_node(&mut self, node: Node) -> Wakes {
        let known = self.nodes.find(&node.name).and_then(|at| self.nodes.get(at).node.clone());
        let wakes = match &known {
            None => Wake::NodeAdded.into(),
            Some(known) => node_changes(known, &node),
        };
        self.images.replace(known.as_deref(), Some(&node));
        let at = self.nodes.apply(node);
        self.touches.touch(at);
        self.note_soft_taints(at);
        wakes
    }

    /// Puts a slice in its place.
    pub(super) fn put_slice(&mut self, published: Arc<Published>) {
        let pool = published.slice.pool.clone();
        self.touch_pool(&pool);
        self.slices.apply(published);
        self.scopes.forget();
        self.touch_pool(&pool);
    }

    /// Something changed for the devices of a pool.
    pub(crate) fn touch_pool(&mut self, pool: &PoolId) {
        match self.slices.node_of(pool) {
            PoolReach::Nowhere => {}
            PoolReach::Node(node) => {
                if let Some(at) = self.nodes.find(node) {
                    self.touches.touch(at);
                }
            }
            PoolReach::Several => self.touches.touch_all(),
        }
    }

    /// Something changed for the devices that a claim holds.
    pub(crate) fn touch_claim(&mut self, id: &ClaimId) {
        for Held { device, .. } in self.claims.held(id) {
            let pool = PoolId { driver: device.driver, pool: device.pool };
            self.touch_pool(&pool);
        }
    }

    fn fold_pod(&mut self, now: Timestamp, pod: &Arc<Pod>) -> Wakes {
        if pod.finished {
            return self.pod_gone(now, &pod.uid);
        }
        if let Some(node) = &pod.node {
            // Bound, by us or by somebody else: it waits for nobody any more.
            self.rivals.is_done(now, &pod.uid);
            if self.settings.profile(pod).is_none() && self.wants_devices(pod) {
                self.rivals.meet();
            }
            let known = self.nodes.has_pod(&pod.uid);
            self.found_bound(&pod.uid, node);
            self.drop_negotiation(&pod.uid);
            self.follow_bound(now, pod);
            let freed = self.end_nomination(&pod.uid, pod.node.as_ref());
            if pod.deleting {
                self.preempting.went(&pod.uid);
            }
            // While claims are written for it, it counts with what their devices take.
            if !self.placing.contains_key(&pod.uid) {
                self.put_pod(pod.clone());
                self.look_if_gang_placed(pod);
            }
            if !known {
                self.found_seat(now, pod);
            }
            if !known {
                self.join_gang(now, pod);
            }
            if !known && self.wants_devices(pod) {
                // Its claims may have been told of before it, and only now to displace it can free their devices.
                self.preempting.users_changed();
                return freed.or(Wakes::of(&[Wake::PodAdded, Wake::Claim]));
            }
            return if known { freed } else { freed.or(Wake::PodAdded.into()) };
        }
        if pod.deleting {
            return self.pod_gone(now, &pod.uid);
        }
        let Some(profile) = self.settings.profile(pod).cloned() else {
            self.rivals.waits(now, pod, self.wants_devices(pod));
            return Wakes::NONE;
        };
        // The answer to a binding may overtake facts from before it, and a pod that is bound stays so.
        if self.nodes.has_pod(&pod.uid) && !self.placing.contains_key(&pod.uid) {
            return Wakes::NONE;
        }
        let before = self.waiting.insert(pod.uid.clone(), pod.clone());
        let gated = self.is_gated(pod, &profile);
        self.enqueue(now, pod, gated);
        // A pod on its way is on its node already, and needs no room beside itself.
        let is_placing = self.placing.contains_key(&pod.uid);
        let freed = if is_placing { Wakes::NONE } else { self.fold_nomination(now, before.as_deref(), pod) };
        if let Some(before) = before {
            let key = self.queue_key(pod);
            self.queue.wake_one(&key, own_changes(&before, pod), now);
        }
        freed
    }

    /// Whether something else has to be done before the pod may be placed.
    fn is_gated(&mut self, pod: &Pod, profile: &Profile) -> bool {
        let lacks_claims = profile.filters.has(Filter::Devices) && self.lacks_claims(pod);
        lacks_claims || (profile.heeds_gates && !pod.gates.is_empty())
    }

    /// Whether a claim that the pod names has yet to be made; those that have a name are noted.
    pub(super) fn lacks_claims(&mut self, pod: &Pod) -> bool {
        let mut lacks =
            pod.claims.iter().any(|claim| matches!(claim.source, ClaimSource::ToBeGenerated { .. }));
        for id in named_claims(pod) {
            if self.claims.get(&id).is_none() {
                self.lacking.entry(id).or_default().insert(pod.uid.clone());
                lacks = true;
            }
        }
        lacks
    }

    fn fold_claim(&mut self, now: Timestamp, state: ClaimState, shown: Shown) -> Wakes {
        let id = state.wish.id.clone();
        if self.claims.is_missing(&id, &state.uid) {
            return Wakes::NONE;
        }
        let is_new = self.claims.get(&id).is_none();
        let was_decided = self.claims.is_decided(&id);
        let before = self.claims.allocation(&id).cloned();
        if before.as_ref() != state.allocation.as_ref() {
            self.touch_claim(&id);
        }
        let known = self.claims.get(&id).cloned();
        if known.as_ref().is_some_and(|known| known.reserved_for != state.reserved_for) {
            self.users_changed(&id, now);
        }
        self.notice_rival(&state, shown);
        self.note_made(&state);
        self.heed_users(now, &state);
        let made_for = state.owner.clone().filter(|_| state.extended);
        let is_controlled = self.is_controlled(&state);
        let is_displaceable = !is_controlled && self.is_displaceable(&state);
        let touched = self.claims.show(state, shown);
        if touched.taken {
            self.touch_claim(&id);
        }
        if let Some(pod) = made_for {
            self.settle_unmade(&pod);
            self.go_on(now, &pod);
        }
        if is_new {
            self.look_again_at_gated(now, &id);
        }
        self.look_again_at_users(now, &id, known.as_deref());
        self.heard_of(now, &id);
        self.look_if_forlorn(now, &id);
        self.look_at_awaited(now, &id);
        self.follow_control(now, &id, known.as_deref());
        // Pods that share a claim wait until the API has its allocation, and then need a reservation only.
        let arrived = was_decided && !self.claims.is_decided(&id);
        if arrived || is_displaceable {
            // No device is free that was not, but others could go now.
            self.preempting.users_changed();
        }
        let was_controlled = known.is_some_and(|known| self.is_controlled(&known));
        // What a driver's controller gives and takes is none of what we have to give.
        let is_open_again = !was_controlled && before.is_some() && self.claims.allocation(&id).is_none();
        let of_devices = touched.freed || is_open_again || touched.taken;
        if of_devices || is_new || arrived || is_displaceable { Wake::Claim.into() } else { Wakes::NONE }
    }

    /// A claim is gone: by a watch, or since the one with this uid was not found.
    fn claim_gone(&mut self, now: Timestamp, id: &ClaimId, missing: Option<&Arc<str>>) -> Wakes {
        self.touch_claim(id);
        self.forget_given_up(id);
        let was_made = self.forget_made(id);
        let known = self.claims.get(id).cloned();
        let touched = match missing {
            Some(uid) => self.claims.miss(id, uid),
            None => self.claims.remove(id),
        };
        self.free_room_of_users(now, id);
        self.look_again_at_users(now, id, known.as_deref());
        self.heard_of(now, id);
        self.look_if_forlorn(now, id);
        self.look_at_awaited(now, id);
        self.follow_control(now, id, known.as_deref());
        if touched.freed || was_made { Wake::Claim.into() } else { Wakes::NONE }
    }

    /// Whether somebody uses a claim no more, or somebody does where nobody did, so that to displace those who do may free
    /// its devices now.
    fn is_displaceable(&self, state: &ClaimState) -> bool {
        let known = self.claims.get(&state.wish.id).map_or(&[][..], |known| &known.reserved_for);
        let is_first = known.is_empty() && !state.reserved_for.is_empty();
        is_first || known.iter().any(|user| !state.reserved_for.contains(user))
    }

    /// Pods that waited for a claim to be made are looked at again.
    fn look_again_at_gated(&mut self, now: Timestamp, claim: &ClaimId) {
        for uid in self.lacking.remove(claim).unwrap_or_default() {
            let Some(pod) = self.waiting.get(&uid).cloned() else { continue };
            if pod.node.is_some() {
                self.follow_bound(now, &pod);
                continue;
            }
            let Some(profile) = self.settings.profile(&pod).cloned() else { continue };
            let gated = self.is_gated(&pod, &profile);
            self.enqueue(now, &pod, gated);
        }
    }

    fn pod_gone(&mut self, now: Timestamp, uid: &Arc<str>) -> Wakes {
        self.rivals.is_done(now, uid);
        if let Some(pod) = self.waiting.get(uid).cloned() {
            self.bereave_claims(now, &pod);
        }
        self.forget_waiting(uid);
        // Before others of its gang look who is there.
        let had_node = self.lose_seat(now, uid);
        self.abandon(uid);
        self.forget_unmade(uid);
        self.drop_negotiation(uid);
        self.preempting.went(uid);
        let freed = self.end_nomination(uid, None);
        if had_node { freed.or(Wake::PodRemoved.into()) } else { freed }
    }

    /// Puts a pod on its node.
    pub(crate) fn put_pod(&mut self, pod: Arc<Pod>) {
        // Where it was, and where it is now.
        self.take_pod(&pod.uid);
        self.note_seat(&pod);
        if let Some(at) = self.nodes.apply_pod(pod) {
            self.touches.touch(at);
        }
    }

    /// Takes a pod off its node, and says whether it was on one.
    pub(crate) fn take_pod(&mut self, uid: &str) -> bool {
        self.forget_seat(uid);
        let at = self.nodes.remove_pod(uid);
        at.into_iter().for_each(|at| self.touches.touch(at));
        at.is_some()
    }

    pub(super) fn forget_waiting(&mut self, uid: &str) {
        self.queue.remove(uid);
        self.shunned.remove(uid);
        let Some(pod) = self.waiting.remove(uid) else { return };
        self.gated.remove(&pod.uid);
        self.leave_gang(&pod);
        self.forget_users(&pod);
        self.forget_negotiation(&pod);
        for id in named_claims(&pod) {
            if let Some(pods) = self.lacking.get_mut(&id) {
                pods.remove(uid);
                if pods.is_empty() {
                    self.lacking.remove(&id);
                }
            }
        }
    }
}

/// The claims that a pod names.
pub(crate) fn named_claims(pod: &Pod) -> impl Iterator<Item = ClaimId> {
    pod.claims.iter().filter_map(|claim| claim_id(pod, claim))
}

/// The claim that an entry of a pod names.
pub(crate) fn claim_id(pod: &Pod, claim: &PodClaim) -> Option<ClaimId> {
    match &claim.source {
        ClaimSource::Named(name) | ClaimSource::Generated(name) => {
            Some(ClaimId { namespace: pod.id.namespace.clone(), name: name.clone() })
        }
        ClaimSource::ToBeGenerated { .. } | ClaimSource::NotNeeded | ClaimSource::Unknown => None,
    }
}

/// What changed of a node that could help somebody.
fn node_changes(before: &Node, after: &Node) -> Wakes {
    let mut wakes = Wakes::NONE;
    let mut note = |changed: bool, kind: Wake| {
        if changed {
            wakes = wakes.or(kind.into());
        }
    };
    note(before.labels != after.labels, Wake::NodeLabels);
    note(before.taints != after.taints || (before.unschedulable && !after.unschedulable), Wake::NodeTaints);
    note(before.allocatable != after.allocatable || before.pods_max != after.pods_max, Wake::NodeAllocatable);
    note(before.declared_features != after.declared_features, Wake::NodeFeatures);
    wakes
}

/// What changed of a waiting pod that could help itself.
pub(super) fn own_changes(before: &Pod, after: &Pod) -> Wakes {
    let mut wakes = Wakes::NONE;
    let mut note = |changed: bool, kind: Wake| {
        if changed {
            wakes = wakes.or(kind.into());
        }
    };
    note(before.shape.labels != after.shape.labels, Wake::OwnLabels);
    note(before.shape.tolerations != after.shape.tolerations, Wake::OwnTolerations);
    note(before.shape.requests != after.shape.requests, Wake::OwnRequests);
    note(before.shape != after.shape, Wake::OwnSpec);
    note(before.claims != after.claims, Wake::OwnClaims);
    wakes
}
