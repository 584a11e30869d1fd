//! What pods everywhere mean for a pod: rules about spreading, being near and being apart, and volumes of which only one pod may
//! make use.

use std::sync::Arc;

use cluster::namespaces::Namespaces;
use cluster::nodes::{NodeState, Nodes};
use cluster::volumes::Volumes;
use model::node::Node;
use model::pod::{LabelSelector, Pod, Shape};

use crate::filters::exclusive::ExclusiveClaims;
use crate::filters::node::node_of;
use crate::filters::pod_affinity::PodRules;
use crate::filters::settings::FilterSettings;
use crate::filters::spread::SpreadCounts;
use crate::values::filter_set::Filter;
use crate::values::node_refusal::NodeRefusal;

/// What a pod means for pods of a shape.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Heeds {
    /// They must be apart, in places by these node labels.
    pub apart: Vec<Arc<str>>,
    /// It is one that they must be near.
    pub near: bool,
    /// It is one of those among which they must be spread.
    pub spread: bool,
    /// Both use a volume of which only one pod may make use.
    pub exclusive: bool,
}

/// What pods everywhere mean for pods of a shape, counted once for many nodes.
///
/// It holds as long as nodes and namespaces stay the same and every pod that comes or goes is counted.
#[derive(Clone, Debug)]
pub struct Around {
    shape: Arc<Shape>,
    exclusive: Option<ExclusiveClaims>,
    spread: Option<SpreadCounts>,
    rules: Option<PodRules>,
}

impl Around {
    /// Looks at all pods once. Companions are the pods that a pod without rules of its own is to be spread among.
    #[must_use]
    pub fn new(
        shape: &Arc<Shape>,
        nodes: &Nodes,
        namespaces: &Namespaces,
        settings: &FilterSettings,
        companions: Option<&LabelSelector>,
    ) -> Around {
        let spread = || SpreadCounts::new(shape, nodes, settings, companions);
        let rules = || PodRules::new(shape, nodes, namespaces);
        Around {
            exclusive: None,
            spread: settings.has(Filter::Spread).then(spread).flatten(),
            rules: settings.has(Filter::PodAffinity).then(rules),
            shape: shape.clone(),
        }
    }

    /// What is counted already.
    pub(crate) fn counted(
        shape: &Arc<Shape>,
        spread: Option<SpreadCounts>,
        rules: Option<PodRules>,
    ) -> Around {
        Around { shape: shape.clone(), exclusive: None, spread, rules }
    }

