//! Nominees: pods for which room is being made on a node, and who has to leave it to them.
//!
//! Invariant: the devices that are planned for a nominee are in the ledger under holders of its own, except while a pod is
//! looked at to which they do not matter: the nominee itself, and whoever is more important.

use crate::engine::{Engine, held};
use model::allocation::Allocation;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::claims::Held;
use cluster::ledger::{Holder, PodRef, ShareId};
use cluster::nodes::{NodeState, has_rules};
use model::claim::ClaimId;
use model::pod::{Pod, Shape};
use model::timestamp::Timestamp;

use crate::cycle::{Choice, Claims, Wanted, choice};
use crate::filters::{self, Around, FilterSettings, Mounts};
use crate::node_refusal::NodeRefusal;
use crate::profile::Profile;
use crate::wake::{Wake, Wakes};
use crate::write::Write;

/// Room that is being made for a pod.
#[derive(Clone, Debug)]
pub(crate) struct Nomination {
    pub node: Arc<str>,
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
pub(crate) struct Nominations {
    by_pod: BTreeMap<Arc<str>, Nomination>,
    by_node: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// Nominees for whom devices are planned, by priority.
    with_plans: BTreeSet<(i32, Arc<str>)>,
    with_rules: usize,
}

impl Nominations {
    pub fn is_empty(&self) -> bool {
        self.by_pod.is_empty()
    }

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

    fn insert(&mut self, nomination: Nomination) {
        let uid = nomination.pod.uid.clone();
        self.remove(&uid);
        self.by_node.entry(nomination.node.clone()).or_default().insert(uid.clone());
        if !nomination.planned.is_empty() {
            self.with_plans.insert((nomination.pod.priority, uid.clone()));
        }
        self.with_rules += usize::from(has_rules(&nomination.pod));
        self.by_pod.insert(uid, nomination);
    }

    fn remove(&mut self, uid: &str) -> Option<Nomination> {
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

impl Engine {
    /// Takes note of the nomination that a waiting pod's status tells, if it is another than before. What we decided since
    /// then is newer than a status that stays the same.
    pub(crate) fn fold_nomination(&mut self, now: Timestamp, before: Option<&Pod>, pod: &Arc<Pod>) -> Wakes {
        let known = self.preempting.nominations.get(&pod.uid);
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
        self.preempting.nominations.insert(nomination);
    }

    /// Keeps no room for a pod any more, since it went to a node, or to none, and tells who that could help.
    pub(crate) fn end_nomination(&mut self, uid: &str, went_to: Option<&Arc<str>>) -> Wakes {
        let Some(nomination) = self.preempting.nominations.remove(uid) else { return Wakes::NONE };
        self.facts.claims.give_back(&nomination.planned);
        self.touch_nomination(&nomination);
        if went_to == Some(&nomination.node) && nomination.planned.is_empty() {
            return Wakes::NONE;
        }
        Wakes::of(&[Wake::PodRemoved, Wake::Claim])
    }

    /// Ends a nomination that leads to nothing, here and in the API.
    pub(crate) fn withdraw(&mut self, pod: &Pod) -> Wakes {
        let is_nominated = self.preempting.nominations.get(&pod.uid).is_some();
        if is_nominated || pod.nominated_node.is_some() {
            let (pod, uid) = (pod.id.clone(), pod.uid.clone());
            self.submit_and_forget(Write::Nominate { pod, uid, node: None });
        }
        self.end_nomination(&pod.uid, None)
    }

    /// The node of nominees is gone: they look for another.
    pub(crate) fn wake_nominees_of(&mut self, now: Timestamp, node: &str) {
        let nominees: Vec<Arc<str>> =
            self.preempting.nominations.on(node).map(|one| one.pod.uid.clone()).collect();
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

    /// Gives back the devices of plans that do not matter to a pod: its own, and those for less important pods. They are
    /// taken again by [`Engine::take_plans`].
    pub(crate) fn lift_plans(&mut self, pod: &Pod) -> Vec<Arc<str>> {
        let own = self.preempting.nominations.get(&pod.uid).map(|_| pod.uid.clone());
        self.lift_plans_below(pod.priority, own)
    }

    /// Gives back the devices of plans for pods that are less important than this, and for one besides.
    pub(crate) fn lift_plans_below(&mut self, priority: i32, own: Option<Arc<str>>) -> Vec<Arc<str>> {
        let nominations = &self.preempting.nominations;
        if nominations.with_plans.is_empty() {
            return Vec::new();
        }
        let lower = nominations.with_plans.range(..(priority, Arc::from("")));
        let lifted: Vec<Arc<str>> = lower.map(|(_, uid)| uid.clone()).chain(own).collect();
        for uid in &lifted {
            if let Some(nomination) = self.preempting.nominations.by_pod.get(uid) {
                self.facts.claims.give_back(&nomination.planned);
            }
        }
        lifted
    }

    /// Keeps no room for these pods for the moment.
    pub(crate) fn put_nominations_aside(&mut self, pods: &[Arc<Pod>]) -> Vec<Nomination> {
        if self.preempting.nominations.is_empty() {
            return Vec::new();
        }
        let mut aside = Vec::new();
        for pod in pods {
            let Some(nomination) = self.preempting.nominations.remove(&pod.uid) else { continue };
            self.facts.claims.give_back(&nomination.planned);
            self.touch_nomination(&nomination);
            aside.push(nomination);
        }
        aside
    }

    /// Nominees whose planned devices somebody more important has now look for others.
    pub(crate) fn wake_dispossessed(&mut self, now: Timestamp, lifted: &[Arc<str>], choice: &Choice) {
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
            let nomination = self.preempting.nominations.by_pod.get(uid);
            if nomination.is_some_and(|one| one.planned.iter().any(is_taken)) {
                self.wake_nominee(uid, now);
            }
        }
    }

    /// Takes the devices of plans again, for nominees that are still such.
    pub(crate) fn take_plans(&mut self, lifted: &[Arc<str>]) {
        for uid in lifted {
            if let Some(nomination) = self.preempting.nominations.by_pod.get(uid) {
                self.facts.claims.take(&nomination.planned);
            }
        }
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
        if self.preempting.nominations.is_empty() {
            return Ok(());
        }
        let node = filters::node_of(state);
        let matters = |one: &&Nomination| one.pod.priority >= priority && *one.pod.uid != *uid;
        let nominees: Vec<&Arc<Pod>> =
            self.preempting.nominations.on(&node.name).filter(matters).map(|one| &one.pod).collect();
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
        let nomination = self.preempting.nominations.get(&pod.uid)?;
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
pub(crate) fn planned<'a>(pod: &Pod, allocations: impl IntoIterator<Item = &'a Allocation>) -> Vec<Held> {
    let holder = Holder::Nominee(PodRef::from(pod));
    let all = allocations.into_iter().flat_map(|allocation| held(&holder, &pod.uid, allocation).0.held);
    let numbered = |(number, one): (usize, Held)| {
        // Shares of two claims may have the same place in theirs.
        let share = one.share.map(|_| ShareId(number.to_string().into()));
        Held { share, ..one }
    };
    all.enumerate().map(numbered).collect()
}
