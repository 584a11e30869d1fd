//! What members of a gang mean for each other by rules about pods: those that must be near or apart, those that must be
//! spread, and volumes of which only one pod may make use.
//!
//! What pods mean that are there already is a matter of the node alone. What members mean for each other is so too if the
//! places that a rule tells apart are single nodes; else members on one node can be in the way of members on another. Members
//! that must be apart are so in any order. To be near another, or spread evenly, may depend on which member comes first.
//!
//! Invariant: `now` counts exactly the members that were added and not taken away again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::{NodeIdx, NodeState};
use model::node::Node;
use model::pod::Pod;
use model::volume::VolumeClaimId;
use placement::Load;
use rustc_hash::FxHashMap;

use crate::cycle::Cycle;
use crate::filters::{self, Around, Heeds, Mounts};
use crate::gang::members::cast::Cast;
use crate::gang::members::member::Member;
use crate::gang::search::joint_volumes::JointVolumes;
use crate::pod::Beside;
use crate::profile::Profile;
use crate::values::node_refusal::NodeRefusal;

/// By what nodes differ for rules: places by label, which rules count pods there, and its number if it is like no other.
type Features = (Vec<Option<Arc<str>>>, Vec<bool>, Option<NodeIdx>);

/// What members of a cast mean for each other.
#[derive(Debug)]
pub(crate) struct Rules {
    /// A pod of each kind.
    pods: Vec<Arc<Pod>>,
    /// How many there are of each kind.
    members: Vec<u32>,
    /// What volumes of a kind say about nodes; nothing if it cannot have them anywhere.
    mounts: Vec<Option<Mounts>>,
    /// What pods mean for each kind, without members.
    before: Vec<Around>,
    /// The same with members that are counted.
    now: Vec<Around>,
    /// The same with members of the kind alone.
    alone: Vec<Around>,
    /// What the second kind means for the first.
    heeds: Vec<Vec<Heeds>>,
    /// Kinds for which it may depend on the order of members whether they are near others.
    near_varies: Vec<bool>,
    /// The same for being spread.
    spread_varies: Vec<bool>,
    /// Kinds that must be near none but members that must be near the same: all of these are in one place.
    tied: Vec<bool>,
    /// Nominated pods have rules of their own.
    has_nominees: bool,
    /// Nodes that pods are nominated for.
    nominated: BTreeSet<NodeIdx>,
    /// Whether members on one node can be in the way of members on another.
    crosses: bool,
    /// What members that are counted get for claims without volumes; nothing if no member has such claims.
    volumes: Option<JointVolumes>,
    /// Members of the gang use a volume that is for one pod.
    is_exclusive: bool,
    /// Node labels by which places are told apart.
    keys: Vec<Arc<str>>,
    groups: FxHashMap<Features, u32>,
    group_of: FxHashMap<NodeIdx, u32>,
    /// A node of each group.
    examples: Vec<NodeIdx>,
    /// How many members of each kind are in each group of nodes.
    counts: BTreeMap<(usize, u32), u32>,
    /// Up to which node of an order each group matters.
    last: FxHashMap<u32, usize>,
}

