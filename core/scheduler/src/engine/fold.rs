//! Folds facts into the state, and wakes who they can help.

use std::sync::Arc;

use cluster::change::Change;
use cluster::claims::{ClaimState, Shown};
use cluster::groups::Key;
use cluster::published::Published;
use cluster::taint_rules::TaintRule;
use decisions::filters::Filter;
use decisions::profile::Profile;
use decisions::wake::{Wake, Wakes};
use gates::Gate;
use model::claim::ClaimId;
use model::device::TaintEffect;
use model::identity::{ClaimUid, NodeName, PodUid};
use model::node::Node;
use model::pod::{ClaimSource, Pod};
use model::timestamp::Timestamp;

use super::Engine;
use super::driven_off::{drives_off, is_tainted};
use super::touched::{helped_by, node_changes, own_changes};
use crate::claim_waits::For;

impl Engine {
    pub(super) fn fold(&mut self, now: Timestamp, change: Change) {
        let expecting = self.expecting(&change);
        let wakes = match change {
            Change::NodeApplied(node) => self.fold_node(now, *node),
            Change::NodeGone(name) => self.node_gone(now, &name),
            Change::PodApplied(pod) => self.fold_pod(now, &pod),
            Change::PodGone(uid) => self.pod_gone(now, &uid),
            Change::SliceApplied(published) => self.fold_slice(now, published),
            Change::SliceGone(name) => {
                // It may have contradicted the rest of its pool.
                let touched = self.slice_touched(&name);
                self.facts.remove_slice(&name);
                self.caches.scopes.forget();
                touched
            }
            Change::TaintRuleApplied(rule) => self.fold_taint_rule(now, rule),
            Change::TaintRuleGone(name) => {
                let is_changed = self.facts.remove_taint_rule(&name);
                self.taints_changed(is_changed)
            }
            Change::ClassApplied(class) => {
                self.facts.apply_class(class);
                self.caches.scopes.forget();
                self.follow_classes();
                Wake::Class.into()
            }
            Change::ClassGone(name) => {
                self.facts.remove_class(&name);
                self.caches.scopes.forget();
                self.follow_classes();
                Wakes::NONE
            }
            Change::ClaimApplied(state) => self.fold_claim(now, *state, Shown::Watch),
            Change::ClaimListed(state) => {
                self.bindings.claims_listed = Some(now);
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
                self.facts.namespaces.apply(name, labels);
                Wake::Namespace.into()
            }
            Change::NamespaceGone(name) => {
                self.facts.namespaces.remove(&name);
                Wakes::NONE
            }
            Change::BudgetApplied(budget) => {
                self.facts.budgets.apply(*budget);
                Wakes::NONE
            }
            Change::BudgetGone(namespace, name) => {
                self.facts.budgets.remove(&namespace, &name);
                Wakes::NONE
            }
            Change::Group(change) => self.fold_group(now, change),
            Change::Negotiation(change) => self.fold_negotiation(now, change),
            Change::Storage(change) => {
                let (wakes, claims) = (helped_by(&change), self.claims_concerned(&change));
                self.facts.apply_storage(change);
                self.look_at_volumes(now, &claims);
                wakes
            }
            Change::Companions(change) => {
                // In Kubernetes it is not among the changes that let a pod in either.
                self.facts.apply_companions(change);
                Wakes::NONE
            }
        };
        self.wake_expecting(now, wakes, expecting);
    }

    fn node_gone(&mut self, now: Timestamp, name: &NodeName) -> Wakes {
        if self.facts.remove_node(name) {
            self.wake_nominees_of(now, name);
            self.look_at_arrivals(now, name);
        }
        Wake::NodeRemoved.of_node(name)
    }

    fn fold_node(&mut self, now: Timestamp, node: Node) -> Wakes {
        let name = node.name.clone();
        let drives_off = |known: &Arc<Node>| drives_off(known, &node);
        let known_before = self.facts.nodes.find(&name).and_then(|at| self.facts.nodes.get(at).node.as_ref());
        let is_left = known_before.is_some_and(drives_off);
        let known = self.facts.apply_node(node);
        if is_left {
            self.look_at_arrivals(now, &name);
        }
        let node = self.facts.nodes.find(&name).and_then(|at| self.facts.nodes.get(at).node.as_ref());
        match known.zip(node) {
            None => Wake::NodeAdded.of_node(&name),
            Some((known, node)) => node_changes(&known, node),
        }
    }

    fn fold_slice(&mut self, now: Timestamp, published: Arc<Published>) -> Wakes {
        let (name, pool) = (published.slice.name.clone(), published.slice.pool.clone());
        let before = self.slice_touched(&name);
        self.facts.apply_slice(published);
        self.caches.scopes.forget();
        let known = self.facts.slices.get(&name);
        if known.is_some_and(|known| known.slice.devices.iter().any(is_tainted)) {
            self.look_at_takers(now, Some(&pool));
        }
        before.or(self.slice_touched(&name))
    }

