//! Nodes in tiers: those of one tier differ for a pod by what is left of them alone, as far as no pod is there that matters to it.
//!
//! A node is told apart from others by the places that it is in, such as its zone, and by what makes it better or worse among
//! others. Labels that tell nearly all nodes apart, such as the host name, would make a tier of each. Of these only it counts whether
//! a node has the label; the few nodes in whose places there are pods that matter are looked at one by one.
//!
//! Invariant: a tier's numbers are those of its nodes.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::nodes::{NodeIdx, Nodes};
use model::node::Node;
use rustc_hash::FxHashMap;

/// A label with more values than this tells nodes apart too finely for tiers.
const COARSE_MAX: usize = 32;

/// How many labels tiers are told apart by at the most.
const KEYS_MAX: usize = 8;

/// What tells nodes apart, besides places.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Traits {
    /// How many taints the pods do not bear that make a node worse.
    pub(crate) taints: i64,
    /// The weights of all wishes of the pods that a node meets.
    pub(crate) wishes: i64,
    /// What its devices are worth, if claims have alternatives.
    pub(crate) worth: i64,
    /// Whether the pods want the node by its labels, and whether no taint keeps them off: rules about spreading may count others.
    pub(crate) is_wanted: bool,
    pub(crate) is_open: bool,
}

/// What filters that look at a node alone, and at its devices, have found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// A filter is against it.
    Unfit,
    /// It has no devices for the pods.
    NoDevices,
    /// It will do, and this is its score.
    Seat(i64),
}

/// The tier of a node, and what is needed to leave it.
#[derive(Clone, Debug)]
pub(crate) struct Membership {
    tier: u32,
    traits: Traits,
    /// Its places, by key.
    places: Box<[Option<Arc<str>>]>,
    pub(crate) found: Found,
}

impl Membership {
    pub(crate) fn traits(&self) -> Traits {
        self.traits
    }

    pub(crate) fn tier(&self) -> u32 {
        self.tier
    }
}

/// Nodes that differ for a pod by what is left of them alone.
#[derive(Debug)]
pub(crate) struct Tier {
    pub(crate) traits: Traits,
    marks: Box<[Mark]>,
    /// How many nodes there are, also those that are unfit.
    nodes: usize,
    /// Those that no filter is against.
    pub(crate) fit: BTreeSet<NodeIdx>,
    /// Those that will do, the best first: scores are negated.
    pub(crate) best: BTreeSet<(i64, NodeIdx)>,
}

/// What a tier tells of a label.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Mark {
    Absent,
    /// There, with this value.
    Place(Arc<str>),
    /// There, with values that tell nearly all nodes apart.
    Fine,
}

/// A label by which nodes are told apart.
#[derive(Debug)]
struct TierKey {
    key: Arc<str>,
    /// The nodes by the label's value.
    places: FxHashMap<Arc<str>, BTreeSet<NodeIdx>>,
    is_fine: bool,
}

/// All nodes in tiers.
#[derive(Debug, Default)]
pub(crate) struct Tiers {
    keys: Vec<TierKey>,
    numbers: FxHashMap<(Traits, Box<[Mark]>), u32>,
    tiers: Vec<Tier>,
}

impl Tiers {
    /// Forgets all nodes.
    pub(crate) fn forget(&mut self) {
        self.numbers.clear();
        self.tiers.clear();
        self.keys.iter_mut().for_each(|key| key.places.clear());
    }

    pub(crate) fn has_key(&self, key: &str) -> bool {
        self.keys.iter().any(|known| *known.key == *key)
    }

    /// Whether nodes can be told apart by these labels too.
    pub(crate) fn has_room_for(&self, keys: &BTreeSet<Arc<str>>) -> bool {
        keys.iter().filter(|key| !self.has_key(key)).count() + self.keys.len() <= KEYS_MAX
    }

    /// Whether a label has so many more values than before that it had better not make tiers.
    pub(crate) fn is_outgrown(&self) -> bool {
        self.keys.iter().any(|key| !key.is_fine && key.places.len() > 2 * COARSE_MAX)
    }

    /// Tells nodes apart by these labels too. All nodes have to enter anew.
    pub(crate) fn add_keys(&mut self, keys: BTreeSet<Arc<str>>, nodes: &Nodes) {
        self.forget();
        for key in keys {
            if !self.has_key(&key) {
                self.keys.push(TierKey { key, places: FxHashMap::default(), is_fine: false });
            }
        }
        self.measure(nodes);
    }

    /// Finds out which labels tell nodes apart too finely. All nodes have to enter anew.
    pub(crate) fn measure(&mut self, nodes: &Nodes) {
        for known in &mut self.keys {
            let values = nodes.iter().filter_map(|(_, state)| state.node.as_ref()?.labels.get(&known.key));
            known.is_fine = values.collect::<BTreeSet<_>>().len() > COARSE_MAX;
        }
    }

