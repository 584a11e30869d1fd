//! Pods that must be spread evenly over places.
//!
//! Invariant: `levels` says of every count how many places have it, so the least is at hand while pods come and go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::label_sets::LabelSet;
use cluster::nodes::{NodeIdx, Nodes};
use model::node::Node;
use model::pod::{LabelSelector, Pod, Shape, Spread};
use rustc_hash::FxHashMap;

use crate::filters::node::node_of;
use crate::filters::node_affinity::wants;
use crate::filters::settings::FilterSettings;
use crate::filters::taints::keeps_off;
use crate::values::node_refusal::NodeRefusal;

/// How the pods of each rule that a shape must keep are spread now.
#[derive(Clone, Debug)]
pub(crate) struct SpreadCounts {
    rules: Vec<RuleCounts>,
    compares_taints: bool,
}

#[derive(Clone, Debug)]
struct RuleCounts {
    rule: Spread,
    /// One if the rule counts the pod itself.
    own: i64,
    /// How many pods are in each place.
    places: FxHashMap<Arc<str>, i64>,
    /// How many places there are besides, without pods.
    others: usize,
    /// How many places have so many.
    levels: BTreeMap<i64, u32>,
}

impl SpreadCounts {
    /// Counts, if there is a rule that must be kept.
    pub(crate) fn new(
        shape: &Shape,
        nodes: &Nodes,
        settings: &FilterSettings,
        companions: Option<&LabelSelector>,
    ) -> Option<SpreadCounts> {
        let rules = SpreadCounts::rules(shape, settings, companions);
        if rules.is_empty() {
            return None;
        }
        let compares_taints = settings.compares_taints;
        let rules = rules.iter().map(|rule| RuleCounts::new(rule, shape)).collect();
        let mut counts = SpreadCounts { rules, compares_taints };
        for (_, state) in nodes.iter() {
            let node = node_of(state);
            if counts.has_all_labels(node) {
                for counts in &mut counts.rules {
                    if counted(&counts.rule, shape, node, compares_taints) {
                        counts.places.entry(node.labels[&counts.rule.key].clone()).or_default();
                    }
                }
            }
        }
        counts.count_pods(shape, nodes);
        counts.rules.iter_mut().for_each(RuleCounts::add_levels);
        Some(counts)
    }

    /// The rules that a shape must keep. One that says nothing itself is spread among its companions as the settings say.
    pub(crate) fn rules(
        shape: &Shape,
        settings: &FilterSettings,
        companions: Option<&LabelSelector>,
    ) -> Vec<Spread> {
        if shape.spread.is_empty() {
            return among(companions, &settings.default_spread);
        }
        shape.spread.iter().filter(|rule| rule.required).cloned().collect()
    }

    /// Counts by these rules, of each of which it is known which places have nodes that it counts: those that are named, and so
    /// many others.
    pub(crate) fn within(
        shape: &Shape,
        nodes: &Nodes,
        settings: &FilterSettings,
        rules: impl IntoIterator<Item = (Spread, BTreeSet<Arc<str>>, usize)>,
    ) -> SpreadCounts {
        let counts = |(rule, named, others): (Spread, BTreeSet<Arc<str>>, usize)| {
            let places = named.into_iter().map(|place| (place, 0)).collect();
            RuleCounts { places, others, ..RuleCounts::new(&rule, shape) }
        };
        let rules = rules.into_iter().map(counts).collect();
        let mut counts = SpreadCounts { rules, compares_taints: settings.compares_taints };
        counts.count_pods(shape, nodes);
        counts.rules.iter_mut().for_each(RuleCounts::add_levels);
        counts
    }

