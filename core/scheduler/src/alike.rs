//! Answers about nodes, kept for pods that are alike.
//!
//! Pods of one shape whose claims ask for the same get the same answers, so a node is looked at again only when something
//! changed for it. This holds for pods whose answers about a node depend on nothing but that node and the devices there.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::allocation::Allocation;
use model::claim::Claim;
use model::node::NodeTaintEffect;
use model::pod::{Pod, Shape};

use crate::cycle::{Choice, Claims, PodRefusal, choice};
use crate::engine::Engine;
use crate::filters;
use crate::preempt::Hopeless;
use crate::scores::{self, View};

/// How many kinds of pods are kept; beyond that the one that was asked for the longest ago goes.
const KINDS_MAX: usize = 64;

/// What is known about nodes for pods that are alike.
#[derive(Debug)]
pub(crate) struct Alike {
    shape: Arc<Shape>,
    wishes: Vec<Arc<Claim>>,
    /// Nominees that are less important do not count.
    priority: i32,
    /// By node number: the score and the devices, if the node will do.
    answers: Vec<Option<(i64, Vec<Allocation>)>>,
    /// The nodes that will do, the best first: the score is negated.
    best: BTreeSet<(i64, NodeIdx)>,
    /// Touches up to this moment are taken into account.
    seen: Option<u64>,
    /// Why no node would do, and when that was.
    refused: Option<(u64, Box<PodRefusal>)>,
    /// Why nobody's going would help, and when that was.
    hopeless: Option<((u64, u64), Hopeless)>,
}

impl Alike {
    fn forget(&mut self) {
        self.answers.clear();
        self.best.clear();
    }

    fn set(&mut self, at: NodeIdx, answer: Option<(i64, Vec<Allocation>)>) {
        let place = at.0 as usize;
        if self.answers.len() <= place {
            self.answers.resize(place + 1, None);
        }
        if let Some((score, _)) = &self.answers[place] {
            self.best.remove(&(-score, at));
        }
        if let Some((score, _)) = &answer {
            self.best.insert((-score, at));
        }
        self.answers[place] = answer;
    }
}

impl Engine {
    /// Whether answers for the pod can be shared: nothing about other pods, other nodes or volumes decides.
    pub(crate) fn is_alike_to_others(&self, pod: &Pod, claims: &Claims) -> bool {
        let shape = &pod.shape;
        claims.settled.is_empty()
            && shape.spread.is_empty()
            && shape.near.is_empty()
            && shape.apart.is_empty()
            && shape.preferred_pods.is_empty()
            && shape.preferred_nodes.is_empty()
            && shape.volume_claims.is_empty()
            && self.settings.scores.preferred_nodes.is_empty()
            && self.nodes.pods_with_rules() == 0
            && self.softly_tainted.is_empty()
            && !self.preempting.nominations.have_rules()
            && self.preempting.nominations.get(&pod.uid).is_none()
    }

    /// The best node for a pod that is alike to others; `None` if no node will do and it has to be found out why.
    pub(crate) fn choose_alike(
        &mut self,
        pod: &Pod,
        claims: &Claims,
    ) -> Result<Option<Choice>, Box<PodRefusal>> {
        let mut alike = self.kind_of(pod, claims);
        let now = self.touches.now();
        match alike.seen.and_then(|seen| self.touches.since(seen)) {
            Some(touched) => touched.into_iter().for_each(|at| self.look(&mut alike, at, claims)),
            None => {
                alike.forget();
                let all: Vec<NodeIdx> = self.nodes.iter().map(|(at, _)| at).collect();
                all.into_iter().for_each(|at| self.look(&mut alike, at, claims));
            }
        }
        alike.seen = Some(now);
        let found = alike.best.first().map(|(_, at)| *at);
        let chosen = found.and_then(|at| {
            let (_, allocations) = alike.answers[at.0 as usize].as_ref()?;
            Some(choice(pod, filters::node_of(self.nodes.get(at)), claims, allocations.clone()))
        });
        let refused = alike.refused.clone().filter(|(when, _)| chosen.is_none() && *when == now);
        self.kinds.push(alike);
        match refused {
            Some((_, refusal)) => Err(refusal),
            None => Ok(chosen),
        }
    }

