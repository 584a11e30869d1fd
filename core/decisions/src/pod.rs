//! One pod against all nodes: which will do, which is best, and with which devices.
//!
//! Nothing is changed here. What is found is either a choice, with everything that has to be written for it, or a refusal
//! that counts the nodes by reason and says what could undo it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::nodes::NodeIdx;
use model::allocation::Allocation;
use model::claim::ClaimId;
use model::node::Node;
use model::pod::{ClaimSource, LabelSelector, Pod, Shape};

use crate::certainty::Certainty;
use crate::cycle::Cycle;
use crate::device_search::{Found, NoDevices};
use crate::filters::{self, Around, Filter, FilterSet, Mounts};
use crate::footprint::Footing;
use crate::giving_back::Why;
use crate::in_the_way::{InTheWay, Remedy};
use crate::negotiation::{Openings, Pending};
use crate::profile::Profile;
use crate::reason::Reason;
use crate::scores::{self, View};
use crate::wake::{Wake, Wakes};
use crate::work;

/// Where a pod goes, and what its claims need.
#[derive(Debug)]
pub struct Choice {
    /// The node.
    pub node: Arc<str>,
    /// What each of its claims needs.
    pub claims: Vec<Wanted>,
    /// What drivers' controllers have to be asked first.
    pub negotiation: Option<Box<Openings>>,
}

/// What a claim of a pod needs.
#[derive(Debug)]
pub enum Wanted {
    /// Nothing: it has devices and is reserved for the pod.
    Reserved,
    /// A reservation; it has devices, or gets them at once with another pod.
    Reservation {
        /// The claim.
        claim: ClaimId,
        /// Its uid.
        uid: Arc<str>,
    },
    /// Devices, and a reservation.
    Allocation {
        /// The claim.
        state: Arc<ClaimState>,
        /// The devices.
        allocation: Allocation,
    },
    /// To be made, for resources that the pod asks for by name.
    Claim {
        /// The devices.
        allocation: Allocation,
    },
}

/// Why no node will do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodRefusal {
    nodes: usize,
    /// The node that the pod is on already, and that alone was looked at.
    bound_to: Option<Arc<str>>,
    /// A reason that has nothing to do with nodes.
    everywhere: Option<String>,
    /// The claims of the pod that need devices, which reasons name by their places.
    own: Vec<ClaimId>,
    /// How many nodes have which reason.
    reasons: BTreeMap<Reason, usize>,
    /// What came closest for devices, in a sentence of ours.
    nearest: Option<Reason>,
    /// A claim that has to give up its devices for the pod.
    in_the_way: Option<InTheWay>,
    /// The nodes on which it could help if pods went, in order.
    curable: Vec<NodeIdx>,
    /// The filters that say so.
    filters: FilterSet,
    wakes_on: Wakes,
    certainty: Certainty,
}

impl PodRefusal {
    /// The filters that say so.
    pub fn filters(&self) -> FilterSet {
        self.filters
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The nodes on which it could help if pods went, in order.
    pub(crate) fn curable(&self) -> &[NodeIdx] {
        &self.curable
    }

    /// Whether there certainly is no place.
    pub fn certainty(&self) -> Certainty {
        self.certainty
    }

    /// The changes that could undo it.
    #[must_use]
    pub fn wakes_on(&self) -> Wakes {
        self.wakes_on
    }

    /// The claim that has to give up its devices for the pod.
    pub fn in_the_way(&self) -> Option<InTheWay> {
        self.in_the_way.clone()
    }

    /// The same refusal for a pod with other claims that ask for the same.
    pub(crate) fn for_claims(mut self: Box<Self>, claims: &Claims) -> Box<Self> {
        self.own = claims.own();
        self
    }

    /// The same refusal for every pod that is alike.
    pub(crate) fn for_all(&self) -> PodRefusal {
        PodRefusal { own: Vec::new(), ..self.clone() }
    }

    /// The same refusal, with a claim that has to give up its devices, and other changes that could undo it.
    pub(crate) fn because_of(mut self, in_the_way: Option<InTheWay>, wakes_on: Wakes) -> Self {
        (self.in_the_way, self.wakes_on) = (in_the_way, wakes_on);
        self
    }

    fn everywhere(nodes: usize, reason: String, filter: Option<Filter>, wakes_on: Wakes) -> Box<PodRefusal> {
        Box::new(PodRefusal {
            nodes,
            bound_to: None,
            everywhere: Some(reason),
            own: Vec::new(),
            reasons: BTreeMap::new(),
            nearest: None,
            in_the_way: None,
            curable: Vec::new(),
            filters: filter.into_iter().collect(),
            wakes_on,
            certainty: Certainty::Proved,
        })
    }
}

impl fmt::Display for PodRefusal {
    /// Kubernetes' sentence, which tools look for, and ours after it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bound_to {
            Some(node) => write!(out, "bound to node {node} without devices for its claims:")?,
            None if self.nodes == 0 => return write!(out, "no nodes available to schedule pods"),
            None => write!(out, "0/{} nodes are available:", self.nodes)?,
        }
        match &self.everywhere {
            Some(reason) => write!(out, " {reason}.")?,
            None => {
                let mut counted: Vec<String> = self
                    .reasons
                    .iter()
                    .map(|(reason, count)| format!("{count} {}", reason.told(&self.own)))
                    .collect();
                counted.sort_unstable();
                write!(out, " {}.", counted.join(", "))?;
            }
        }
        if let Some(nearest) = &self.nearest {
            write!(out, " {}.", nearest.told(&self.own))?;
        }
        match &self.in_the_way {
            Some(InTheWay { claim, remedy: Remedy::Deallocate, .. }) => {
                write!(out, " Claim {claim} gives its devices back, since nobody uses it.")
            }
            Some(InTheWay { claim, remedy: Remedy::Delete, .. }) => {
                write!(out, " Claim {claim}, which an earlier attempt left, is deleted.")
            }
            None => Ok(()),
        }
    }
}