    /// The places that have pods, by the label that tells them apart and its value.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.rules.iter().flat_map(|counts| {
            let with_pods = counts.places.iter().filter(|(_, count)| **count > 0);
            with_pods.map(|(place, _)| (&counts.rule.key, place))
        })
    }

    /// Counts the pods that are on nodes.
    fn count_pods(&mut self, shape: &Shape, nodes: &Nodes) {
        let keys: Vec<Arc<str>> = self.keys().collect();
        for counts in &mut self.rules {
            let rule = counts.rule.clone();
            for (at, pods) in counted_pods(&rule.selector, &shape.namespace, nodes) {
                let Some(node) = &nodes.get(at).node else { continue };
                if keys.iter().all(|key| node.labels.contains_key(key))
                    && counted(&rule, shape, node, self.compares_taints)
                {
                    *counts.place(node.labels[&rule.key].clone()) += pods;
                }
            }
        }
    }

    /// Counts a pod that comes to a node, or with a negative sign goes.
    pub(crate) fn count(&mut self, shape: &Shape, pod: &Pod, node: &Node, sign: i64) {
        if !self.has_all_labels(node) {
            return;
        }
        for counts in &mut self.rules {
            let rule = &counts.rule;
            if is_counted(&rule.selector, &shape.namespace, pod)
                && counted(rule, shape, node, self.compares_taints)
            {
                let place = node.labels[&rule.key].clone();
                counts.move_place(place, sign);
            }
        }
    }

    /// Whether the pod may come to a node.
    pub(crate) fn check(&self, node: &Node) -> Result<(), NodeRefusal> {
        for counts in &self.rules {
            let rule = &counts.rule;
            let Some(place) = node.labels.get(&rule.key) else {
                return Err(NodeRefusal::NoSpreadLabel { key: rule.key.clone() });
            };
            let here = counts.places.get(place).copied().unwrap_or(0) + counts.own;
            let least = counts.least();
            let max_skew = i64::from(rule.max_skew);
            if here.saturating_sub(least) > max_skew {
                return Err(NodeRefusal::Skewed { key: rule.key.clone(), here, least, max_skew });
            }
        }
        Ok(())
    }

    /// Whether a rule counts a pod.
    pub(crate) fn heeds(&self, shape: &Shape, pod: &Pod) -> bool {
        self.counts(shape, pod).contains(&true)
    }

    /// Whether each rule counts a pod.
    pub(crate) fn counts(&self, shape: &Shape, pod: &Pod) -> Vec<bool> {
        self.rules.iter().map(|counts| is_counted(&counts.rule.selector, &shape.namespace, pod)).collect()
    }

    /// The node labels by which places are told apart.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Arc<str>> {
        self.rules.iter().map(|counts| counts.rule.key.clone())
    }

    /// Whether each rule counts pods on a node.
    pub(crate) fn counted_on(&self, shape: &Shape, node: &Node) -> Vec<bool> {
        let counts = |rule: &Spread| counted(rule, shape, node, self.compares_taints);
        self.rules.iter().map(|one| counts(&one.rule)).collect()
    }

    /// How many pods like this one can be spread at the most, by the rule that allows for the fewest. Told is by node how many
    /// it takes, and how many pods of any kind that count, by rule.
    pub(crate) fn most(&self, (shape, pod): (&Shape, &Pod), rooms: &[(&Node, u32, Vec<u32>)]) -> u32 {
        let of_rule = |(number, counts): (usize, &RuleCounts)| {
            let is_counted = is_counted(&counts.rule.selector, &shape.namespace, pod);
            let mut full: FxHashMap<&Arc<str>, i64> =
                counts.places.iter().map(|(place, count)| (place, *count)).collect();
            let mut own: FxHashMap<&Arc<str>, i64> = FxHashMap::default();
            let mut free = 0_i64;
            for (node, room, all) in rooms {
                let Some(place) = node.labels.get(&counts.rule.key) else { continue };
                if self.has_all_labels(node) && counted(&counts.rule, shape, node, self.compares_taints) {
                    *full.entry(place).or_default() += i64::from(all[number]);
                    *own.entry(place).or_default() += i64::from(*room);
                } else {
                    free += i64::from(*room);
                }
            }
            let is_short = counts.size() < i64::from(counts.rule.min_domains);
            let least = if is_short { Some(0) } else { full.values().min().copied() };
            let least = least.unwrap_or(i64::from(i32::MAX));
            let allowed = |(place, room): (&&Arc<str>, &i64)| {
                let here = counts.places.get(*place).copied().unwrap_or(0);
                let bound = least.saturating_add(i64::from(counts.rule.max_skew)).saturating_sub(here);
                if is_counted { (*room).min(bound.max(0)) } else { *room }
            };
            free + own.iter().map(allowed).sum::<i64>()
        };
        let most = self.rules.iter().enumerate().map(of_rule).min().unwrap_or(i64::MAX);
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// Whether pods like this one are too many in the place of a node where it is: counted with those alone that were there
    /// at first, while others are as they are now and `more` come, by each rule, where that helps most.
    pub(crate) fn is_hopelessly_skewed(
        &self,
        alone: &SpreadCounts,
        (shape, pod): (&Shape, &Pod),
        node: &Node,
        more: &[i64],
    ) -> bool {
        let has_all_labels = self.has_all_labels(node);
        self.rules.iter().zip(&alone.rules).zip(more).any(|((now, alone), more)| {
            let rule = &now.rule;
            let Some(place) = node.labels.get(&rule.key) else { return true };
            let is_counted = has_all_labels
                && is_counted(&rule.selector, &shape.namespace, pod)
                && counted(rule, shape, node, self.compares_taints);
            // The last of them finds all others like it there.
            let here = alone.places.get(place).copied().unwrap_or(0) - i64::from(is_counted) + now.own;
            here.saturating_sub(now.least_with(*more)) > i64::from(rule.max_skew)
        })
    }

    fn has_all_labels(&self, node: &Node) -> bool {
        self.rules.iter().all(|counts| node.labels.contains_key(&counts.rule.key))
    }
}

