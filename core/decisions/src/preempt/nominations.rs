//! Nominees: pods for which room is being made on a node, and who has to leave it to them.
//!
//! Invariant: the devices that are planned for a nominee are in the ledger with the nominee as their holder, except while a pod is
//! looked at to which they do not matter: the nominee itself, and whoever is more important.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::claims::Held;
use cluster::ledger::{Holder, PodRef, ShareId};
use cluster::nodes::{NodeState, has_rules};
use model::allocation::Allocation;
use model::claim::ClaimId;
use model::pod::{Pod, Shape};

use crate::cycle::Cycle;
use crate::filters;
use crate::filters::{Around, FilterSettings, Mounts};
use crate::holding::held;
use crate::node_refusal::NodeRefusal;
use crate::pod::{Choice, Claims, choice};
use crate::profile::Profile;

/// Room that is being made for a pod.
#[derive(Clone, Debug)]
pub struct Nomination {
    /// The node.
    pub node: Arc<str>,
    /// The pod.
    pub pod: Arc<Pod>,
    /// The devices that it will get, under holders of its own.
    pub planned: Vec<Held>,
    /// The pods that go for it, by uid.
    pub victims: BTreeSet<Arc<str>>,
    /// The claims that give devices back when these are gone, with their uids.
    pub freeing: Vec<(ClaimId, Arc<str>)>,
}

impl Nomination {
    /// Room on a node, with nothing known of how it is made.
    pub fn new(node: Arc<str>, pod: Arc<Pod>) -> Nomination {
        Nomination { node, pod, planned: Vec::new(), victims: BTreeSet::new(), freeing: Vec::new() }
    }
}

/// All nominations.
#[derive(Clone, Debug, Default)]
pub struct Nominations {
    by_pod: BTreeMap<Arc<str>, Nomination>,
    by_node: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// Nominees for whom devices are planned, by priority.
    with_plans: BTreeSet<(i32, Arc<str>)>,
    with_rules: usize,
}

impl Nominations {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_pod.is_empty()
    }

    /// The room that is being made for a pod, by its uid.
    #[must_use]
    pub fn get(&self, uid: &str) -> Option<&Nomination> {
        if self.is_empty() { None } else { self.by_pod.get(uid) }
    }

    /// Whether a nominee has rules about which pods it must be near or apart from.
    pub fn have_rules(&self) -> bool {
        self.with_rules > 0
    }

    /// The nominees of a node.
    pub fn on(&self, node: &str) -> impl Iterator<Item = &Nomination> {
        let here = if self.is_empty() { None } else { self.by_node.get(node) };
        here.into_iter().flatten().filter_map(|uid| self.by_pod.get(uid))
    }

    /// All nominees.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.by_pod.values().map(|one| &one.pod)
    }

    /// Keeps room for a pod, and no other than this.
    pub fn insert(&mut self, nomination: Nomination) {
        let uid = nomination.pod.uid.clone();
        self.remove(&uid);
        self.by_node.entry(nomination.node.clone()).or_default().insert(uid.clone());
        if !nomination.planned.is_empty() {
            self.with_plans.insert((nomination.pod.priority, uid.clone()));
        }
        self.with_rules += usize::from(has_rules(&nomination.pod));
        self.by_pod.insert(uid, nomination);
    }

    /// Keeps no room for a pod.
    pub fn remove(&mut self, uid: &str) -> Option<Nomination> {
        let nomination = self.by_pod.remove(uid)?;
        if let Some(pods) = self.by_node.get_mut(&nomination.node) {
            pods.remove(uid);
            if pods.is_empty() {
                self.by_node.remove(&nomination.node);
            }
        }
        self.with_plans.remove(&(nomination.pod.priority, nomination.pod.uid.clone()));
        self.with_rules -= usize::from(has_rules(&nomination.pod));
        Some(nomination)
    }
}