    /// The places of pods that matter, by the label that tells them apart and its value.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        let of_spread = self.spread.iter().flat_map(SpreadCounts::places);
        self.rules.iter().flat_map(PodRules::places).chain(of_spread)
    }

    /// The same with an eye on volumes of which only one pod may make use.
    #[must_use]
    pub fn with_volumes(self, nodes: &Nodes, volumes: &Volumes, settings: &FilterSettings) -> Around {
        let exclusive = || ExclusiveClaims::new(&self.shape, nodes, volumes);
        let exclusive = settings.has(Filter::ExclusiveVolumes).then(exclusive).flatten();
        Around { exclusive, ..self }
    }

    /// Whether the pod may come to a node.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check(&self, state: &NodeState) -> Result<(), NodeRefusal> {
        let node = node_of(state);
        self.check_volumes()?;
        if let Some(spread) = &self.spread {
            spread.check(node)?;
        }
        self.rules.as_ref().map_or(Ok(()), |rules| rules.check(node))
    }

    /// Whether no pod uses a volume of which only one pod may make use. Kubernetes tells this before what it says of volumes
    /// and nodes.
    ///
    /// # Errors
    /// A pod does.
    pub fn check_volumes(&self) -> Result<(), NodeRefusal> {
        self.exclusive.as_ref().map_or(Ok(()), ExclusiveClaims::check)
    }

    /// Whether the pod may come to a node as far as others can only be in its way: pods that come besides change nothing
    /// about a no.
    pub(crate) fn check_apart(&self, node: &Node) -> Result<(), NodeRefusal> {
        self.check_volumes()?;
        self.rules.as_ref().map_or(Ok(()), |rules| rules.check_apart(node))
    }

    /// Whether the pods are near a node that the pod must be near.
    pub(crate) fn check_near(&self, node: &Node) -> Result<(), NodeRefusal> {
        self.rules.as_ref().map_or(Ok(()), |rules| rules.check_near(node))
    }

    /// Whether pods are spread evenly enough for the pod to come to a node.
    pub(crate) fn check_spread(&self, node: &Node) -> Result<(), NodeRefusal> {
        self.spread.as_ref().map_or(Ok(()), |spread| spread.check(node))
    }

    /// What another pod means for pods of the shape, wherever it is.
    pub(crate) fn heeds(&self, pod: &Pod) -> Heeds {
        let (apart, near) =
            self.rules.as_ref().map(|rules| rules.heeds(&self.shape, pod)).unwrap_or_default();
        Heeds {
            apart,
            near,
            spread: self.spread.as_ref().is_some_and(|spread| spread.heeds(&self.shape, pod)),
            exclusive: self.exclusive.as_ref().is_some_and(|exclusive| exclusive.uses(pod)),
        }
    }

    /// The node labels by which the shape's own rules tell places apart.
    pub(crate) fn keys(&self) -> Vec<Arc<str>> {
        let of_rules = self.rules.iter().flat_map(PodRules::keys);
        of_rules.chain(self.spread.iter().flat_map(SpreadCounts::keys)).collect()
    }

    /// Which rules about spreading count pods on a node.
    pub(crate) fn counted_on(&self, node: &Node) -> Vec<bool> {
        self.spread.as_ref().map(|spread| spread.counted_on(&self.shape, node)).unwrap_or_default()
    }

    /// Whether there are rules about pods that must be near, the pod itself is one of these, and there is no such pod yet.
    pub(crate) fn is_first_of_its_kind(&self) -> bool {
        self.rules.as_ref().is_some_and(PodRules::is_first_of_its_kind)
    }

    /// The node labels by which a pod must be near others.
    pub(crate) fn near_keys(&self) -> Vec<&Arc<str>> {
        self.rules.iter().flat_map(PodRules::near_keys).collect()
    }

    /// Whether the pods that the pod must be near are in more than one place.
    pub(crate) fn is_torn(&self) -> bool {
        self.rules.as_ref().is_some_and(PodRules::is_torn)
    }

    /// How many pods like this one can be spread over places at the most. Told is by node how many it takes, and how many
    /// pods of any kind that count, by rule.
    pub(crate) fn spread_most(&self, pod: &Pod, rooms: &[(&Node, u32, Vec<u32>)]) -> Option<u32> {
        self.spread.as_ref().map(|spread| spread.most((&self.shape, pod), rooms))
    }

    /// Whether pods like this one are too many in the place of a node where it is, however others are spread that are yet to
    /// come. `alone` counts such pods besides those that were there at first, and `more` are to come by each rule.
    pub(crate) fn is_hopelessly_skewed(&self, alone: &Around, pod: &Pod, node: &Node, more: &[i64]) -> bool {
        match (&self.spread, &alone.spread) {
            (Some(now), Some(alone)) => now.is_hopelessly_skewed(alone, (&self.shape, pod), node, more),
            _ => false,
        }
    }

    /// Whether each rule about spreading counts a pod.
    pub(crate) fn spread_counts(&self, pod: &Pod) -> Vec<bool> {
        self.spread.as_ref().map(|spread| spread.counts(&self.shape, pod)).unwrap_or_default()
    }

    /// Counts a pod that comes to a node.
    pub fn add(&mut self, pod: &Pod, node: &Node) {
        self.count(pod, node, 1);
    }

    /// Counts a pod that goes from a node.
    pub fn remove(&mut self, pod: &Pod, node: &Node) {
        self.count(pod, node, -1);
    }

    fn count(&mut self, pod: &Pod, node: &Node, sign: i64) {
        if let Some(exclusive) = &mut self.exclusive {
            exclusive.count(pod, sign);
        }
        if let Some(spread) = &mut self.spread {
            spread.count(&self.shape, pod, node, sign);
        }
        if let Some(rules) = &mut self.rules {
            rules.count(&self.shape, pod, node, sign);
        }
    }
}

#[cfg(test)]
mod tests {
    use model::pod::Spread;
    use model::volume::{VolumeClaim, VolumeClaimId};

    use super::*;
    use crate::sample::{node, nodes, passing, pod, selector, shape, spread, term};