    fn fold_taint_rule(&mut self, now: Timestamp, rule: TaintRule) -> Wakes {
        let gates = self.settings.gates;
        if !(gates.enabled(Gate::DRADeviceTaints) && gates.enabled(Gate::DRADeviceTaintRules)) {
            return Wakes::NONE;
        }
        let drives_off = rule.taint.effect == TaintEffect::NoExecute;
        let is_changed = self.facts.apply_taint_rule(rule);
        if is_changed && drives_off {
            self.look_at_takers(now, None);
        }
        self.taints_changed(is_changed)
    }

    fn taints_changed(&mut self, is_changed: bool) -> Wakes {
        if !is_changed {
            return Wakes::NONE;
        }
        self.caches.scopes.forget();
        Wake::Slice.into()
    }

    fn fold_pod(&mut self, now: Timestamp, pod: &Arc<Pod>) -> Wakes {
        if pod.finished {
            return self.pod_gone(now, &pod.uid);
        }
        if let Some(node) = &pod.node {
            // Bound, by us or by another client: it waits no more.
            self.bindings.rivals.is_done(now, &pod.uid);
            if self.settings.profile(pod).is_none() && self.facts.wants_devices(pod) {
                self.bindings.rivals.meet();
            }
            let known = self.facts.nodes.has_pod(&pod.uid);
            self.found_bound(&pod.uid, node);
            self.drop_negotiation(&pod.uid);
            self.follow_bound(now, pod);
            let mut wakes = self.end_nomination(&pod.uid, pod.node.as_ref());
            if pod.deleting {
                self.plans.leaving.remove(&pod.uid);
            }
            // While claims are written for it, it counts with what their devices take.
            if !self.bindings.has(&pod.uid) {
                wakes = wakes.or(self.put_on_node(now, pod));
                self.look_if_gang_placed(pod);
            }
            if !known {
                self.join_gang(now, pod);
            }
            if !known && self.facts.wants_devices(pod) {
                // Its claims may have been told of before it, and only now to displace it can free their devices.
                self.plans.users_changed += 1;
                return wakes.or(self.claims_touched(pod));
            }
            return wakes;
        }
        if pod.deleting {
            return self.pod_gone(now, &pod.uid);
        }
        let Some(profile) = self.settings.profile(pod).cloned() else {
            self.bindings.rivals.waits(now, pod, self.facts.wants_devices(pod));
            return Wakes::NONE;
        };
        // The answer to a binding may overtake facts from before it, and a pod that is bound stays so.
        if self.facts.nodes.has_pod(&pod.uid) && !self.bindings.has(&pod.uid) {
            return Wakes::NONE;
        }
        let before = self.facts.waiting.insert(pod.uid.clone(), pod.clone());
        let gated = self.is_gated(pod, &profile);
        self.enqueue(now, pod, gated);
        // A pod on its way is on its node already, and needs no room beside itself.
        let is_placing = self.bindings.has(&pod.uid);
        let freed = if is_placing { Wakes::NONE } else { self.fold_nomination(now, before.as_deref(), pod) };
        if let Some(before) = before {
            let key = self.facts.groups.key_of(pod);
            self.queue.wake_one(&key, own_changes(&before, pod), now);
        }
        freed
    }

    /// Whether something else has to be done before the pod may be placed.
    pub(super) fn is_gated(&mut self, pod: &Pod, profile: &Profile) -> bool {
        let lacks_claims = profile.filters.has(Filter::Devices) && self.lacks_claims(pod);
        lacks_claims || (profile.heeds_gates && !pod.gates.is_empty())
    }

    /// Whether a claim that the pod names has yet to be made; those that have a name are noted.
    pub(super) fn lacks_claims(&mut self, pod: &Pod) -> bool {
        let mut lacks =
            pod.claims.iter().any(|claim| matches!(claim.source, ClaimSource::ToBeGenerated { .. }));
        for id in pod.claim_ids() {
            if self.facts.claims.get(&id).is_none() {
                self.bindings.waits.add(id, For::Existence, &pod.uid);
                lacks = true;
            }
        }
        lacks
    }