impl RuleCounts {
    fn new(rule: &Spread, shape: &Shape) -> RuleCounts {
        let own = i64::from(rule.selector.picks(&shape.labels));
        let (places, others, levels) = Default::default();
        RuleCounts { rule: rule.clone(), own, places, others, levels }
    }

    /// The count of a place that there is.
    fn place(&mut self, place: Arc<str>) -> &mut i64 {
        let others = &mut self.others;
        self.places.entry(place).or_insert_with(|| {
            *others = others.saturating_sub(1);
            0
        })
    }

    fn add_levels(&mut self) {
        for count in self.places.values() {
            *self.levels.entry(*count).or_default() += 1;
        }
        if self.others > 0 {
            *self.levels.entry(0).or_default() += self.others as u32;
        }
    }

    /// How many places there are.
    fn size(&self) -> i64 {
        (self.places.len() + self.others) as i64
    }

    fn move_place(&mut self, place: Arc<str>, by: i64) {
        let known = self.places.contains_key(&place);
        let count = self.places.entry(place).or_default();
        if known {
            let places = self.levels.entry(*count).or_default();
            *places = places.saturating_sub(1);
            if *places == 0 {
                self.levels.remove(count);
            }
        }
        *count += by;
        *self.levels.entry(*count).or_default() += 1;
    }

    /// How many the place with the fewest has. Too few places count as if there were another, empty one, and without any
    /// place nothing can be too much.
    fn least(&self) -> i64 {
        if self.size() < i64::from(self.rule.min_domains) {
            return 0;
        }
        self.levels.keys().next().copied().unwrap_or(i64::from(i32::MAX))
    }
}

impl RuleCounts {
    /// How many the place with the fewest has if so many more come where the fewest are.
    fn least_with(&self, mut more: i64) -> i64 {
        if self.size() == 0 || self.size() < i64::from(self.rule.min_domains) {
            return self.least();
        }
        let mut levels = self.levels.iter();
        let Some((first, count)) = levels.next() else { return self.least() };
        let (mut level, mut width) = (*first, i64::from(*count));
        for (next, count) in levels {
            let lift = (next - level) * width;
            if lift > more {
                break;
            }
            (more, level, width) = (more - lift, *next, width + i64::from(*count));
        }
        level + more / width.max(1)
    }
}

