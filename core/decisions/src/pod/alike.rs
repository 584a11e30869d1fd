//! Answers about nodes, kept for pods that are alike.
//!
//! Pods of one shape and profile whose claims ask for the same get the same answers, so a node is looked at again only when something
//! changed for it. This holds for pods whose answers about a node depend on nothing but that node and the devices there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::claim::Claim;
use model::pod::Pod;

use crate::caches::kinds::{KnownNode, PodKind};
use crate::cycle::Cycle;
use crate::devices::alternatives::worth;
use crate::filters;
use crate::profile::Profile;
use crate::scores::{self, View};
use crate::values::choice::{Choice, choice};
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::PodRefusal;
use crate::values::preemption::Hopeless;
use crate::values::work;

/// How many kinds of pods are kept; beyond that the one that was asked for the longest ago goes.
const KINDS_MAX: usize = 64;

impl Cycle<'_> {
    /// Whether answers for the pod can be shared: nothing about other pods, other nodes or volumes decides.
    pub(crate) fn is_alike_to_others(&self, pod: &Pod, claims: &PodClaims, profile: &Profile) -> bool {
        let shape = &pod.shape;
        claims.settled.is_empty()
            && claims.pending.is_empty()
            && shape.spread.is_empty()
            && shape.near.is_empty()
            && shape.apart.is_empty()
            && shape.preferred_pods.is_empty()
            && shape.preferred_nodes.is_empty()
            && shape.volume_claims.is_empty()
            && profile.scores.preferred_nodes.is_empty()
            && self.facts.nodes.pods_with_rules() == 0
            && self.companions_of(shape, profile).is_none()
            && self.facts.softly_tainted.is_empty()
            && !self.plans.nominations.have_rules()
            && self.plans.nominations.get(&pod.uid).is_none()
    }

    /// The best node for a pod that is alike to others; `None` if no node will do and it has to be found out why.
    pub(crate) fn choose_alike(
        &mut self,
        pod: &Pod,
        claims: &PodClaims,
        profile: &Arc<Profile>,
    ) -> Result<Option<Choice>, Box<PodRefusal>> {
        let mut alike = self.kind_of(pod, claims, profile);
        self.heed_images(&mut alike);
        let now = self.facts.touches.now();
        let mut nodes = std::mem::take(&mut alike.unseen);
        match alike.seen.and_then(|seen| self.facts.touches.since(seen)) {
            Some(touched) => nodes.extend(touched),
            None => {
                alike.forget();
                nodes = self.facts.nodes.iter().map(|(at, _)| at).collect();
            }
        }
        self.look_at_all(&mut alike, nodes, claims);
        alike.seen = Some(now);
        let found = alike.best(self.alternatives_weight(&alike.profile, claims));
        let chosen = found.and_then(|at| {
            let known = alike.answers[at.0 as usize].as_ref()?;
            Some(choice(pod, filters::node_of(self.facts.nodes.get(at)), claims, known.allocations.clone()))
        });
        let refused = alike.refused.clone().filter(|(when, _)| chosen.is_none() && *when == now);
        self.caches.kinds.push(alike);
        match refused {
            Some((_, refusal)) => Err(refusal.for_claims(claims)),
            None => Ok(chosen),
        }
    }

    /// Forgets all scores if images of the pods are more or less common than they were.
    fn heed_images(&self, alike: &mut PodKind) {
        let revision = self.facts.images.revision();
        if alike.images.0 != revision {
            let now = (revision, self.facts.images.commonness(&alike.shape));
            if alike.images.1 != now.1 {
                alike.seen = None;
            }
            alike.images = now;
        }
    }

    /// Keeps why no node would do, until something changes.
    pub(crate) fn remember_refusal(&mut self, refusal: &PodRefusal) {
        let now = self.facts.touches.now();
        if let Some(alike) = self.caches.kinds.last_mut() {
            alike.refused = Some((now, Box::new(refusal.clone())));
        }
    }

    /// Why preemption would not help the pod that was looked at last, if that is known and nothing changed since.
    pub(crate) fn known_hopeless(&self) -> Option<Hopeless> {
        let (when, hopeless) = self.caches.kinds.last()?.hopeless.as_ref()?;
        (*when == self.moment()).then(|| hopeless.clone())
    }

    /// Keeps why preemption would not help the pod that was looked at last, until something changes.
    pub(crate) fn remember_hopeless(&mut self, hopeless: &Hopeless) {
        let now = self.moment();
        if let Some(alike) = self.caches.kinds.last_mut() {
            alike.hopeless = Some((now, hopeless.clone()));
        }
    }

    /// What is known for pods like this one, taken out of the list; it is put back as the youngest.
    fn kind_of(&mut self, pod: &Pod, claims: &PodClaims, profile: &Arc<Profile>) -> PodKind {
        let same_wish =
            |(known, state): (&Arc<Claim>, &Arc<cluster::claims::ClaimState>)| known.spec == state.wish.spec;
        let same = |alike: &PodKind| {
            Arc::ptr_eq(&alike.profile, profile)
                && alike.wishes.len() == claims.open.len()
                && alike.priority == pod.priority
                && (Arc::ptr_eq(&alike.shape, &pod.shape) || alike.shape == pod.shape)
                && alike.wishes.iter().zip(&claims.open).all(same_wish)
        };
        if let Some(at) = self.caches.kinds.iter().rposition(same) {
            return self.caches.kinds.remove(at);
        }
        if self.caches.kinds.len() >= KINDS_MAX {
            self.caches.kinds.remove(0);
        }
        PodKind {
            profile: profile.clone(),
            shape: pod.shape.clone(),
            wishes: claims.open.iter().map(|state| state.wish.clone()).collect(),
            priority: pod.priority,
            answers: Vec::new(),
            best: BTreeMap::new(),
            images: Default::default(),
            seen: None,
            unseen: BTreeSet::new(),
            refused: None,
            hopeless: None,
        }
    }

    /// Looks at nodes again, as far as there is time.
    fn look_at_all(&mut self, alike: &mut PodKind, nodes: BTreeSet<NodeIdx>, claims: &PodClaims) {
        let kept = self.caches.work.keep_for_later();
        let count = nodes.len();
        for at in nodes {
            if self.caches.work.is_spent() {
                alike.set(at, None);
                alike.unseen.insert(at);
                continue;
            }
            let kept = self.caches.work.limit_to_share(count);
            self.caches.work.spend(work::NODE);
            self.look(alike, at, claims);
            self.caches.work.restore(kept);
        }
        self.caches.work.restore(kept);
    }

    /// Looks at a node again.
    fn look(&mut self, alike: &mut PodKind, at: NodeIdx, claims: &PodClaims) {
        let state = self.facts.nodes.get(at);
        let Some(node) = state.node.clone() else { return alike.set(at, None) };
        let settings = &alike.profile.filters;
        let fits = filters::fixed(&alike.shape, &node, settings)
            .and_then(|()| filters::usage(&alike.shape, state, settings))
            .and_then(|()| {
                let who = ("", alike.priority);
                self.check_beside_nominees(&alike.shape, who, state, None, settings)
            });
        if fits.is_err() {
            return alike.set(at, None);
        }
        let Ok(allocations) = self.devices_on(&node, claims) else { return alike.set(at, None) };
        let view = View {
            nodes: &self.facts.nodes,
            namespaces: &self.facts.namespaces,
            images: &self.facts.images,
            companions: None,
            settings: &alike.profile.scores,
        };
        let score = scores::totals(&alike.shape, &[at], &view)[0];
        let worth = worth(claims, &allocations);
        alike.set(at, Some(KnownNode { score, worth, allocations }));
    }

    /// The moment until which all is known that decides which pods could be preempted.
    pub(crate) fn moment(&self) -> (u64, u64) {
        (self.facts.touches.now(), self.plans.users_changed)
    }
}