    fn fold_claim(&mut self, now: Timestamp, state: ClaimState, shown: Shown) -> Wakes {
        let id = state.wish.id.clone();
        if self.facts.claims.is_missing(&id, &state.uid) {
            return Wakes::NONE;
        }
        let is_new = self.facts.claims.get(&id).is_none();
        let touched_before = self.claim_touched(&id);
        let was_decided = self.facts.claims.is_decided(&id);
        let before = self.facts.claims.allocation(&id).cloned();
        if before.as_ref() != state.allocation.as_ref() {
            self.facts.touch_claim(&id);
        }
        let known = self.facts.claims.get(&id).cloned();
        let is_used_otherwise = |known: &ClaimState| {
            known.reserved_for != state.reserved_for || known.preparation != state.preparation
        };
        if known.as_deref().is_some_and(is_used_otherwise) {
            self.use_changed(&id, now);
        }
        self.notice_rival(&state, shown);
        self.note_made(&state);
        self.heed_users(now, &state);
        let made_for = state.owner.as_ref().filter(|_| state.extended).map(|owner| PodUid::from(&**owner));
        let is_controlled = self.facts.is_controlled(&state);
        let is_displaceable = !is_controlled && self.is_displaceable(&state);
        let touched = self.facts.claims.show(state, shown);
        if touched.taken {
            self.facts.touch_claim(&id);
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
        let arrived = was_decided && !self.facts.claims.is_decided(&id);
        if arrived || is_displaceable {
            // No device is free that was not, but others could go now.
            self.plans.users_changed += 1;
        }
        let was_controlled = known.is_some_and(|known| self.facts.is_controlled(&known));
        // What a driver's controller gives and takes is none of what we have to give.
        let is_open_again =
            !was_controlled && before.is_some() && self.facts.claims.allocation(&id).is_none();
        let of_devices = touched.freed || is_open_again || touched.taken;
        match of_devices || is_new || arrived || is_displaceable {
            true => touched_before.or(self.claim_touched(&id)),
            false => Wakes::NONE,
        }
    }

    /// A claim is gone: by a watch, or since the one with this uid was not found.
    fn claim_gone(&mut self, now: Timestamp, id: &ClaimId, missing: Option<&ClaimUid>) -> Wakes {
        self.facts.touch_claim(id);
        self.bindings.giving_back.gone(id);
        let was_made = self.forget_made(id);
        let known = self.facts.claims.get(id).cloned();
        let wakes = self.claim_touched(id);
        let touched = match missing {
            Some(uid) => self.facts.claims.miss(id, uid),
            None => self.facts.claims.remove(id),
        };
        self.free_room_of_users(now, id);
        self.look_again_at_users(now, id, known.as_deref());
        self.heard_of(now, id);
        self.look_if_forlorn(now, id);
        self.look_at_awaited(now, id);
        self.follow_control(now, id, known.as_deref());
        if touched.freed || was_made { wakes } else { Wakes::NONE }
    }

    /// Whether a pod uses a claim no more, or one does where none did, so that to preempt those that do may free
    /// its devices now.
    fn is_displaceable(&self, state: &ClaimState) -> bool {
        let known = self.facts.claims.get(&state.wish.id).map_or(&[][..], |known| &known.reserved_for);
        let is_first = known.is_empty() && !state.reserved_for.is_empty();
        is_first || known.iter().any(|user| !state.reserved_for.contains(user))
    }

    /// Pods that waited for a claim to be made are looked at again.
    fn look_again_at_gated(&mut self, now: Timestamp, claim: &ClaimId) {
        for uid in self.bindings.waits.take(claim, For::Existence) {
            let Some(pod) = self.facts.waiting.get(&uid).cloned() else { continue };
            if pod.node.is_some() {
                self.follow_bound(now, &pod);
                continue;
            }
            let Some(profile) = self.settings.profile(&pod).cloned() else { continue };
            let gated = self.is_gated(&pod, &profile);
            self.enqueue(now, &pod, gated);
        }
    }

    fn pod_gone(&mut self, now: Timestamp, uid: &PodUid) -> Wakes {
        self.bindings.rivals.is_done(now, uid);
        self.bindings.served.remove(uid);
        // What was written for it may have arrived after the controller of claims has released what it used.
        let waiting = self.facts.waiting.get(uid);
        let known = waiting.or_else(|| self.facts.nodes.pod(uid).map(|(_, pod)| pod)).cloned();
        if let Some(pod) = known.filter(|pod| self.settings.profile(pod).is_some()) {
            self.bereave_claims(now, &pod);
        }
        self.forget_waiting(uid);
        let node = self.facts.nodes.pod(uid).and_then(|(_, pod)| pod.node.clone());
        // Before others of its gang look who is there.
        let had_node = self.lose_seat(now, uid);
        self.abandon(uid);
        self.forget_unmade(uid);
        self.drop_negotiation(uid);
        self.plans.leaving.remove(uid);
        let freed = self.end_nomination(uid, None);
        match (had_node, node) {
            (true, Some(node)) => freed.or(Wake::PodRemoved.of_node(&node)),
            (true, None) => freed.or(Wake::PodRemoved.into()),
            (false, _) => freed,
        }
    }

    pub(super) fn forget_waiting(&mut self, uid: &PodUid) {
        let key = Key::Pod(uid.clone());
        self.queue.remove(&key);
        self.plans.shunned.remove(uid);
        let Some(pod) = self.facts.waiting.remove(uid) else { return };
        self.gangs.gated.remove(&key);
        self.leave_gang(&pod);
        self.bindings.waits.forget(&pod, For::OtherUsers);
        self.forget_negotiation(&pod);
        self.bindings.waits.forget(&pod, For::Existence);
    }
}