impl Rules {
    /// What rules there are, unless there is none that concerns a member.
    pub fn new(cycle: &Cycle<'_>, cast: &Cast, profile: &Profile) -> Option<Rules> {
        let settings = &profile.filters;
        let pods: Vec<Arc<Pod>> = cast.examples().map(|member| member.pod.clone()).collect();
        let companions: Vec<_> = pods.iter().map(|pod| cycle.companions_of(&pod.shape, profile)).collect();
        let has_rules = |pod: &Arc<Pod>| {
            let shape = &pod.shape;
            let is_free = shape.near.is_empty() && shape.apart.is_empty() && shape.spread.is_empty();
            !is_free || shape.has_volumes()
        };
        let has_nominees = cycle.plans.nominations.have_rules();
        if !pods.iter().any(has_rules)
            && companions.iter().all(Option::is_none)
            && cycle.facts.nodes.pods_with_rules() == 0
            && !has_nominees
        {
            return None;
        }
        let around = |(pod, companions): (&Arc<Pod>, &Option<_>)| {
            let around = Around::new(
                &pod.shape,
                &cycle.facts.nodes,
                &cycle.facts.namespaces,
                settings,
                companions.as_ref(),
            );
            around.with_volumes(&cycle.facts.nodes, &cycle.facts.volumes, settings)
        };
        let before: Vec<Around> = pods.iter().zip(&companions).map(around).collect();
        let mounts: Vec<Option<Mounts>> =
            pods.iter().map(|pod| Mounts::new(&pod.shape, &cycle.facts.volumes, settings).ok()).collect();
        let members: Vec<u32> = cast.kinds.iter().map(|kind| kind.len() as u32).collect();
        let volumes = compete_for_volumes(cycle, &mounts, &members).then(JointVolumes::default);
        let of = |around: &Around| pods.iter().map(|pod| around.heeds(pod)).collect();
        let heeds: Vec<Vec<Heeds>> = before.iter().map(of).collect();
        // What a pod means for itself matters only if there is another like it.
        let met = |kind: usize, other: usize| kind != other || members[kind] > 1;
        let varies = |heeded: fn(&Heeds) -> bool| -> Vec<bool> {
            let of_kind = |(kind, heeds): (usize, &Vec<Heeds>)| {
                heeds.iter().enumerate().any(|(other, heeds)| met(kind, other) && heeded(heeds))
            };
            heeds.iter().enumerate().map(of_kind).collect()
        };
        let (near_varies, spread_varies) = (varies(|heeds| heeds.near), varies(|heeds| heeds.spread));
        let is_exclusive = varies(|heeds| heeds.exclusive).contains(&true);
        let is_nominated =
            |state: &NodeState| cycle.plans.nominations.on(&filters::node_of(state).name).next().is_some();
        let nominated =
            cycle.facts.nodes.iter().filter(|(_, state)| is_nominated(state)).map(|(at, _)| at).collect();
        let mut keys: BTreeSet<Arc<str>> = before.iter().flat_map(Around::keys).collect();
        keys.extend(heeds.iter().flatten().flat_map(|heeds| heeds.apart.iter().cloned()));
        let mut rules = Rules {
            now: before.clone(),
            alone: if spread_varies.contains(&true) { before.clone() } else { Vec::new() },
            crosses: has_nominees
                || volumes.is_some()
                || is_exclusive
                || near_varies.contains(&true)
                || spread_varies.contains(&true),
            pods,
            members,
            mounts,
            before,
            heeds,
            tied: Vec::new(),
            near_varies,
            spread_varies,
            has_nominees,
            nominated,
            volumes,
            is_exclusive,
            keys: keys.into_iter().collect(),
            groups: FxHashMap::default(),
            group_of: FxHashMap::default(),
            examples: Vec::new(),
            counts: BTreeMap::new(),
            last: FxHashMap::default(),
        };
        rules.crosses = rules.crosses || rules.apart_across(cycle);
        rules.tied = (0..rules.pods.len()).map(|kind| rules.is_tied(kind)).collect();
        Some(rules)
    }

    /// Whether all pods that a kind must be near are members that must be near the same, so that the first decides about the place.
    fn is_tied(&self, kind: usize) -> bool {
        let around = &self.before[kind];
        let met = self.heeds[kind].iter().enumerate().filter(|(_, heeds)| heeds.near);
        let is_same = |other: usize| {
            let near = |kind: usize| self.heeds[kind].iter().map(|heeds| heeds.near);
            near(other).eq(near(kind))
                && self.before[other].near_keys() == around.near_keys()
                && self.before[other].is_first_of_its_kind()
        };
        around.is_first_of_its_kind() && met.into_iter().all(|(other, _)| is_same(other))
    }