/// Rules whose selectors are left open, for a pod with these companions. Without any there is nothing to keep.
pub(crate) fn among(companions: Option<&LabelSelector>, rules: &[Spread]) -> Vec<Spread> {
    let Some(selector) = companions.filter(|selector| !selector.picks_all()) else { return Vec::new() };
    rules.iter().map(|rule| Spread { selector: selector.clone(), ..rule.clone() }).collect()
}

/// Whether a node is counted at all.
pub(crate) fn counted(rule: &Spread, shape: &Shape, node: &Node, compares_taints: bool) -> bool {
    (!rule.honor_affinity || wants(shape, node))
        && (!rule.honor_taints || keeps_off(shape, node, compares_taints).is_none())
}

/// The pods that a rule counts, by node; the node may not exist any more.
pub(crate) fn counted_pods<'n>(
    selector: &'n LabelSelector,
    namespace: &'n Arc<str>,
    nodes: &'n Nodes,
) -> impl Iterator<Item = (NodeIdx, i64)> {
    let picked = (!selector.picks_all()).then(|| nodes.label_sets().picked(selector)).into_iter().flatten();
    let own = picked.filter(|set| set.shape().namespace == *namespace);
    own.flat_map(LabelSet::on_nodes).map(|(at, counts)| (at, i64::from(counts.staying)))
}

