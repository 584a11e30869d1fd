//! Pods that must be near each other or apart.
//!
//! Invariant: a count that fell to nothing is taken out, so an empty map means that no such pod is placed anywhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::namespaces::Namespaces;
use cluster::nodes::Nodes;
use cluster::nodes::label_sets::LabelSet;
use cluster::nodes::placed_terms::{PlacedTerm, TermRole};
use model::node::Node;
use model::pod::{Pod, Shape};
use rustc_hash::FxHashMap;

use crate::filters::pod_term::{OwnTerm, reaches};
use crate::values::node_refusal::NodeRefusal;

/// How many pods are in each place, by the value of a node label.
type Places = FxHashMap<Arc<str>, i64>;

/// Where the pods are that matter to a shape, and those to which it matters.
#[derive(Clone, Debug)]
pub(crate) struct PodRules {
    near: Vec<(OwnTerm, Places)>,
    apart: Vec<(OwnTerm, Places)>,
    /// Places, by the label that tells them apart, with pods that must be apart from the shape.
    unwelcome: BTreeMap<Arc<str>, Places>,
    /// Whether the shape is one that it must be near itself, so that the first of its kind may go anywhere.
    near_itself: bool,
    /// Labels of the shape's namespace.
    namespace: BTreeMap<Arc<str>, Arc<str>>,
}

impl PodRules {
    pub(crate) fn new(shape: &Shape, nodes: &Nodes, namespaces: &Namespaces) -> PodRules {
        let own = |term| (OwnTerm::new(term, namespaces), Places::default());
        let near: Vec<_> = shape.near.iter().map(own).collect();
        let mut rules = PodRules {
            near_itself: near.iter().all(|(term, _)| term.means(shape)),
            near,
            apart: shape.apart.iter().map(own).collect(),
            unwelcome: BTreeMap::new(),
            namespace: namespaces.labels(&shape.namespace).cloned().unwrap_or_default(),
        };
        rules.count_own_terms(nodes);
        rules.count_terms_of_others(shape, nodes);
        rules
    }

    /// Counts the pods that the shape's own terms mean.
    fn count_own_terms(&mut self, nodes: &Nodes) {
        let PodRules { near, apart, .. } = self;
        if let Some(first) = near.first().map(|(term, _)| term.selector().clone()) {
            // One pod has to meet all terms.
            let picked = nodes.label_sets().picked(&first);
            let meant: Vec<&LabelSet> =
                picked.filter(|set| near.iter().all(|(term, _)| term.means(set.shape()))).collect();
            for (term, places) in near {
                meant.iter().for_each(|set| count_set(places, nodes, &term.key, set));
            }
        }
        for (term, places) in apart {
            let picked = nodes.label_sets().picked(term.selector());
            picked
                .filter(|set| term.means(set.shape()))
                .for_each(|set| count_set(places, nodes, &term.key, set));
        }
    }

    /// Counts the pods that must be apart from the shape.
    fn count_terms_of_others(&mut self, shape: &Shape, nodes: &Nodes) {
        for (PlacedTerm { term, role }, on_nodes) in nodes.placed_terms().picking(&shape.labels) {
            if *role != TermRole::Apart || !reaches(term, shape, &self.namespace) {
                continue;
            }
            let places = self.unwelcome.entry(term.key.clone()).or_default();
            for (at, count) in on_nodes {
                if let Some(node) = &nodes.get(*at).node {
                    move_place(places, node, &term.key, i64::from(*count));
                }
            }
        }
        self.unwelcome.retain(|_, places| !places.is_empty());
    }

    /// Counts a pod that comes to a node, or with a negative sign goes.
    pub(crate) fn count(&mut self, shape: &Shape, pod: &Pod, node: &Node, sign: i64) {
        for term in &pod.shape.apart {
            if reaches(term, shape, &self.namespace) {
                let places = self.unwelcome.entry(term.key.clone()).or_default();
                move_place(places, node, &term.key, sign);
                if places.is_empty() {
                    self.unwelcome.remove(&term.key);
                }
            }
        }
        if self.near.iter().all(|(term, _)| term.means(&pod.shape)) {
            for (term, places) in &mut self.near {
                move_place(places, node, &term.key, sign);
            }
        }
        for (term, places) in &mut self.apart {
            if term.means(&pod.shape) {
                move_place(places, node, &term.key, sign);
            }
        }
    }

    /// Whether the pod may come to a node.
    pub(crate) fn check(&self, node: &Node) -> Result<(), NodeRefusal> {
        self.check_near(node)?;
        self.check_apart(node)
    }

    /// Whether the pods are there that the pod must be near.
    pub(crate) fn check_near(&self, node: &Node) -> Result<(), NodeRefusal> {
        if self.is_near(node) { Ok(()) } else { Err(NodeRefusal::NotNear) }
    }