    /// Keeps why no node would do, until something changes.
    pub(crate) fn remember_refusal(&mut self, refusal: &PodRefusal) {
        let now = self.touches.now();
        if let Some(alike) = self.kinds.last_mut() {
            alike.refused = Some((now, Box::new(refusal.clone())));
        }
    }

    /// Why nobody's going would help the pod that was looked at last, if that is known and nothing changed since.
    pub(crate) fn known_hopeless(&self) -> Option<Hopeless> {
        let (when, hopeless) = self.kinds.last()?.hopeless.as_ref()?;
        (*when == self.moment()).then(|| hopeless.clone())
    }

    /// Keeps why nobody's going would help the pod that was looked at last, until something changes.
    pub(crate) fn remember_hopeless(&mut self, hopeless: &Hopeless) {
        let now = self.moment();
        if let Some(alike) = self.kinds.last_mut() {
            alike.hopeless = Some((now, hopeless.clone()));
        }
    }

    /// What is known for pods like this one, taken out of the list; it is put back as the youngest.
    fn kind_of(&mut self, pod: &Pod, claims: &Claims) -> Alike {
        let same_wish = |(known, state): (&Arc<Claim>, &Arc<cluster::claims::ClaimState>)| {
            let wish = &state.wish;
            known.requests == wish.requests
                && known.constraints == wish.constraints
                && known.configs == wish.configs
        };
        let same = |alike: &Alike| {
            alike.wishes.len() == claims.open.len()
                && alike.priority == pod.priority
                && (Arc::ptr_eq(&alike.shape, &pod.shape) || alike.shape == pod.shape)
                && alike.wishes.iter().zip(&claims.open).all(same_wish)
        };
        if let Some(at) = self.kinds.iter().rposition(same) {
            return self.kinds.remove(at);
        }
        if self.kinds.len() >= KINDS_MAX {
            self.kinds.remove(0);
        }
        Alike {
            shape: pod.shape.clone(),
            wishes: claims.open.iter().map(|state| state.wish.clone()).collect(),
            priority: pod.priority,
            answers: Vec::new(),
            best: BTreeSet::new(),
            seen: None,
            refused: None,
            hopeless: None,
        }
    }

    /// Looks at a node again.
    fn look(&mut self, alike: &mut Alike, at: NodeIdx, claims: &Claims) {
        let state = self.nodes.get(at);
        let Some(node) = state.node.clone() else { return alike.set(at, None) };
        let fits = filters::fixed(&alike.shape, &node, &self.settings.filters)
            .and_then(|()| filters::usage(&alike.shape, state, &self.settings.filters))
            .and_then(|()| self.check_beside_nominees(&alike.shape, ("", alike.priority), state, None));
        if fits.is_err() {
            return alike.set(at, None);
        }
        let Ok(allocations) = self.devices_on(&node, claims) else { return alike.set(at, None) };
        let view = View {
            nodes: &self.nodes,
            namespaces: &self.namespaces,
            images: &self.images,
            companions: None,
            settings: &self.settings.scores,
        };
        let score = scores::totals(&alike.shape, &[at], &view)[0];
        alike.set(at, Some((score, allocations)));
    }

    /// Takes note of whether a node has taints that make it worse, which is judged among all nodes.
    pub(crate) fn note_soft_taints(&mut self, at: NodeIdx) {
        let node = self.nodes.get(at).node.as_ref();
        let soft = node.is_some_and(|node| {
            node.taints.iter().any(|taint| taint.effect == NodeTaintEffect::PreferNoSchedule)
        });
        if soft {
            self.softly_tainted.insert(at)
        } else {
            self.softly_tainted.remove(&at)
        };
    }
}