    /// How many members of each kind can be seated at once at the most, if nodes take so many of each kind alone.
    pub fn most(&self, cycle: &Cycle<'_>, rooms: &[(NodeIdx, Load)]) -> Load {
        let nodes: Vec<(&Node, &Load)> =
            rooms.iter().map(|(at, room)| (&**filters::node_of(cycle.facts.nodes.get(*at)), room)).collect();
        Load::new((0..self.pods.len()).map(|kind| self.most_of(kind, &nodes)).collect::<Vec<_>>())
    }

    fn most_of(&self, kind: usize, nodes: &[(&Node, &Load)]) -> u32 {
        let around = &self.before[kind];
        let sum = |rooms: &mut dyn Iterator<Item = u32>| rooms.fold(0, u32::saturating_add);
        let mut most = sum(&mut nodes.iter().map(|(_, room)| room.get(kind)));
        // One in each place, if they must be apart from each other, and as many as there is room where there is no place.
        for key in &self.heeds[kind][kind].apart {
            let (placed, others): (Vec<_>, Vec<_>) = nodes
                .iter()
                .filter(|(_, room)| room.get(kind) > 0)
                .partition(|(node, _)| node.labels.contains_key(key));
            let places: BTreeSet<_> = placed.iter().filter_map(|(node, _)| node.labels.get(key)).collect();
            let others = sum(&mut others.iter().map(|(_, room)| room.get(kind)));
            most = most.min(others.saturating_add(places.len() as u32));
        }
        for key in around.near_keys().into_iter().filter(|_| self.tied[kind]) {
            let mut places: FxHashMap<&Arc<str>, u32> = FxHashMap::default();
            for (node, room) in nodes {
                if let Some(place) = node.labels.get(key) {
                    let here = places.entry(place).or_default();
                    *here = here.saturating_add(room.get(kind));
                }
            }
            most = most.min(places.into_values().max().unwrap_or(0));
        }
        if self.spread_varies[kind] {
            let counted: Vec<Vec<bool>> = self.pods.iter().map(|pod| around.spread_counts(pod)).collect();
            let rules = counted[kind].len();
            let rooms: Vec<(&Node, u32, Vec<u32>)> = nodes
                .iter()
                .map(|(node, room)| {
                    let of_rule = |rule: usize| {
                        let counts = |other: &usize| counted[*other][rule];
                        sum(&mut (0..self.pods.len()).filter(counts).map(|other| room.get(other)))
                    };
                    (*node, room.get(kind), (0..rules).map(of_rule).collect())
                })
                .collect();
            most = most.min(around.spread_most(&self.pods[kind], &rooms).unwrap_or(u32::MAX));
        }
        most
    }

    /// Whether members must be apart by places of several nodes.
    fn apart_across(&self, cycle: &Cycle<'_>) -> bool {
        let mut keys: BTreeSet<&Arc<str>> = BTreeSet::new();
        for (kind, heeds) in self.heeds.iter().enumerate() {
            for (other, heeds) in heeds.iter().enumerate() {
                if kind != other || self.members[kind] > 1 {
                    keys.extend(&heeds.apart);
                }
            }
        }
        let is_of_several = |key: &&Arc<str>| {
            let mut seen = BTreeSet::new();
            let places =
                cycle.facts.nodes.iter().filter_map(|(_, state)| filters::node_of(state).labels.get(*key));
            places.into_iter().any(|place| !seen.insert(place))
        };
        keys.iter().any(is_of_several)
    }

    /// Whether members on one node can be in the way of members on another.
    pub fn cross(&self) -> bool {
        self.crosses
    }

    /// Whether it may depend on their order if members can be where they are.
    pub fn have_order(&self) -> bool {
        self.has_nominees || self.near_varies.contains(&true) || self.spread_varies.contains(&true)
    }