    /// Whether no pod is there that this one must be apart from, or that must be apart from it.
    pub(crate) fn check_apart(&self, node: &Node) -> Result<(), NodeRefusal> {
        if let Some((term, _)) = self.apart.iter().find(|(term, places)| is_there(places, node, &term.key)) {
            return Err(NodeRefusal::NotApart { key: term.key.clone() });
        }
        match self.unwelcome.iter().find(|(key, places)| is_there(places, node, key)) {
            Some((key, _)) => Err(NodeRefusal::Unwelcome { key: key.clone() }),
            None => Ok(()),
        }
    }

    /// The node labels by which a pod must be apart from the shape, or the shape from it, and whether it is one that the
    /// shape must be near.
    pub(crate) fn heeds(&self, shape: &Shape, pod: &Pod) -> (Vec<Arc<str>>, bool) {
        let theirs = pod.shape.apart.iter().filter(|term| reaches(term, shape, &self.namespace));
        let own = self.apart.iter().filter(|(term, _)| term.means(&pod.shape));
        let mut keys: Vec<Arc<str>> = theirs.map(|term| term.key.clone()).collect();
        keys.extend(own.map(|(term, _)| term.key.clone()));
        keys.sort_unstable();
        keys.dedup();
        let near = !self.near.is_empty() && self.near.iter().all(|(term, _)| term.means(&pod.shape));
        (keys, near)
    }

    /// The places of pods that matter to the shape, or to which it matters, by the label that tells them apart and its value.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        let own = self.near.iter().chain(&self.apart).map(|(term, places)| (&term.key, places));
        own.chain(&self.unwelcome).flat_map(|(key, places)| places.keys().map(move |place| (key, place)))
    }

    /// The node labels by which places are told apart.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Arc<str>> {
        self.near.iter().chain(&self.apart).map(|(term, _)| term.key.clone())
    }

    /// Whether the shape must be near itself, and there is no such pod anywhere.
    pub(crate) fn is_first_of_its_kind(&self) -> bool {
        !self.near.is_empty() && self.near_itself && self.near.iter().all(|(_, places)| places.is_empty())
    }

    /// The node labels by which a pod must be near others.
    pub(crate) fn near_keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.near.iter().map(|(term, _)| &term.key)
    }

    /// Whether the pods that the shape must be near are in more than one place.
    pub(crate) fn is_torn(&self) -> bool {
        self.near.iter().any(|(_, places)| places.len() > 1)
    }

    fn is_near(&self, node: &Node) -> bool {
        if !self.near.iter().all(|(term, _)| node.labels.contains_key(&term.key)) {
            return false;
        }
        let found = self.near.iter().all(|(term, places)| is_there(places, node, &term.key));
        found || (self.near_itself && self.near.iter().all(|(_, places)| places.is_empty()))
    }
}

/// Counts pods with the same labels in their places.
fn count_set(places: &mut Places, nodes: &Nodes, key: &Arc<str>, set: &LabelSet) {
    for (at, counts) in set.on_nodes() {
        if let Some(node) = &nodes.get(at).node {
            move_place(places, node, key, i64::from(counts.all));
        }
    }
}

fn move_place(places: &mut Places, node: &Node, key: &Arc<str>, by: i64) {
    if let Some(place) = node.labels.get(key) {
        let count = places.entry(place.clone()).or_default();
        *count += by;
        if *count == 0 {
            places.remove(place);
        }
    }
}