/// What a pod's claims ask of a node.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    /// Those that have devices: where they can be used, and what is left to write.
    pub settled: Vec<Arc<ClaimState>>,
    /// Those that need devices.
    pub open: Vec<Arc<ClaimState>>,
    /// The uid of the pod's group, for those that the group uses in its stead.
    pub group_users: BTreeMap<ClaimId, Arc<str>>,
    /// Those that drivers' controllers are to give devices.
    pub pending: Vec<Pending>,
    /// What the pod asks for by name, if devices may stand for any of it.
    pub named: Option<Arc<Shape>>,
    /// What is needed to tell what devices take of the node, if that counts.
    pub footing: Option<Footing>,
}

impl Claims {
    /// Those that need devices.
    pub fn own(&self) -> Vec<ClaimId> {
        self.open.iter().map(|state| state.wish.id.clone()).collect()
    }

    /// Whether devices are to be found.
    pub fn need_devices(&self) -> bool {
        !self.open.is_empty() || self.named.is_some()
    }
}

/// What could help a pod whose claims have no devices on a node.
pub(crate) const DEVICES: Wakes = Wakes::of(&[
    Wake::NodeAdded,
    Wake::NodeLabels,
    Wake::NodeAllocatable,
    Wake::Claim,
    Wake::Class,
    Wake::Slice,
    Wake::OwnClaims,
]);

/// What could help besides where devices take room of the node.
pub(crate) const ROOM: Wakes = Wakes::of(&[Wake::PodRemoved, Wake::PodShrunk, Wake::OwnRequests]);

/// Counts why nodes are out of the question.
#[derive(Default)]
struct Tally {
    nodes: usize,
    reasons: BTreeMap<Reason, usize>,
    nearest: Option<Reason>,
    curable: Vec<NodeIdx>,
    filters: FilterSet,
    wakes_on: Wakes,
    certainty: Certainty,
}

impl Tally {
    fn refuse(
        &mut self,
        filter: Option<Filter>,
        reasons: impl IntoIterator<Item = impl Into<Reason>>,
        wakes_on: Wakes,
    ) {
        filter.into_iter().for_each(|filter| self.filters.insert(filter));
        reasons.into_iter().for_each(|reason| *self.reasons.entry(reason.into()).or_default() += 1);
        self.wakes_on = self.wakes_on.or(wakes_on);
    }

    /// Counts a node that has no devices.
    fn refuse_devices(&mut self, at: NodeIdx, none: NoDevices, claims: &Claims) {
        let room = if claims.footing.is_some() { ROOM } else { Wakes::NONE };
        self.refuse(Some(Filter::Devices), [none.reason], DEVICES.or(room));
        self.curable.push(at);
        self.nearest = self.nearest.take().or(none.nearest);
        self.certainty = self.certainty.and(none.certainty);
    }