/// Whether a rule counts a pod. Pods that are going are not counted, and a selector that picks everything counts none.
pub(crate) fn is_counted(selector: &LabelSelector, namespace: &Arc<str>, pod: &Pod) -> bool {
    !selector.picks_all()
        && !pod.deleting
        && pod.shape.namespace == *namespace
        && selector.picks(&pod.shape.labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{labels, node, nodes, passing, pod, shape, spread, taint};

    /// Two zones with two nodes each, and a node without a zone.
    fn zones(pods: &[(&str, &str)]) -> Nodes {
        let all = [("a", "zone=1"), ("b", "zone=1"), ("x", "zone=2"), ("y", "zone=2")];
        let all = all.map(|(name, zone)| node(name, &format!("{zone} host={name}")));
        let pods = pods.iter().enumerate().map(|(at, (on, text))| pod(&format!("p{at}"), on, shape(text)));
        nodes(all.into_iter().chain([node("none", "host=none")]), pods)
    }

    #[track_caller]
    fn check(rules: Vec<Spread>, pods: &[(&str, &str)], expected: &str) {
        let shape = Shape { spread: rules, ..shape("app=web") };
        let nodes = zones(pods);
        let counts =
            SpreadCounts::new(&shape, &nodes, &FilterSettings::default(), None).expect("there is a rule");
        assert_eq!(passing(&nodes, |state| counts.check(node_of(state))), expected);
    }

    #[test]
    fn places_may_differ_by_so_much() {
        let web = "app=web";
        check(vec![spread(1, "zone", web)], &[], "a b x y");
        check(vec![spread(1, "zone", web)], &[("a", web)], "x y");
        check(vec![spread(2, "zone", web)], &[("a", web)], "a b x y");
        check(vec![spread(1, "zone", web)], &[("a", web), ("x", "app=db")], "x y");
        check(vec![spread(1, "host", web)], &[("a", web), ("x", web)], "b y none");
        check(
            vec![spread(1, "zone", web), spread(1, "host", web)],
            &[("a", web), ("x", web), ("x", web), ("b", web)],
            "y",
        );
    }

    #[test]
    fn a_rule_that_does_not_count_the_pod_itself_leaves_one_more() {
        check(vec![spread(1, "zone", "app=db")], &[("a", "app=db")], "a b x y");
        check(vec![spread(1, "zone", "app=db")], &[("a", "app=db"), ("b", "app=db")], "x y");
    }

    #[test]
    fn too_few_places_count_as_an_empty_one_more() {
        let mut rule = spread(1, "zone", "app=web");
        rule.min_domains = 3;
        check(vec![rule.clone()], &[("a", "app=web")], "x y");
        check(vec![rule], &[("a", "app=web"), ("x", "app=web")], "");
    }

    #[test]
    fn nodes_that_the_pod_cannot_use_are_counted_only_if_told() {
        let mut shape = Shape { spread: vec![spread(1, "zone", "app=web")], ..shape("app=web") };
        shape.node_labels = labels("zone=1");
        let nodes = zones(&[("a", "app=web")]);
        let answer = |shape: &Shape| {
            let counts =
                SpreadCounts::new(shape, &nodes, &FilterSettings::default(), None).expect("there is a rule");
            passing(&nodes, |state| counts.check(node_of(state)))
        };
        // Zone 1 is the only place, and so has the fewest itself. Zone 2 is not counted.
        assert_eq!(answer(&shape), "a b x y");
        shape.spread[0].honor_affinity = false;
        assert_eq!(answer(&shape), "x y");
    }

    #[test]
    fn nodes_with_taints_are_left_out_only_if_told() {
        let mut shape = Shape { spread: vec![spread(1, "host", "app=web")], ..shape("app=web") };
        let mut closed = node("b", "host=b");
        closed.taints.push(taint("k=v:NoSchedule"));
        let nodes = nodes([node("a", "host=a"), closed], [pod("p", "a", crate::sample::shape("app=web"))]);
        let answer = |shape: &Shape| {
            let counts =
                SpreadCounts::new(shape, &nodes, &FilterSettings::default(), None).expect("there is a rule");
            passing(&nodes, |state| counts.check(node_of(state)))
        };
        assert_eq!(answer(&shape), "b");
        shape.spread[0].honor_taints = true;
        assert_eq!(answer(&shape), "a b");
    }

    #[test]
    fn pods_of_other_namespaces_and_pods_that_go_are_not_counted() {
        let mut other = pod("o", "a", shape("app=web"));
        Arc::make_mut(&mut other.shape).namespace = "other".into();
        let mut going = pod("g", "a", shape("app=web"));
        going.deleting = true;
        let nodes = nodes([node("a", "host=a"), node("b", "host=b")], [other, going]);
        let shape = Shape { spread: vec![spread(1, "host", "app=web")], ..shape("app=web") };
        let counts =
            SpreadCounts::new(&shape, &nodes, &FilterSettings::default(), None).expect("there is a rule");
        assert_eq!(passing(&nodes, |state| counts.check(node_of(state))), "a b");
    }

    #[test]
    fn pods_can_come_and_go() {
        let shape = Shape { spread: vec![spread(1, "zone", "app=web")], ..shape("app=web") };
        let nodes = zones(&[("a", "app=web")]);
        let mut counts =
            SpreadCounts::new(&shape, &nodes, &FilterSettings::default(), None).expect("there is a rule");
        let before = format!("{:?}", counts.rules[0].levels);
        let here = pod("p0", "a", crate::sample::shape("app=web"));
        let (a, x) = (node("a", "zone=1 host=a"), node("x", "zone=2 host=x"));
        counts.count(&shape, &here, &a, -1);
        assert_eq!(passing(&nodes, |state| counts.check(node_of(state))), "a b x y");
        counts.count(&shape, &here, &x, 1);
        assert_eq!(passing(&nodes, |state| counts.check(node_of(state))), "a b");
        counts.count(&shape, &here, &x, -1);
        counts.count(&shape, &here, &a, 1);
        assert_eq!(format!("{:?}", counts.rules[0].levels), before);
    }

    #[test]
    fn wishes_are_no_rules() {
        let mut rule = spread(1, "zone", "app=web");
        rule.required = false;
        let shape = Shape { spread: vec![rule], ..shape("app=web") };
        assert!(SpreadCounts::new(&shape, &zones(&[]), &FilterSettings::default(), None).is_none());
    }
}
