//! Rules about other pods, against their plain meaning: every node and pod is asked anew, with nothing counted beforehand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::namespaces::Namespaces;
use cluster::nodes::Nodes;
use decisions::filters::{Around, FilterSettings};
use model::node::{Node, Operator, Requirement};
use model::pod::{LabelSelector, Pod, PodId, PodTerm, Shape, Spread};
use proptest::prelude::*;

const KEYS: [&str; 2] = ["zone", "host"];
const NAMESPACES: [&str; 2] = ["left", "right"];

fn labels(pairs: &[(&str, String)]) -> BTreeMap<Arc<str>, Arc<str>> {
    pairs.iter().map(|(key, value)| (Arc::from(*key), Arc::from(value.as_str()))).collect()
}

fn selector() -> impl Strategy<Value = LabelSelector> {
    let app = |app: u8| {
        LabelSelector::All(vec![Requirement {
            key: "app".into(),
            operator: Operator::In,
            values: vec![app.to_string().into()],
        }])
    };
    prop_oneof![
        6 => (0..3_u8).prop_map(app),
        1 => Just(LabelSelector::All(Vec::new())),
        1 => Just(LabelSelector::Nothing),
    ]
}

fn term() -> impl Strategy<Value = PodTerm> {
    let by_team = LabelSelector::All(vec![Requirement {
        key: "team".into(),
        operator: Operator::Exists,
        values: Vec::new(),
    }]);
    let picked = prop_oneof![
        4 => Just(None),
        1 => Just(Some(by_team)),
        1 => Just(Some(LabelSelector::All(Vec::new()))),
    ];
    let names = prop::sample::subsequence(NAMESPACES.to_vec(), 0..=2);
    (selector(), names, picked, prop::sample::select(&KEYS[..])).prop_map(
        |(selector, names, namespace_selector, key)| {
            let namespaces = names.into_iter().map(Into::into).collect();
            PodTerm { selector, namespaces, namespace_selector, key: key.into() }
        },
    )
}

fn rule() -> impl Strategy<Value = Spread> {
    (1..3_i32, prop::sample::select(&KEYS[..]), selector(), 1..4_i32, any::<bool>(), any::<bool>()).prop_map(
        |(max_skew, key, selector, min_domains, required, honor_affinity)| Spread {
            max_skew,
            key: key.into(),
            required,
            selector,
            min_domains,
            honor_affinity,
            honor_taints: false,
        },
    )
}

fn shape() -> impl Strategy<Value = Shape> {
    let terms = || prop::collection::vec(term(), 0..3);
    let rules = prop::collection::vec(rule(), 0..3);
    let wanted = prop_oneof![3 => Just(None), 1 => (0..2_u8).prop_map(Some)];
    (prop::sample::select(&NAMESPACES[..]), 0..3_u8, terms(), terms(), rules, wanted).prop_map(
        |(namespace, app, near, apart, spread, zone)| Shape {
            namespace: namespace.into(),
            labels: labels(&[("app", app.to_string())]),
            node_labels: zone.map(|zone| labels(&[("zone", zone.to_string())])).unwrap_or_default(),
            near,
            apart,
            spread,
            ..Shape::default()
        },
    )
}

/// Nodes, each with or without a zone.
fn nodes() -> impl Strategy<Value = Vec<Node>> {
    prop::collection::vec(prop::option::weighted(0.8, 0..3_u8), 1..6).prop_map(|zones| {
        let node = |(at, zone): (usize, Option<u8>)| {
            let mut node = Node { name: format!("n{at}").into(), ..Node::default() };
            node.labels = labels(&[("host", format!("n{at}"))]);
            if let Some(zone) = zone {
                node.labels.extend(labels(&[("zone", zone.to_string())]));
            }
            node
        };
        zones.into_iter().enumerate().map(node).collect()
    })
}

/// Pods as the number of their node and whether they are going.
fn pods() -> impl Strategy<Value = Vec<(prop::sample::Index, bool, Shape)>> {
    prop::collection::vec((any::<prop::sample::Index>(), prop::bool::weighted(0.1), shape()), 0..8)
}

fn place(nodes: &[Node], at: usize, (on, deleting, shape): &(prop::sample::Index, bool, Shape)) -> Pod {
    Pod {
        id: PodId { namespace: shape.namespace.clone(), name: format!("p{at}").into() },
        uid: format!("p{at}").into(),
        scheduler: "".into(),
        node: Some(nodes[on.index(nodes.len())].name.clone()),
        nominated_node: None,
        running: false,
        finished: false,
        deleting: *deleting,
        priority: 0,
        preempts: true,
        created: None,
        started: None,
        gates: Vec::new(),
        claims: Vec::new(),
        group: None,
        landing: None,
        shape: Arc::new(shape.clone()),
    }
}

fn namespaces() -> Namespaces {
    let mut namespaces = Namespaces::default();
    namespaces.apply("left".into(), labels(&[("team", "x".to_owned())]));
    namespaces.apply("right".into(), BTreeMap::new());
    namespaces
}