    fn refusal(self, claims: &Claims, in_the_way: Option<InTheWay>) -> Box<PodRefusal> {
        let Tally { nodes, reasons, nearest, mut curable, filters, wakes_on, certainty } = self;
        curable.sort_unstable();
        let (bound_to, everywhere) = (None, None);
        Box::new(PodRefusal {
            nodes,
            bound_to,
            everywhere,
            own: claims.own(),
            reasons,
            nearest,
            in_the_way,
            curable,
            filters,
            wakes_on,
            certainty,
        })
    }
}

impl Cycle<'_> {
    /// The best node for a pod.
    pub fn choose(&mut self, pod: &Pod) -> Result<Choice, Box<PodRefusal>> {
        let profile = self.settings.profile_of(pod);
        let claims = self.claims_of(pod, &profile)?;
        if !claims.pending.is_empty() {
            return self.choose_negotiated(pod, &claims, &profile);
        }
        if let Some(choice) = self.choose_nominated(pod, &claims, &profile) {
            return Ok(choice);
        }
        if self.plans.has_shunned(&pod.uid) || !self.is_alike_to_others(pod, &claims, &profile) {
            return self.choose_anew(pod, &claims, &profile);
        }
        if let Some(choice) = self.choose_alike(pod, &claims, &profile)? {
            return Ok(choice);
        }
        let chosen = self.choose_anew(pod, &claims, &profile);
        if let Err(refusal) = &chosen {
            self.remember_refusal(refusal);
        }
        chosen
    }

    /// The best node for a pod, with nothing known about any.
    fn choose_anew(
        &mut self,
        pod: &Pod,
        claims: &Claims,
        profile: &Profile,
    ) -> Result<Choice, Box<PodRefusal>> {
        self.seats_anew(pod, claims, profile, 1).map(|mut seats| seats.swap_remove(0))
    }

    /// The nodes that will do for a pod, the best first and at most so many, with nothing known about any.
    pub(crate) fn seats_anew(
        &mut self,
        pod: &Pod,
        claims: &Claims,
        profile: &Profile,
        most: usize,
    ) -> Result<Vec<Choice>, Box<PodRefusal>> {
        let settings = &profile.filters;
        let companions = self.companions_of(&pod.shape, profile);
        let companions = companions.as_ref();
        let around = Around::new(&pod.shape, &self.facts.nodes, &self.facts.namespaces, settings, companions);
        let around = around.with_volumes(&self.facts.nodes, &self.facts.volumes, settings);
        let found = filters::anywhere(&pod.shape, settings);
        let found = found.and_then(|()| Mounts::new(&pod.shape, &self.facts.volumes, settings));
        let mounts = found.map_err(|refusal| {
            PodRefusal::everywhere(
                self.facts.nodes.iter().count(),
                refusal.text(),
                refusal.filter(),
                refusal.wakes_on(),
            )
        })?;
        let mut tally = Tally { wakes_on: Wake::NodeAdded.into(), ..Tally::default() };
        let mut candidates: Vec<NodeIdx> = Vec::new();
        for (at, state) in self.facts.nodes.iter() {
            tally.nodes += 1;
            let node = filters::node_of(state);
            let fits = filters::fixed(&pod.shape, node, settings)
                .and_then(|()| filters::usage(&pod.shape, state, settings))
                .and_then(|()| around.check_volumes())
                .and_then(|()| mounts.check(node))
                .and_then(|()| around.check(state))
                .and_then(|()| {
                    let who = (&*pod.uid, pod.priority);
                    self.check_beside_nominees(&pod.shape, who, state, Some(&around), settings)
                });
            match fits {
                Ok(()) => candidates.push(at),
                Err(refusal) => {
                    if !refusal.is_final() {
                        tally.curable.push(at);
                    }
                    tally.refuse(refusal.filter(), refusal.reasons(), refusal.wakes_on());
                }
            }
        }
        self.caches.work.spend(tally.nodes as u64 * work::NODE);
        let compares_devices = most == 1 && self.alternatives_weight(profile, claims) != 0;
        let candidates = if compares_devices {
            candidates
        } else {
            let scored = self.scored(pod, candidates, &[], companions, profile);
            if claims.pending.is_empty() {
                best_first(scored)
            } else {
                self.apart_from_others(pod, scored, settings)
            }
        };
        let Found { nodes: mut found, others } =
            self.find_devices(&candidates, claims, if compares_devices { usize::MAX } else { most });
        others.into_iter().for_each(|(at, none)| tally.refuse_devices(at, none, claims));
        if compares_devices {
            found = self.best_of(pod, claims, found, companions, profile).into_iter().collect();
        }
        if !found.is_empty() {
            let seat = |(at, allocations)| {
                choice(pod, filters::node_of(self.facts.nodes.get(at)), claims, allocations)
            };
            return Ok(found.into_iter().map(seat).collect());
        }
        let in_the_way = self.in_the_way(pod, claims, &candidates);
        Err(tally.refusal(claims, in_the_way))
    }

    /// Devices for the claims of a pod that is on a node already. Nothing else about the node is asked.
    pub fn choose_there(&mut self, pod: &Pod, node: &Arc<str>) -> Result<Choice, Box<PodRefusal>> {
        let bound =
            |refusal: Box<PodRefusal>| Box::new(PodRefusal { bound_to: Some(node.clone()), ..*refusal });
        let Some(at) = self.facts.nodes.find(node) else {
            let wakes = Wakes::of(&[Wake::NodeAdded]);
            return Err(bound(PodRefusal::everywhere(0, "there is no such node".to_owned(), None, wakes)));
        };
        let profile = self.settings.profile_of(pod);
        let claims = self.claims_of(pod, &profile).map_err(bound)?;
        let there = filters::node_of(self.facts.nodes.get(at)).clone();
        let NoDevices { reason, nearest, certainty } = match self.devices_on(&there, &claims) {
            Ok(_) if !claims.pending.is_empty() => return Ok(Cycle::negotiated_there(pod, &there, &claims)),
            Ok(allocations) => return Ok(choice(pod, &there, &claims, allocations)),
            Err(why) => why,
        };
        let own = claims.own();
        let refusal = bound(PodRefusal::everywhere(1, reason.told(&own), Some(Filter::Devices), DEVICES));
        let in_the_way = self.in_the_way(pod, &claims, &[at]);
        Err(Box::new(PodRefusal { nearest, in_the_way, own, certainty, ..*refusal }))
    }

    /// Candidates by score and what is added to each, the best first; among equals the one that was known first.
    pub(crate) fn ranked(
        &self,
        pod: &Pod,
        candidates: Vec<NodeIdx>,
        extra: &[i64],
        companions: Option<&LabelSelector>,
        profile: &Profile,
    ) -> Vec<NodeIdx> {
        best_first(self.scored(pod, candidates, extra, companions, profile))
    }

    /// Candidates with their score and what is added to each.
    fn scored(
        &self,
        pod: &Pod,
        candidates: Vec<NodeIdx>,
        extra: &[i64],
        companions: Option<&LabelSelector>,
        profile: &Profile,
    ) -> Vec<(i64, NodeIdx)> {
        if candidates.len() < 2 {
            return candidates.into_iter().map(|at| (0, at)).collect();
        }
        let view = View {
            nodes: &self.facts.nodes,
            namespaces: &self.facts.namespaces,
            images: &self.facts.images,
            companions,
            settings: &profile.scores,
        };
        let mut totals = scores::totals(&pod.shape, &candidates, &view);
        totals.iter_mut().zip(extra).for_each(|(total, extra)| *total += extra);
        totals.into_iter().zip(candidates).collect()
    }

    /// The claims of a pod, if all of them can be used.
    pub(crate) fn claims_of(&self, pod: &Pod, profile: &Profile) -> Result<Claims, Box<PodRefusal>> {
        let refused = |reason: String| self.refused_by_claims(reason);
        if !profile.filters.has(Filter::Devices) {
            return Ok(Claims::default());
        }
        let (named, footing) = (self.facts.named_needs(pod), self.footing(pod));
        let mut claims = Claims { named, footing, ..Claims::default() };
        if pod.node.is_some() {
            // Whether there is room for it was not asked either.
            (claims.named, claims.footing) = (None, None);
        }
        if let Some((reason, in_the_way)) = claims.named.as_ref().and_then(|_| self.cannot_make(pod)) {
            return Err(Box::new(PodRefusal { in_the_way, ..*refused(reason) }));
        }
        for claim in &pod.claims {
            let name = match &claim.source {
                ClaimSource::Named(name) | ClaimSource::Generated(name) => name,
                ClaimSource::NotNeeded => continue,
                ClaimSource::ToBeGenerated { .. } => {
                    return Err(refused(format!("resource claim {} was not created yet", claim.name)));
                }
                ClaimSource::Unknown => {
                    return Err(refused(format!(
                        "resource claim {} names nothing that is known",
                        claim.name
                    )));
                }
            };
            let id = ClaimId { namespace: pod.id.namespace.clone(), name: name.clone() };
            let Some(state) = self.assumed.get(&id).or_else(|| self.facts.claims.get(&id)) else {
                return Err(refused(format!("resourceclaim \"{name}\" not found")));
            };
            if state.deleting {
                return Err(refused(format!("resourceclaim \"{name}\" is being deleted")));
            }
            let user = self.facts.user_of(pod, &id);
            let generated = matches!(claim.source, ClaimSource::Generated(_));
            if generated && state.owner.as_ref() != Some(&user) {
                return Err(refused(format!("resourceclaim \"{name}\" was not created for the pod")));
            }
            if self.facts.claims.is_decided(&id) {
                return Err(refused(format!("resource claim {id} is in the process of being allocated")));
            }
            if self.underway.is_given_up(&id) {
                return Err(refused(format!("resource claim {id} is in the process of being deallocated")));
            }
            let broken =
                || Some((self.readiness().will_not_be_ready(self.now, &id, profile)?, Why::NotReady));
            let is_kept = || !self.gives_back(Why::LostClash, &id, pod);
            let clash = || Some((self.facts.clash(&id, false).filter(|_| !is_kept())?, Why::LostClash));
            // What a pod on its node has there it keeps, as it is: the node may use it by now.
            let may_use =
                |node: &Arc<str>| state.reserved_for.contains(&user) && self.facts.may_use_at(&id, node);
            let is_its_own = pod.node.as_ref().is_some_and(may_use);
            if !is_its_own && let Some((reason, why)) = broken().or_else(clash) {
                let mut refusal = refused(reason);
                let one = InTheWay { claim: id.clone(), uid: state.uid.clone(), remedy: Remedy::Deallocate };
                refusal.in_the_way = self.gives_back(why, &id, pod).then_some(one);
                return Err(refusal);
            }
            let consumers = state.reserved_for.len();
            if state.allocation.is_some() && consumers >= CONSUMERS_MAX && !state.reserved_for.contains(&user)
            {
                return Err(refused(format!(
                    "resourceclaim \"{name}\" has {consumers} consumers, the most there may be"
                )));
            }
            if self.is_for_another(state, pod) {
                return Err(refused(format!(
                    "resourceclaim \"{name}\" has a device that is a part of its node, and cannot be shared"
                )));
            }
            if let Some(pending) = self.pending(pod, claim, state, &refused)? {
                claims.pending.push(pending);
                continue;
            }
            if user != pod.uid {
                claims.group_users.insert(id, user);
            }
            let is_settled = state.allocation.is_some() && !self.lifted.contains(&state.wish.id);
            if is_settled { &mut claims.settled } else { &mut claims.open }.push(state.clone());
        }
        Ok(claims)
    }

    /// The refusal of a pod whose claims cannot be used anywhere.
    pub(crate) fn refused_by_claims(&self, reason: String) -> Box<PodRefusal> {
        let wakes = Wakes::of(&[Wake::Claim, Wake::OwnClaims]);
        PodRefusal::everywhere(self.facts.nodes.iter().count(), reason, Some(Filter::Devices), wakes)
    }
}

