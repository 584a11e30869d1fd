//! Pods: every field that placement cares about arrives, and pods that are alike have equal shapes.

use convert::{ConvertError, pod};
use model::node::{NodeSelector, NodeTerm, Operator, Requirement};
use model::pod::{
    ClaimSource, HostPort, LabelSelector, NodeToleration, Pod, PodTerm, Shape, Spread, TolerationOperator,
};
use serde_json::{Value, json};

fn read(object: Value) -> Pod {
    pod(&serde_json::from_value(object).expect("a pod")).expect("it has a name")
}

fn with_spec(spec: &Value) -> Pod {
    let labels = json!({ "app": "web", "hash": "h1" });
    read(
        json!({ "metadata": { "name": "p", "namespace": "ns", "uid": "u", "labels": labels }, "spec": spec }),
    )
}

fn shape(spec: &Value) -> Shape {
    (*with_spec(spec).shape).clone()
}

fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
    Requirement { key: key.into(), operator, values: values.iter().map(|value| (*value).into()).collect() }
}

#[test]
fn what_is_the_pods_own_arrives() {
    let pod = read(json!({
        "metadata": {
            "name": "p", "namespace": "ns", "uid": "u",
            "creationTimestamp": "1970-01-01T00:00:01Z", "deletionTimestamp": "1970-01-01T00:00:09Z",
        },
        "spec": {
            "schedulerName": "supercargo", "nodeName": "a", "priority": 7, "preemptionPolicy": "Never",
            "schedulingGates": [{ "name": "quota" }], "schedulingGroup": { "podGroupName": "gang" },
        },
        "status": { "phase": "Failed", "nominatedNodeName": "b", "startTime": "1970-01-01T00:00:02Z" },
    }));
    assert_eq!((pod.id.to_string().as_str(), &*pod.uid, &*pod.scheduler), ("ns/p", "u", "supercargo"));
    assert_eq!((pod.node.as_deref(), pod.nominated_node.as_deref()), (Some("a"), Some("b")));
    assert_eq!((pod.finished, pod.deleting, pod.priority, pod.preempts), (true, true, 7, false));
    assert_eq!(pod.created.map(model::timestamp::Timestamp::micros), Some(1_000_000));
    assert_eq!(pod.started.map(model::timestamp::Timestamp::micros), Some(2_000_000));
    assert_eq!((&*pod.gates, &pod.group), (&["quota".into()][..], &Some("gang".into())));
}

#[test]
fn a_pod_that_says_little_may_preempt_and_runs_nowhere() {
    let pod = with_spec(&json!({}));
    assert_eq!((pod.priority, pod.preempts, pod.finished, pod.deleting), (0, true, false, false));
    assert_eq!((pod.node, pod.nominated_node, pod.group), (None, None, None));
}

#[test]
fn a_pod_needs_a_name_and_a_uid() {
    let error = |meta: Value| match pod(&serde_json::from_value(json!({ "metadata": meta })).expect("a pod"))
    {
        Err(ConvertError::Unnamed { field, .. }) => field,
        other => panic!("{other:?}"),
    };
    assert_eq!(error(json!({ "uid": "u" })), "metadata.name");
    assert_eq!(error(json!({ "name": "p" })), "metadata.uid");
}

#[test]
fn claims_are_found_by_name_or_by_what_was_made() {
    let template = |name: &str| json!({ "name": name, "resourceClaimTemplateName": "t" });
    let pod = read(json!({
        "metadata": { "name": "p", "namespace": "ns", "uid": "u" },
        "spec": { "resourceClaims": [
            { "name": "named", "resourceClaimName": "c" },
            template("made"), template("unneeded"), template("later"), { "name": "odd" },
        ] },
        "status": { "resourceClaimStatuses": [
            { "name": "made", "resourceClaimName": "p-made-x" }, { "name": "unneeded" },
        ] },
    }));
    let sources: Vec<_> = pod.claims.into_iter().map(|claim| claim.source).collect();
    let expected = [
        ClaimSource::Named("c".into()),
        ClaimSource::Generated("p-made-x".into()),
        ClaimSource::NotNeeded,
        ClaimSource::ToBeGenerated { template: "t".into() },
        ClaimSource::Unknown,
    ];
    assert_eq!(sources, expected);
}

#[test]
fn nodes_are_picked_by_labels_terms_and_wishes() {
    let term = json!({
        "matchExpressions": [{ "key": "rack", "operator": "In", "values": ["r1"] }],
        "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["a"] }],
    });
    let shape = shape(&json!({
        "nodeSelector": { "disk": "ssd" },
        "affinity": { "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [term] },
            "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 5, "preference": term }],
        } },
        "tolerations": [
            { "key": "k", "value": "v", "effect": "NoSchedule" },
            { "operator": "Exists" },
            { "key": "n", "operator": "Gt", "value": "5" },
        ],
    }));
    let term = NodeTerm {
        fields: vec![requirement("metadata.name", Operator::In, &["a"])],
        labels: vec![requirement("rack", Operator::In, &["r1"])],
    };
    assert_eq!(shape.node_labels, [("disk".into(), "ssd".into())].into());
    assert_eq!(shape.node_affinity, Some(NodeSelector { terms: vec![term.clone()] }));
    assert_eq!(shape.preferred_nodes, [(5, term)]);
    let toleration = |key: &str, operator, value: &str, effect: &str| NodeToleration {
        key: key.into(),
        operator,
        value: value.into(),
        effect: effect.into(),
    };
    let expected = [
        toleration("k", TolerationOperator::Equal, "v", "NoSchedule"),
        toleration("", TolerationOperator::Exists, "", ""),
        toleration("n", TolerationOperator::Gt, "5", ""),
    ];
    assert_eq!(shape.tolerations, expected);
}