impl Cycle<'_> {
    /// Gives back the devices of plans that do not matter to a pod until the cycle ends: its own, and those for less important
    /// pods. Tells whose plans those are.
    pub fn lift_plans(&mut self, pod: &Pod) -> Vec<Arc<str>> {
        let own = self.plans.nominations.get(&pod.uid).map(|_| pod.uid.clone());
        self.lift_plans_below(pod.priority, own)
    }

    /// Gives back the devices of plans for pods that are less important than this, and for one besides.
    pub fn lift_plans_below(&mut self, priority: i32, own: Option<Arc<str>>) -> Vec<Arc<str>> {
        let nominations = &self.plans.nominations;
        if nominations.with_plans.is_empty() {
            return Vec::new();
        }
        let lower = nominations.with_plans.range(..(priority, Arc::from("")));
        let lifted: Vec<Arc<str>> = lower.map(|(_, uid)| uid.clone()).chain(own).collect();
        for uid in &lifted {
            if let Some(nomination) = self.plans.nominations.by_pod.get(uid) {
                self.facts.give_back(&nomination.planned);
            }
        }
        lifted
    }

    /// Whether there is room for a pod beside the nominees of a node that are at least as important.
    pub(crate) fn check_beside_nominees(
        &self,
        shape: &Shape,
        (uid, priority): (&str, i32),
        state: &NodeState,
        around: Option<&Around>,
        settings: &FilterSettings,
    ) -> Result<(), NodeRefusal> {
        if self.plans.nominations.is_empty() {
            return Ok(());
        }
        let node = filters::node_of(state);
        let matters = |one: &&Nomination| one.pod.priority >= priority && *one.pod.uid != *uid;
        let nominees: Vec<&Arc<Pod>> =
            self.plans.nominations.on(&node.name).filter(matters).map(|one| &one.pod).collect();
        if nominees.is_empty() {
            return Ok(());
        }
        let mut state = state.clone();
        nominees.iter().for_each(|pod| state.put((*pod).clone()));
        filters::usage(shape, &state, settings)?;
        let Some(around) = around else { return Ok(()) };
        let mut around = around.clone();
        nominees.iter().for_each(|pod| around.add(pod, node));
        around.check(&state)
    }

    /// The node that a pod is nominated for, if it will do by now. It is taken without looking at others.
    pub(crate) fn choose_nominated(
        &mut self,
        pod: &Pod,
        claims: &Claims,
        profile: &Profile,
    ) -> Option<Choice> {
        let nomination = self.plans.nominations.get(&pod.uid)?;
        let state = self.facts.nodes.get(self.facts.nodes.find(&nomination.node)?);
        let node = filters::node_of(state).clone();
        let settings = &profile.filters;
        let mounts = Mounts::new(&pod.shape, &self.facts.volumes, settings).ok()?;
        filters::fixed(&pod.shape, &node, settings).ok()?;
        mounts.check(&node).ok()?;
        filters::usage(&pod.shape, state, settings).ok()?;
        let companions = self.companions_of(&pod.shape, profile);
        let around =
            Around::new(&pod.shape, &self.facts.nodes, &self.facts.namespaces, settings, companions.as_ref());
        let around = around.with_volumes(&self.facts.nodes, &self.facts.volumes, settings);
        around.check(state).ok()?;
        let who = (&*pod.uid, pod.priority);
        self.check_beside_nominees(&pod.shape, who, state, Some(&around), settings).ok()?;
        let allocations = self.devices_on(&node, claims).ok()?;
        Some(choice(pod, &node, claims, allocations))
    }
}

/// The devices of these allocations, held by a nominee.
pub fn planned<'a>(pod: &Pod, allocations: impl IntoIterator<Item = &'a Allocation>) -> Vec<Held> {
    let holder = Holder::Nominee(PodRef::from(pod));
    let all = allocations.into_iter().flat_map(|allocation| held(&holder, &pod.uid, allocation).0.held);
    let numbered = |(number, one): (usize, Held)| {
        // Shares of two claims may have the same place in theirs.
        let share = one.share.map(|_| ShareId(number.to_string().into()));
        Held { share, ..one }
    };
    all.enumerate().map(numbered).collect()
}