    #[test]
    fn both_kinds_of_rules_count() {
        let web = || shape("app=web");
        let ours = Arc::new(Shape {
            spread: vec![spread(1, "host", "app=web")],
            apart: vec![term("app=db", "host")],
            ..web()
        });
        let all = ["a", "b", "c"].map(|name| node(name, &format!("host={name}")));
        let nodes = nodes(all.clone(), [pod("p", "a", web()), pod("q", "b", shape("app=db"))]);
        let settings = FilterSettings::default();
        let mut around = Around::new(&ours, &nodes, &Namespaces::default(), &settings, None);
        let names = |around: &Around| passing(&nodes, |state| around.check(state));
        assert_eq!(names(&around), "c");
        around.add(&pod("r", "c", web()), &all[2]);
        assert_eq!(names(&around), "");
        around.remove(&pod("q", "b", shape("app=db")), &all[1]);
        assert_eq!(names(&around), "b");
        around.remove(&pod("r", "c", web()), &all[2]);
        around.add(&pod("q", "b", shape("app=db")), &all[1]);
        assert_eq!(names(&around), "c");
    }

    #[test]
    fn each_kind_of_rules_can_be_switched_off() {
        let web = || shape("app=web");
        let ours = Arc::new(Shape {
            spread: vec![spread(1, "host", "app=web")],
            apart: vec![term("app=db", "host")],
            ..web()
        });
        let all = ["a", "b", "c"].map(|name| node(name, &format!("host={name}")));
        let nodes = nodes(all, [pod("p", "a", web()), pod("q", "b", shape("app=db"))]);
        let names = |off: &[Filter]| {
            let settings = FilterSettings { off: off.iter().copied().collect(), ..FilterSettings::default() };
            let around = Around::new(&ours, &nodes, &Namespaces::default(), &settings, None);
            passing(&nodes, |state| around.check(state))
        };
        assert_eq!(names(&[Filter::Spread]), "a c");
        assert_eq!(names(&[Filter::PodAffinity]), "b c");
        assert_eq!(names(&[Filter::Spread, Filter::PodAffinity]), "a b c");
    }

    #[test]
    fn a_pod_without_rules_is_spread_among_its_companions_if_that_is_set() {
        let open = Spread { selector: LabelSelector::Nothing, ..spread(1, "host", "") };
        let settings = FilterSettings { default_spread: vec![open], ..FilterSettings::default() };
        let all = ["a", "b"].map(|name| node(name, &format!("host={name}")));
        let nodes = nodes(all, [pod("p", "a", shape("app=web"))]);
        let names = |ours: Shape, companions: Option<&LabelSelector>| {
            let around = Around::new(&Arc::new(ours), &nodes, &Namespaces::default(), &settings, companions);
            passing(&nodes, |state| around.check(state))
        };
        let web = selector("app=web");
        assert_eq!(names(shape("app=web"), Some(&web)), "b");
        assert_eq!(names(shape("app=web"), None), "a b");
        assert_eq!(names(shape("app=web"), Some(&selector(""))), "a b");
        let own = Shape { spread: vec![spread(2, "host", "app=web")], ..shape("app=web") };
        assert_eq!(names(own, Some(&web)), "a b");
    }

    #[test]
    fn a_volume_for_one_pod_is_free_when_its_user_is_gone() {
        let claim = VolumeClaim {
            id: VolumeClaimId { namespace: "ns".into(), name: "disk".into() },
            volume: Some("v".into()),
            bound: true,
            one_pod: true,
            ..VolumeClaim::default()
        };
        let mut volumes = Volumes::default();
        volumes.apply_claim(claim);
        let using = || Shape { volume_claims: vec!["disk".into()], ..shape("") };
        let far = Shape { namespace: "far".into(), ..using() };
        let all = ["a", "b"].map(|name| node(name, ""));
        let nodes = nodes(all.clone(), [pod("p", "a", using()), pod("q", "b", far)]);
        let settings = FilterSettings::default();
        let around = |shape: Shape, settings: &FilterSettings| {
            let around = Around::new(&Arc::new(shape), &nodes, &Namespaces::default(), settings, None);
            around.with_volumes(&nodes, &volumes, settings)
        };
        let names = |around: &Around| passing(&nodes, |state| around.check(state));
        let mut ours = around(using(), &settings);
        assert_eq!(names(&ours), "");
        ours.remove(&pod("p", "a", using()), &all[0]);
        assert_eq!(names(&ours), "a b");
        ours.add(&pod("r", "b", using()), &all[1]);
        assert_eq!(names(&ours), "");
        assert_eq!(names(&around(shape(""), &settings)), "a b");
        let off =
            FilterSettings { off: [Filter::ExclusiveVolumes].into_iter().collect(), ..settings.clone() };
        assert_eq!(names(&around(using(), &off)), "a b");
    }
}
