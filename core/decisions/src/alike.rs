//! Answers about nodes, kept for pods that are alike.
//!
//! Pods of one shape and profile whose claims ask for the same get the same answers, so a node is looked at again only when something
//! changed for it. This holds for pods whose answers about a node depend on nothing but that node and the devices there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::allocation::Allocation;
use model::claim::Claim;
use model::pod::{Pod, Shape};

use crate::alternatives::worth;
use crate::cycle::Cycle;
use crate::pod::{Choice, Claims, PodRefusal, choice};
use crate::preempt::Hopeless;
use crate::profile::Profile;
use crate::scores::{self, View, devices};
use crate::{filters, work};

/// How many kinds of pods are kept; beyond that the one that was asked for the longest ago goes.
const KINDS_MAX: usize = 64;

/// What is known about nodes for pods that are alike.
#[derive(Debug)]
pub(crate) struct Alike {
    profile: Arc<Profile>,
    shape: Arc<Shape>,
    wishes: Vec<Arc<Claim>>,
    /// Nominees that are less important do not count.
    priority: i32,
    /// By node number, if the node will do.
    answers: Vec<Option<Answer>>,
    /// The nodes that will do by what their devices are worth, the best first: the score is negated. Few worths are possible,
    /// and what a worth counts depends on the greatest.
    best: BTreeMap<i64, BTreeSet<(i64, NodeIdx)>>,
    /// How common the images were, and the revision of the counts that said so.
    images: (u64, Option<(u32, Vec<u32>)>),
    /// Touches up to this moment are taken into account.
    seen: Option<u64>,
    /// But for those of nodes that there was too much to do to look at.
    unseen: BTreeSet<NodeIdx>,
    /// Why no node would do, and when that was.
    refused: Option<(u64, Box<PodRefusal>)>,
    /// Why nobody's going would help, and when that was.
    hopeless: Option<((u64, u64), Hopeless)>,
}

/// What is known about a node that will do.
#[derive(Clone, Debug)]
struct Answer {
    score: i64,
    /// What the devices are worth, if claims have alternatives.
    worth: i64,
    allocations: Vec<Allocation>,
}

impl Alike {
    fn forget(&mut self) {
        self.answers.clear();
        self.best.clear();
    }

    fn set(&mut self, at: NodeIdx, answer: Option<Answer>) {
        let place = at.0 as usize;
        if self.answers.len() <= place {
            self.answers.resize(place + 1, None);
        }
        if let Some(known) = &self.answers[place]
            && let Some(nodes) = self.best.get_mut(&known.worth)
        {
            nodes.remove(&(-known.score, at));
            if nodes.is_empty() {
                self.best.remove(&known.worth);
            }
        }
        if let Some(known) = &answer {
            self.best.entry(known.worth).or_default().insert((-known.score, at));
        }
        self.answers[place] = answer;
    }

    /// The best node, if what devices are worth counts this much.
    fn best(&self, weight: i64) -> Option<NodeIdx> {
        let leaders: Vec<(i64, i64, NodeIdx)> = self
            .best
            .iter()
            .filter_map(|(worth, nodes)| nodes.first().map(|(score, at)| (*worth, *score, *at)))
            .collect();
        let extra = devices::weighted(leaders.iter().map(|(worth, ..)| *worth).collect(), weight);
        let ranked = leaders.into_iter().zip(extra).map(|((_, score, at), extra)| (score - extra, at));
        ranked.min().map(|(_, at)| at)
    }
}

impl Cycle<'_> {
    /// Whether answers for the pod can be shared: nothing about other pods, other nodes or volumes decides.
    pub(crate) fn is_alike_to_others(&self, pod: &Pod, claims: &Claims, profile: &Profile) -> bool {
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
        claims: &Claims,
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
    fn heed_images(&self, alike: &mut Alike) {
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
            alike.refused = Some((now, Box::new(refusal.for_all())));
        }
    }

    /// Why nobody's going would help the pod that was looked at last, if that is known and nothing changed since.
    pub(crate) fn known_hopeless(&self) -> Option<Hopeless> {
        let (when, hopeless) = self.caches.kinds.last()?.hopeless.as_ref()?;
        (*when == self.moment()).then(|| hopeless.clone())
    }

    /// Keeps why nobody's going would help the pod that was looked at last, until something changes.
    pub(crate) fn remember_hopeless(&mut self, hopeless: &Hopeless) {
        let now = self.moment();
        if let Some(alike) = self.caches.kinds.last_mut() {
            alike.hopeless = Some((now, hopeless.clone()));
        }
    }

    /// What is known for pods like this one, taken out of the list; it is put back as the youngest.
    fn kind_of(&mut self, pod: &Pod, claims: &Claims, profile: &Arc<Profile>) -> Alike {
        let same_wish = |(known, state): (&Arc<Claim>, &Arc<cluster::claims::ClaimState>)| {
            let wish = &state.wish;
            known.requests == wish.requests
                && known.constraints == wish.constraints
                && known.configs == wish.configs
        };
        let same = |alike: &Alike| {
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
        Alike {
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
    fn look_at_all(&mut self, alike: &mut Alike, nodes: BTreeSet<NodeIdx>, claims: &Claims) {
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
    fn look(&mut self, alike: &mut Alike, at: NodeIdx, claims: &Claims) {
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
        alike.set(at, Some(Answer { score, worth, allocations }));
    }
}