fn is_there(places: &Places, node: &Node, key: &Arc<str>) -> bool {
    !places.is_empty()
        && node.labels.get(key).and_then(|place| places.get(place)).is_some_and(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use model::pod::{LabelSelector, PodTerm};

    use super::*;
    use crate::filters::node_of;
    use crate::sample::{labels, node, nodes, passing, pod, shape, state, term};

    fn zones(pods: Vec<Pod>) -> Nodes {
        let all = [("a", "zone=1"), ("b", "zone=1"), ("x", "zone=2"), ("y", "zone=2")];
        let all = all.map(|(name, zone)| node(name, &format!("{zone} host={name}")));
        nodes(all.into_iter().chain([node("none", "host=none")]), pods)
    }

    fn answer(shape: &Shape, nodes: &Nodes) -> String {
        let rules = PodRules::new(shape, nodes, &Namespaces::default());
        passing(nodes, |state| rules.check(node_of(state)))
    }

    fn near(text: &str, terms: &[(&str, &str)]) -> Shape {
        Shape { near: terms.iter().map(|(text, key)| term(text, key)).collect(), ..shape(text) }
    }

    fn apart(text: &str, terms: &[(&str, &str)]) -> Shape {
        Shape { apart: terms.iter().map(|(text, key)| term(text, key)).collect(), ..shape(text) }
    }

    #[test]
    fn a_pod_goes_where_the_pods_are_that_it_must_be_near() {
        let nodes = zones(vec![pod("db", "a", shape("app=db"))]);
        assert_eq!(answer(&near("app=web", &[("app=db", "zone")]), &nodes), "a b");
        assert_eq!(answer(&near("app=web", &[("app=db", "host")]), &nodes), "a");
        assert_eq!(answer(&near("app=web", &[("app=mq", "zone")]), &nodes), "");
        assert_eq!(answer(&near("app=web", &[]), &nodes), "a b x y none");
    }

    #[test]
    fn one_pod_must_meet_all_terms() {
        let pods = vec![pod("p", "a", shape("app=db")), pod("q", "x", shape("app=db tier=1"))];
        assert_eq!(answer(&near("", &[("app=db", "zone"), ("tier=1", "zone")]), &zones(pods.clone())), "x y");
        assert_eq!(answer(&near("", &[("app=db", "zone"), ("tier=1", "host")]), &zones(pods)), "x");
    }

    #[test]
    fn the_first_of_a_kind_that_must_be_near_itself_may_go_anywhere_with_a_label() {
        let shape = near("app=web", &[("app=web", "zone")]);
        assert_eq!(answer(&shape, &zones(Vec::new())), "a b x y");
        let second = zones(vec![pod("p", "x", crate::sample::shape("app=web"))]);
        assert_eq!(answer(&shape, &second), "x y");
        let other_place = zones(vec![pod("p", "none", crate::sample::shape("app=web"))]);
        assert_eq!(answer(&shape, &other_place), "a b x y");
        assert_eq!(
            answer(&near("app=web", &[("app=web", "zone"), ("app=db", "zone")]), &zones(Vec::new())),
            ""
        );
    }

    #[test]
    fn a_pod_stays_away_from_pods_that_it_must_be_apart_from() {
        let nodes = zones(vec![pod("db", "a", shape("app=db"))]);
        assert_eq!(answer(&apart("", &[("app=db", "zone")]), &nodes), "x y none");
        assert_eq!(answer(&apart("", &[("app=db", "host")]), &nodes), "b x y none");
        assert_eq!(answer(&apart("", &[("app=mq", "zone"), ("app=db", "host")]), &nodes), "b x y none");
    }

    #[test]
    fn pods_that_must_be_apart_from_it_keep_a_pod_away() {
        let nodes = zones(vec![pod("db", "a", apart("app=db", &[("app=web", "zone")]))]);
        assert_eq!(answer(&shape("app=web"), &nodes), "x y none");
        assert_eq!(answer(&shape("app=mq"), &nodes), "a b x y none");
        let rules = PodRules::new(&shape("app=web"), &nodes, &Namespaces::default());
        let refusal = rules.check(node_of(state(&nodes, "b")));
        assert_eq!(refusal, Err(NodeRefusal::Unwelcome { key: "zone".into() }));
    }

    #[test]
    fn terms_of_others_may_pick_the_pods_namespace_by_label() {
        let mut namespaces = Namespaces::default();
        namespaces.apply("ns".into(), labels("team=x"));
        let by_label = PodTerm {
            namespaces: Vec::new(),
            namespace_selector: Some(crate::sample::selector("team=x")),
            ..term("app=web", "zone")
        };
        let other = Shape { namespace: "far".into(), apart: vec![by_label], ..shape("") };
        let nodes = zones(vec![pod("db", "a", other)]);
        let rules = PodRules::new(&shape("app=web"), &nodes, &namespaces);
        assert_eq!(passing(&nodes, |state| rules.check(node_of(state))), "x y none");
        assert_eq!(answer(&shape("app=web"), &nodes), "a b x y none");
    }

    #[test]
    fn pods_can_come_and_go() {
        let shape = Shape { near: vec![term("app=web", "zone")], ..apart("app=web", &[("app=db", "host")]) };
        let nodes = zones(vec![pod("p", "a", crate::sample::shape("app=web"))]);
        let mut rules = PodRules::new(&shape, &nodes, &Namespaces::default());
        let names = |rules: &PodRules| passing(&nodes, |state| rules.check(node_of(state)));
        assert_eq!(names(&rules), "a b");
        let web = pod("p", "a", crate::sample::shape("app=web"));
        rules.count(&shape, &web, node_of(state(&nodes, "a")), -1);
        assert_eq!(names(&rules), "a b x y");
        let db = pod("q", "x", apart("app=db", &[("app=web", "zone")]));
        rules.count(&shape, &db, node_of(state(&nodes, "x")), 1);
        assert_eq!(names(&rules), "a b");
        rules.count(&shape, &db, node_of(state(&nodes, "x")), -1);
        assert_eq!(names(&rules), "a b x y");
        assert!(rules.unwelcome.is_empty());
    }

    #[test]
    fn a_term_that_picks_nothing_is_never_met() {
        let nobody = PodTerm { selector: LabelSelector::Nothing, ..term("", "zone") };
        let nodes = zones(vec![pod("p", "a", shape("app=web"))]);
        assert_eq!(answer(&Shape { near: vec![nobody.clone()], ..shape("") }, &nodes), "");
        assert_eq!(answer(&Shape { apart: vec![nobody], ..shape("") }, &nodes), "a b x y none");
    }
}