    /// Whether it may depend on their order if members are near others.
    pub fn have_near(&self) -> bool {
        self.near_varies.contains(&true)
    }

    /// Whether a node will do for a kind whatever becomes of the members.
    pub fn admit(
        &self,
        cycle: &Cycle<'_>,
        kind: usize,
        member: &Member,
        at: NodeIdx,
        profile: &Profile,
    ) -> bool {
        let state = cycle.facts.nodes.get(at);
        let (node, around) = (filters::node_of(state), &self.before[kind]);
        let varies = self.near_varies[kind] || self.spread_varies[kind];
        self.mounts[kind].as_ref().is_some_and(|mounts| mounts.check(state, &cycle.facts.volumes).is_ok())
            && around.check_apart(node).is_ok()
            && (self.near_varies[kind] || around.check_near(node).is_ok())
            && (self.spread_varies[kind] || around.check_spread(node).is_ok())
            && (varies || {
                let who = (&*member.pod.uid, member.pod.priority);
                let (shape, settings) = (&member.pod.shape, &profile.filters);
                let beside = Beside::Copied(around);
                cycle
                    .check_beside_nominees(shape, who, state, beside, (settings, self.mounts[kind].as_ref()))
                    .is_ok()
            })
    }

    /// Whether volumes of members depend on what else is on a node.
    pub fn heed_what_is_on_nodes(&self) -> bool {
        self.volumes.is_some() || self.mounts.iter().flatten().any(Mounts::heed_what_is_on_nodes)
    }

    /// What volumes say about nodes for a kind.
    pub fn mounts(&self, kind: usize) -> Option<&Mounts> {
        self.mounts[kind].as_ref()
    }

    /// Whether members of a load can be on one node, as far as they must be apart.
    pub fn agree(&self, node: &Node, load: &Load) -> bool {
        let parted =
            |heeds: &Heeds| heeds.exclusive || heeds.apart.iter().any(|key| node.labels.contains_key(key));
        let alone = |(kind, count): (usize, u32)| {
            let others = load.present().filter(|(other, _)| *other != kind || count > 1);
            others.into_iter().all(|(other, _)| !parted(&self.heeds[kind][other]))
        };
        load.present().all(alone)
    }

    /// By which labels a node has places for members that must be apart: what [`Rules::agree`] depends on.
    pub fn places(&self, node: &Node) -> impl Iterator<Item = u64> {
        self.keys.iter().map(|key| u64::from(node.labels.contains_key(key)))
    }

    /// What pods mean for a kind, with members that are counted.
    pub fn around(&self, kind: usize) -> &Around {
        &self.now[kind]
    }

    /// Whether a member may come to a node beside those that are counted, as a single pod may.
    pub fn check(
        &self,
        cycle: &Cycle<'_>,
        kind: usize,
        state: &NodeState,
        profile: &Profile,
    ) -> Result<(), NodeRefusal> {
        let (pod, around) = (&self.pods[kind], &self.now[kind]);
        self.check_volumes(cycle, kind, filters::node_of(state))?;
        around.check(state)?;
        let who = (&*pod.uid, pod.priority);
        let rules = (&profile.filters, self.mounts[kind].as_ref());
        cycle.check_beside_nominees(&pod.shape, who, state, Beside::Copied(around), rules)
    }

    /// Whether claims of a member get volumes on a node beside those of members that are counted.
    fn check_volumes(&self, cycle: &Cycle<'_>, kind: usize, node: &Arc<Node>) -> Result<(), NodeRefusal> {
        let (Some(volumes), Some(mounts)) = (&self.volumes, &self.mounts[kind]) else { return Ok(()) };
        let mut volumes = volumes.clone();
        volumes.add(mounts, node);
        let lack = volumes.plans(&cycle.facts.volumes).err();
        lack.map_or(Ok(()), |lack| Err(NodeRefusal::Volumes(vec![lack])))
    }