/// What has to be written for a pod on a node.
pub(crate) fn choice(pod: &Pod, node: &Node, claims: &Claims, mut allocations: Vec<Allocation>) -> Choice {
    // One more than there are claims is for the claim that has yet to be made.
    let made = allocations.drain(claims.open.len().min(allocations.len())..).collect::<Vec<_>>();
    let settled = claims.settled.iter().map(|state| {
        let user = claims.group_users.get(&state.wish.id).unwrap_or(&pod.uid);
        if state.reserved_for.contains(user) {
            return Wanted::Reserved;
        }
        Wanted::Reservation { claim: state.wish.id.clone(), uid: state.uid.clone() }
    });
    let open = claims.open.iter().cloned().zip(allocations);
    let open = open.map(|(state, allocation)| Wanted::Allocation { state, allocation });
    let made = made.into_iter().map(|allocation| Wanted::Claim { allocation });
    let claims = settled.chain(open).chain(made).collect();
    Choice { node: node.name.clone(), claims, negotiation: None }
}

/// The most pods that may share a claim.
pub(crate) const CONSUMERS_MAX: usize = 256;

/// Candidates by their score, the best first; among equals the one that was known first.
fn best_first(mut scored: Vec<(i64, NodeIdx)>) -> Vec<NodeIdx> {
    scored.sort_unstable_by_key(|(score, at)| (Reverse(*score), *at));
    scored.into_iter().map(|(_, at)| at).collect()
}