/// The meaning of a term, for any pod.
fn means(term: &PodTerm, shape: &Shape) -> bool {
    let namespaces = namespaces();
    let labels = namespaces.labels(&shape.namespace).expect("there are two");
    let by_label = term.namespace_selector.as_ref().is_some_and(|selector| selector.picks(labels));
    (by_label || term.namespaces.contains(&shape.namespace)) && term.selector.picks(&shape.labels)
}

fn same_place(key: &str, left: &Node, right: &Node) -> bool {
    left.labels.contains_key(key) && left.labels.get(key) == right.labels.get(key)
}

fn may_be_near(shape: &Shape, node: &Node, placed: &[(&Pod, &Node)]) -> bool {
    let all = |other: &Shape| shape.near.iter().all(|term| means(term, other));
    let labelled = shape.near.iter().all(|term| node.labels.contains_key(&term.key));
    let met =
        |term: &PodTerm| placed.iter().any(|(pod, on)| all(&pod.shape) && same_place(&term.key, node, on));
    let counts = |(pod, on): &(&Pod, &Node)| {
        all(&pod.shape) && shape.near.iter().any(|term| on.labels.contains_key(&term.key))
    };
    labelled && (shape.near.iter().all(met) || (all(shape) && !placed.iter().any(counts)))
}

fn may_be_apart(shape: &Shape, node: &Node, placed: &[(&Pod, &Node)]) -> bool {
    placed.iter().all(|(pod, on)| {
        let ours = shape.apart.iter().any(|term| means(term, &pod.shape) && same_place(&term.key, node, on));
        let theirs = pod.shape.apart.iter().any(|term| means(term, shape) && same_place(&term.key, node, on));
        !ours && !theirs
    })
}

fn may_be_spread(shape: &Shape, node: &Node, nodes: &[Node], placed: &[(&Pod, &Node)]) -> bool {
    let rules: Vec<&Spread> = shape.spread.iter().filter(|rule| rule.required).collect();
    rules.iter().all(|rule| {
        let Some(here) = node.labels.get(&rule.key) else { return false };
        let wanted =
            |node: &Node| shape.node_labels.iter().all(|(key, value)| node.labels.get(key) == Some(value));
        let counts = |node: &&Node| {
            rules.iter().all(|rule| node.labels.contains_key(&rule.key))
                && (!rule.honor_affinity || wanted(node))
        };
        let counted = |pod: &Pod| {
            let all = rule.selector == LabelSelector::All(Vec::new());
            !all && !pod.deleting
                && pod.shape.namespace == shape.namespace
                && rule.selector.picks(&pod.shape.labels)
        };
        let pods = |place: &Arc<str>| {
            let there =
                |(pod, on): &&(&Pod, &Node)| counts(on) && on.labels[&rule.key] == *place && counted(pod);
            placed.iter().filter(there).count() as i64
        };
        let places: BTreeSet<&Arc<str>> =
            nodes.iter().filter(counts).map(|node| &node.labels[&rule.key]).collect();
        let least = places.iter().map(|place| pods(place)).min().unwrap_or(0);
        let least = if (places.len() as i64) < i64::from(rule.min_domains) { 0 } else { least };
        let own = i64::from(rule.selector.picks(&shape.labels));
        pods(here) + own - least <= i64::from(rule.max_skew)
    })
}

fn check(around: &Around, shape: &Shape, nodes: &[Node], pods: &[Pod]) -> Result<(), TestCaseError> {
    let on =
        |pod: &Pod| nodes.iter().find(|node| Some(&node.name) == pod.node.as_ref()).expect("it is on a node");
    let placed: Vec<_> = pods.iter().map(|pod| (pod, on(pod))).collect();
    for node in nodes {
        let expected = may_be_spread(shape, node, nodes, &placed)
            && may_be_near(shape, node, &placed)
            && may_be_apart(shape, node, &placed);
        let state = cluster::nodes::NodeState { node: Some(Arc::new(node.clone())), ..Default::default() };
        let answer = around.check(&state);
        prop_assert_eq!(answer.is_ok(), expected, "{} {:?}", node.name, answer);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn what_is_counted_means_the_same_as_the_rules(ours in shape(), nodes in nodes(), first in pods(), later in pods()) {
        let first: Vec<Pod> = first.iter().enumerate().map(|(at, pod)| place(&nodes, at, pod)).collect();
        let later: Vec<Pod> = later.iter().enumerate().map(|(at, pod)| place(&nodes, 100 + at, pod)).collect();
        let mut all = Nodes::default();
        for node in &nodes {
            all.apply(node.clone());
        }
        for pod in &first {
            all.apply_pod(Arc::new(pod.clone()));
        }
        let shape = Arc::new(ours);
        let mut around = Around::new(&shape, &all, &namespaces(), &FilterSettings::default(), None);
        check(&around, &shape, &nodes, &first)?;
        let on = |pod: &Pod| nodes.iter().find(|node| Some(&node.name) == pod.node.as_ref()).expect("it is on a node");
        let both: Vec<Pod> = first.iter().chain(&later).cloned().collect();
        for pod in &later {
            around.add(pod, on(pod));
        }
        check(&around, &shape, &nodes, &both)?;
        for pod in &first {
            around.remove(pod, on(pod));
        }
        check(&around, &shape, &nodes, &later)?;
    }
}