    /// Whether claims of members of a load get volumes if all of them are on one node.
    pub fn have_volumes(&self, cycle: &Cycle<'_>, node: &Arc<Node>, load: &Load) -> bool {
        if self.volumes.is_none() {
            return true;
        }
        let mut volumes = JointVolumes::default();
        for mounts in each(load).filter_map(|kind| self.mounts[kind].as_ref()) {
            volumes.add(mounts, node);
        }
        volumes.plans(&cycle.facts.volumes).is_ok()
    }

    /// Counts a member that comes to a node, or with a negative sign goes.
    pub fn count(&mut self, kind: usize, node: &Arc<Node>, comes: bool) {
        if let (Some(volumes), Some(mounts)) = (&mut self.volumes, &self.mounts[kind]) {
            if comes { volumes.add(mounts, node) } else { volumes.remove(mounts, node) }
        }
        let pod = &self.pods[kind];
        let heeding = self.now.iter_mut().zip(&self.heeds);
        for (around, _) in heeding.filter(|(_, heeds)| heeds[kind] != Heeds::default()) {
            if comes { around.add(pod, node) } else { around.remove(pod, node) }
        }
        if self.spread_varies[kind] {
            let alone = &mut self.alone[kind];
            if comes { alone.add(pod, node) } else { alone.remove(pod, node) }
        }
    }

    /// Adds members to a node, if none of them must be apart from others that are counted.
    pub fn add(&mut self, cycle: &Cycle<'_>, at: NodeIdx, node: &Arc<Node>, load: &Load) -> bool {
        for (done, kind) in each(load).enumerate() {
            if self.now[kind].check_apart(node).is_err() {
                each(load).take(done).for_each(|kind| self.count(kind, node, false));
                return false;
            }
            self.count(kind, node, true);
        }
        let lacks = |volumes: &JointVolumes| volumes.plans(&cycle.facts.volumes).is_err();
        if self.volumes.as_ref().is_some_and(lacks) {
            each(load).for_each(|kind| self.count(kind, node, false));
            return false;
        }
        let group = self.group(at, node);
        for (kind, count) in load.present() {
            *self.counts.entry((kind, group)).or_default() += count;
        }
        true
    }

    /// Takes members from a node.
    pub fn remove(&mut self, at: NodeIdx, node: &Arc<Node>, load: &Load) {
        each(load).for_each(|kind| self.count(kind, node, false));
        let group = self.group(at, node);
        for (kind, count) in load.present() {
            let here = self.counts.entry((kind, group)).or_default();
            *here = here.saturating_sub(count);
            if *here == 0 {
                self.counts.remove(&(kind, group));
            }
        }
    }

    /// Whether some of the members that are counted can never be where they are, whichever of the members that are left comes, and
    /// wherever.
    pub fn are_hopeless(&self, cycle: &Cycle<'_>, left: &[u32]) -> bool {
        self.counts.keys().any(|(kind, group)| {
            let node = filters::node_of(cycle.facts.nodes.get(self.examples[*group as usize]));
            self.is_hopeless(*kind, node, left)
        })
    }

    /// In how many groups of nodes there are members of how many kinds.
    pub fn spread_out(&self) -> usize {
        self.counts.len()
    }

    fn is_hopeless(&self, kind: usize, node: &Node, left: &[u32]) -> bool {
        if self.spread_varies[kind] {
            let mut more: Vec<i64> = Vec::new();
            for (other, pod) in self.pods.iter().enumerate() {
                let counts = self.before[kind].spread_counts(pod);
                more.resize(counts.len(), 0);
                let to_come = |counts: bool| if counts { i64::from(left[other]) } else { 0 };
                more.iter_mut().zip(counts).for_each(|(sum, counts)| *sum += to_come(counts));
            }
            let (now, alone) = (&self.now[kind], &self.alone[kind]);
            if now.is_hopelessly_skewed(alone, &self.pods[kind], node, &more) {
                return true;
            }
        }
        if self.tied[kind] {
            let has_label = |key: &&Arc<str>| node.labels.contains_key(*key);
            return self.now[kind].is_torn() || !self.now[kind].near_keys().iter().all(has_label);
        }
        // With no pod there that it must be near, and none to come, it could only be the first of its kind.
        self.near_varies[kind]
            && !self.before[kind].is_first_of_its_kind()
            && self.now[kind].check_near(node).is_err()
            && !(0..left.len()).any(|other| left[other] > 0 && self.heeds[kind][other].near)
    }