#[test]
fn ports_are_those_that_are_taken_while_the_pod_runs() {
    let port = |port: i32| json!({ "ports": [{ "containerPort": 1, "hostPort": port }] });
    let mut staying = port(3);
    staying["restartPolicy"] = json!("Always");
    let mut full = port(4);
    full["ports"][0]["hostIP"] = json!("10.0.0.1");
    full["ports"][0]["protocol"] = json!("UDP");
    let shape = shape(&json!({ "initContainers": [port(2), staying], "containers": [full, port(0)] }));
    let port = |address: &str, protocol: &str, port| HostPort {
        address: address.into(),
        protocol: protocol.into(),
        port,
    };
    assert_eq!(shape.ports, [port("0.0.0.0", "TCP", 3), port("10.0.0.1", "UDP", 4)]);
}

#[test]
fn spreading_counts_nodes_that_affinity_allows_unless_told_otherwise() {
    let shape = shape(&json!({ "topologySpreadConstraints": [
        {
            "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": { "matchLabels": { "app": "web" } }, "matchLabelKeys": ["hash", "none"],
        },
        {
            "maxSkew": 2, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 3,
            "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor",
        },
    ] }));
    let own = |key, value| requirement(key, Operator::In, &[value]);
    let expected = [
        Spread {
            max_skew: 1,
            key: "zone".into(),
            required: true,
            selector: LabelSelector::All(vec![own("app", "web"), own("hash", "h1")]),
            min_domains: 1,
            honor_affinity: true,
            honor_taints: false,
        },
        Spread {
            max_skew: 2,
            key: "host".into(),
            required: false,
            selector: LabelSelector::Nothing,
            min_domains: 3,
            honor_affinity: false,
            honor_taints: true,
        },
    ];
    assert_eq!(shape.spread, expected);
}

#[test]
fn terms_about_pods_mean_the_pods_own_namespace_unless_they_say() {
    let selector = json!({ "matchLabels": { "app": "web" } });
    let term = |more: Value| {
        let mut term = json!({ "topologyKey": "zone", "labelSelector": selector });
        term.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
        term
    };
    let shape = shape(&json!({ "affinity": {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                term(json!({})),
                term(json!({ "namespaces": ["b", "a", "b"], "namespaceSelector": {} })),
                term(json!({ "namespaceSelector": { "matchLabels": { "team": "x" } } })),
            ],
            "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 3, "podAffinityTerm": term(json!({})) }],
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                term(json!({ "matchLabelKeys": ["hash"], "mismatchLabelKeys": ["app"] })),
            ],
            "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 4, "podAffinityTerm": term(json!({})) }],
        },
    } }));
    let web = requirement("app", Operator::In, &["web"]);
    let plain = PodTerm {
        selector: LabelSelector::All(vec![web.clone()]),
        namespaces: vec!["ns".into()],
        namespace_selector: None,
        key: "zone".into(),
    };
    let everywhere = PodTerm {
        namespaces: vec!["a".into(), "b".into()],
        namespace_selector: Some(LabelSelector::All(Vec::new())),
        ..plain.clone()
    };
    let team = LabelSelector::All(vec![requirement("team", Operator::In, &["x"])]);
    let by_label = PodTerm { namespaces: Vec::new(), namespace_selector: Some(team), ..plain.clone() };
    assert_eq!(shape.near, [plain.clone(), everywhere, by_label]);
    let hash = requirement("hash", Operator::In, &["h1"]);
    let other_app = requirement("app", Operator::NotIn, &["web"]);
    let apart = PodTerm { selector: LabelSelector::All(vec![web, hash, other_app]), ..plain.clone() };
    assert_eq!(shape.apart, [apart]);
    assert_eq!(shape.preferred_pods, [(3, plain.clone()), (-4, plain)]);
}

#[test]
fn images_have_a_tag_and_volumes_their_claims() {
    let shape = shape(&json!({
        "initContainers": [{ "image": "host:5000/a" }],
        "containers": [{ "image": "b:1" }, { "image": "c" }],
        "volumes": [
            { "name": "data", "persistentVolumeClaim": { "claimName": "disk" } },
            { "name": "tmp", "ephemeral": { "volumeClaimTemplate": {} } },
            { "name": "model", "image": { "reference": "m@sha256:2" } },
            { "name": "none", "emptyDir": {} },
        ],
    }));
    let texts = |texts: &[std::sync::Arc<str>]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
    assert_eq!(texts(&shape.images), ["host:5000/a:latest", "b:1", "c:latest", "m@sha256:2"]);
    assert_eq!(texts(&shape.volume_claims), ["disk", "p-tmp"]);
    let own: Vec<_> = shape.own_volume_claims.iter().map(|own| (&*own.claim, &*own.pod)).collect();
    assert_eq!(own, [("p-tmp", "p")]);
    assert_eq!(shape.containers, 3);
}

#[test]
fn pods_of_one_template_have_equal_shapes() {
    let make = |name: &str| {
        let meta = json!({ "name": name, "namespace": "ns", "uid": name, "labels": { "app": "web" } });
        let resources = json!({ "requests": { "cpu": if name == "a" { "1" } else { "1000m" } } });
        read(
            json!({ "metadata": meta, "spec": { "containers": [{ "image": "i", "resources": resources }] } }),
        )
    };
    assert_eq!(make("a").shape, make("b").shape);
    assert_ne!(make("a").id, make("b").id);
}
