//! What pods everywhere mean for a pod, held against tiers of nodes instead of against each node.
//!
//! Nodes of a tier are in the same places, but for those that labels tell apart too finely. Of these the few matter in whose places
//! there are pods that matter; they are exceptions, each of which is looked at by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::pod::{LabelSelector, Pod, Spread};
use rustc_hash::FxHashSet;

use crate::caches::kinds::PodKind;
use crate::caches::tiers::{Found, Places, Traits};
use crate::cycle::Cycle;
use crate::filters::{Around, Filter, PodRules, SpreadCounts, counted_pods};
use crate::scores::pod_affinity::PodWishes;
use crate::scores::spread::SpreadWishes;
use crate::scores::{Candidate, HOST, Score, View};

/// What pods everywhere mean for a pod.
pub(crate) struct Relations {
    pub(crate) around: Around,
    /// Nodes that are not like others of their tier.
    exceptions: FxHashSet<NodeIdx>,
}

/// A node, the nodes that it stands for, and the best of them.
pub(crate) struct Unit {
    pub(crate) candidate: Candidate,
    /// The best, its score, and what its devices are worth; nothing if none has devices.
    pub(crate) seat: Option<(NodeIdx, i64, i64)>,
    /// The tier whose nodes it stands for, but for exceptions; nothing if it is one.
    tier: Option<u32>,
}

impl Cycle<'_> {
    /// What pods everywhere mean for a pod, if that can be told by tiers.
    pub(crate) fn relations(
        &self,
        kind: &mut PodKind,
        pod: &Pod,
        companions: Option<&LabelSelector>,
    ) -> Option<Relations> {
        let (shape, nodes) = (&pod.shape, &self.facts.nodes);
        let profile = kind.profile.clone();
        let settings = &profile.filters;
        let view = self.view(&profile.scores, companions);
        let counts = |score: Score| profile.scores.weight(score) != 0;
        let has_rules = settings.has(Filter::PodAffinity);
        let rules = has_rules.then(|| PodRules::new(shape, nodes, &self.facts.namespaces));
        let wishes = if counts(Score::PodAffinity) { PodWishes::new(shape, &view) } else { None };
        let spread = if settings.has(Filter::Spread) {
            SpreadCounts::rules(shape, settings, companions)
        } else {
            Vec::new()
        };
        let spread_wishes =
            if counts(Score::Spread) { SpreadWishes::rules(shape, &view) } else { Vec::new() };
        let keys: BTreeSet<Arc<str>> = rules
            .iter()
            .flat_map(PodRules::keys)
            .chain(rules.iter().flat_map(PodRules::places).map(|(key, _)| key.clone()))
            .chain(wishes.iter().flat_map(PodWishes::places).map(|(key, _)| key.clone()))
            .chain(spread.iter().chain(&spread_wishes).map(|rule| rule.key.clone()))
            .collect();
        if !kind.tiers.has_room_for(&keys) {
            return None;
        }
        kind.tell_apart(keys, nodes);
        // How many places there are matters to these, and tiers do not know it.
        if spread_wishes.iter().any(|rule| &*rule.key != HOST && kind.tiers.is_fine(&rule.key)) {
            return None;
        }
        let spread = if spread.is_empty() { None } else { Some(self.spread_within(kind, pod, spread)?) };
        let around = Around::counted(shape, spread, rules);
        let places = around.places().chain(wishes.iter().flat_map(PodWishes::places));
        let mut exceptions: FxHashSet<NodeIdx> =
            places.flat_map(|(key, place)| kind.tiers.in_fine_place(key, place)).collect();
        for rule in spread_wishes.iter().filter(|rule| &*rule.key == HOST) {
            exceptions.extend(counted_pods(&rule.selector, &shape.namespace, nodes).map(|(at, _)| at));
        }
        Some(Relations { around, exceptions })
    }

    /// How pods are spread by rules that must be kept, if places can be told by tiers.
    fn spread_within(&self, kind: &PodKind, pod: &Pod, rules: Vec<Spread>) -> Option<SpreadCounts> {
        let labels: Vec<Arc<str>> = rules.iter().map(|rule| rule.key.clone()).collect();
        let with_places = |rule: Spread| {
            let counts = |traits: &Traits| {
                (!rule.honor_affinity || traits.is_wanted) && (!rule.honor_taints || traits.is_open)
            };
            Some(match kind.tiers.places(&rule.key, &labels, counts)? {
                Places::Named(named) => (rule, named, 0),
                Places::Nodes(count) => (rule, BTreeSet::new(), count),
            })
        };
        let rules = rules.into_iter().map(with_places).collect::<Option<Vec<_>>>()?;
        Some(SpreadCounts::within(&pod.shape, &self.facts.nodes, &kind.profile.filters, rules))
    }

    /// What scores look at.
    pub(crate) fn view<'v>(
        &'v self,
        settings: &'v crate::scores::ScoreSettings,
        companions: Option<&'v LabelSelector>,
    ) -> View<'v> {
        View {
            nodes: &self.facts.nodes,
            namespaces: &self.facts.namespaces,
            images: &self.facts.images,
            companions,
            volumes: None,
            settings,
        }
    }
}

impl Relations {
    /// The nodes that pass all filters which look at a node alone, as few as may stand for all of them. If only devices that were
    /// found are compared, nodes without any do not count.
    pub(crate) fn units(&self, kind: &PodKind, only_with_devices: bool) -> Vec<Unit> {
        let mut units = Vec::new();
        let mut left_out: BTreeMap<u32, usize> = BTreeMap::new();
        for at in &self.exceptions {
            let Some(known) = kind.get(*at) else { continue };
            let membership = &known.membership;
            let seat = match membership.found {
                Found::Unfit => continue,
                Found::NoDevices if only_with_devices => continue,
                Found::NoDevices => None,
                Found::Seat(score) => Some((*at, score, membership.traits().worth)),
            };
            *left_out.entry(membership.tier()).or_default() += 1;
            units.push(Unit { candidate: (*at).into(), seat, tier: None });
        }
        for (number, tier) in kind.tiers.fitting() {
            let all = if only_with_devices { tier.best.len() } else { tier.fit.len() };
            let stands_for = all - left_out.get(&number).copied().unwrap_or(0);
            if stands_for == 0 {
                continue;
            }
            let is_like_others = |at: &NodeIdx| !self.exceptions.contains(at);
            let best = tier.best.iter().find(|(_, at)| is_like_others(at));
            let seat = best.map(|(score, at)| (*at, -score, tier.traits.worth));
            let example = seat.map(|(at, ..)| at).or_else(|| tier.fit.iter().copied().find(is_like_others));
            let at = example.expect("a tier stands for the nodes that it has");
            units.push(Unit { candidate: Candidate { at, stands_for }, seat, tier: Some(number) });
        }
        units
    }

    /// The nodes with devices that a unit stands for, the best first, and their scores.
    pub(crate) fn seats_of<'k>(
        &'k self,
        kind: &'k PodKind,
        unit: &'k Unit,
    ) -> impl Iterator<Item = (i64, NodeIdx)> + 'k {
        let alone = unit.seat.filter(|_| unit.tier.is_none()).map(|(at, score, _)| (score, at));
        let tier = unit.tier.into_iter().flat_map(|tier| kind.tiers.seats(tier));
        alone.into_iter().chain(tier.filter(|(_, at)| !self.exceptions.contains(at)))
    }
}