    /// Whether a kind that comes can be in the way of others that come later.
    pub fn is_harmless(&self, kind: usize) -> bool {
        let harms = |(other, heeds): (usize, &Vec<Heeds>)| {
            heeds[kind].spread || (heeds[kind].near && self.before[other].is_first_of_its_kind())
        };
        !self.has_nominees && !self.heeds.iter().enumerate().any(harms)
    }

    /// The group of a node: rules tell nodes of a group not apart.
    pub fn group(&mut self, at: NodeIdx, node: &Node) -> u32 {
        if let Some(known) = self.group_of.get(&at) {
            return *known;
        }
        let places = self.keys.iter().map(|key| node.labels.get(key).cloned()).collect();
        let counted = self.before.iter().flat_map(|around| around.counted_on(node)).collect();
        let next = self.groups.len() as u32;
        let is_unlike_others = self.nominated.contains(&at) || self.volumes.is_some();
        let features = (places, counted, is_unlike_others.then_some(at));
        let group = *self.groups.entry(features).or_insert(next);
        if group == next {
            self.examples.push(at);
        }
        self.group_of.insert(at, group);
        group
    }

    /// Takes note of the order in which nodes are filled.
    pub fn begin(&mut self, nodes: &[(NodeIdx, &Node)]) {
        let mut last: FxHashMap<(&Arc<str>, &Arc<str>), usize> = FxHashMap::default();
        let keys = self.keys.clone();
        for (place, (_, node)) in nodes.iter().enumerate() {
            last.extend(keys.iter().filter_map(|key| Some(((key, node.labels.get(key)?), place))));
        }
        self.last.clear();
        for (at, node) in nodes {
            let group = self.group(*at, node);
            let places = keys.iter().filter_map(|key| last.get(&(key, node.labels.get(key)?)));
            self.last.insert(group, places.copied().max().unwrap_or(0));
        }
    }

    /// All that matters of members that are counted to the nodes from this one on.
    pub fn gist(&self, from: usize) -> Box<[u32]> {
        let matters_anyway = self.have_order() || self.is_exclusive || self.volumes.is_some();
        let matters = |group: &u32| matters_anyway || self.last.get(group).is_some_and(|last| *last >= from);
        let counts = self.counts.iter().filter(|((_, group), _)| matters(group));
        counts.flat_map(|((kind, group), count)| [*kind as u32, *group, *count]).collect()
    }
}

/// Whether what claims of a member get can depend on what those of others get: volumes that are there, claims that are shared, and
/// storage that is counted.
fn compete_for_volumes(cycle: &Cycle<'_>, mounts: &[Option<Mounts>], members: &[u32]) -> bool {
    let mut seen: BTreeSet<&VolumeClaimId> = BTreeSet::new();
    let known = mounts.iter().zip(members).filter_map(|(mounts, count)| Some((mounts.as_ref()?, *count)));
    let mut unbound = known.flat_map(|(mounts, count)| mounts.unbound().map(move |one| (one, count)));
    unbound.any(|(one, count)| {
        let is_shared = count > 1 || !seen.insert(&one.claim.id);
        is_shared || one.may_take_or_count(&cycle.facts.volumes)
    })
}

/// The kinds of a load, one for each member.
fn each(load: &Load) -> impl Iterator<Item = usize> {
    load.present().flat_map(|(kind, count)| std::iter::repeat_n(kind, count as usize))
}