    /// Puts a node into its tier.
    pub(crate) fn enter(&mut self, at: NodeIdx, node: &Node, traits: Traits, found: Found) -> Membership {
        let mut marks = Vec::with_capacity(self.keys.len());
        let mut places = Vec::with_capacity(self.keys.len());
        for known in &mut self.keys {
            let place = node.labels.get(&known.key).cloned();
            marks.push(match &place {
                None => Mark::Absent,
                Some(_) if known.is_fine => Mark::Fine,
                Some(place) => Mark::Place(place.clone()),
            });
            if let Some(place) = &place {
                match known.places.get_mut(place) {
                    Some(nodes) => drop(nodes.insert(at)),
                    None => drop(known.places.insert(place.clone(), BTreeSet::from([at]))),
                }
            }
            places.push(place);
        }
        let tier = self.number(traits, marks.into());
        let known = &mut self.tiers[tier as usize];
        known.nodes += 1;
        if found != Found::Unfit {
            known.fit.insert(at);
        }
        if let Found::Seat(score) = found {
            known.best.insert((-score, at));
        }
        Membership { tier, traits, places: places.into(), found }
    }

    /// Takes a node out of its tier.
    pub(crate) fn leave(&mut self, at: NodeIdx, Membership { tier, places, found, .. }: &Membership) {
        for (known, place) in self.keys.iter_mut().zip(places) {
            if let Some(place) = place
                && let Some(nodes) = known.places.get_mut(place)
            {
                nodes.remove(&at);
                if nodes.is_empty() {
                    known.places.remove(place);
                }
            }
        }
        let known = &mut self.tiers[*tier as usize];
        known.nodes -= 1;
        known.fit.remove(&at);
        if let Found::Seat(score) = found {
            known.best.remove(&(-score, at));
        }
    }

    fn number(&mut self, traits: Traits, marks: Box<[Mark]>) -> u32 {
        let key = (traits, marks);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.tiers.len() as u32;
        let marks = key.1.clone();
        self.tiers.push(Tier { traits, marks, nodes: 0, fit: BTreeSet::new(), best: BTreeSet::new() });
        self.numbers.insert(key, number);
        number
    }

    /// The tiers that have nodes which no filter is against, by number.
    pub(crate) fn fitting(&self) -> impl Iterator<Item = (u32, &Tier)> {
        let numbered = self.tiers.iter().enumerate().map(|(number, tier)| (number as u32, tier));
        numbered.filter(|(_, tier)| !tier.fit.is_empty())
    }

    /// The nodes of a tier that will do, the best first, with their scores.
    pub(crate) fn seats(&self, tier: u32) -> impl Iterator<Item = (i64, NodeIdx)> {
        let tier = self.tiers.get(tier as usize);
        tier.into_iter().flat_map(|tier| &tier.best).map(|(score, at)| (-score, *at))
    }

    /// Whether a label tells nodes apart too finely for tiers.
    pub(crate) fn is_fine(&self, key: &str) -> bool {
        self.keys.iter().any(|known| *known.key == *key && known.is_fine)
    }

    /// The nodes that are in a place, if places are told apart too finely for tiers by its label.
    pub(crate) fn in_fine_place(&self, key: &str, place: &str) -> impl Iterator<Item = NodeIdx> {
        let known = self.keys.iter().find(|known| *known.key == *key).filter(|known| known.is_fine);
        known.and_then(|known| known.places.get(place)).into_iter().flatten().copied()
    }

    /// The places by a label that have nodes with all of these labels which a rule about spreading counts: by name, or only how many
    /// if each is a node. Nothing if they cannot be told without looking at all nodes.
    pub(crate) fn places(
        &self,
        key: &str,
        labels: &[Arc<str>],
        counts: impl Fn(&Traits) -> bool,
    ) -> Option<Places> {
        let at = self.keys.iter().position(|known| *known.key == *key)?;
        let with: Vec<usize> = labels
            .iter()
            .map(|label| self.keys.iter().position(|known| known.key == *label))
            .collect::<Option<_>>()?;
        let is_counted = |tier: &&Tier| {
            tier.nodes > 0 && counts(&tier.traits) && with.iter().all(|at| tier.marks[*at] != Mark::Absent)
        };
        let counted = self.tiers.iter().filter(is_counted);
        if !self.keys[at].is_fine {
            let place = |tier: &Tier| match &tier.marks[at] {
                Mark::Place(place) => Some(place.clone()),
                Mark::Absent | Mark::Fine => None,
            };
            return Some(Places::Named(counted.filter_map(place).collect()));
        }
        let is_of_one_node = self.keys[at].places.values().all(|nodes| nodes.len() == 1);
        is_of_one_node.then(|| Places::Nodes(counted.map(|tier| tier.nodes).sum()))
    }
}

/// Places that have nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Places {
    /// These.
    Named(BTreeSet<Arc<str>>),
    /// So many, each of which is one node.
    Nodes(usize),
}
