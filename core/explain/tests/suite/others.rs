//! Claims and pods that are placed, as they are told.

use std::sync::Arc;

use cluster::preparation::{Preparation, Progress};
use explain::{Audience, Effort, Subject, explain};
use model::device::DeviceId;
use model::timestamp::Timestamp;
use model::workload::WorkloadId;

use crate::cluster_of::{
    DRIVER, ask, claim, claim_id, claim_with, cluster, cluster_with_groups, group_id, node, on, pod, pod_id,
};
use crate::texts::check;

#[test]
fn the_first_line_is_the_message_of_the_condition() {
    let mut of_pod = cluster()
        .with_gpus(node("a", 8), 2)
        .user("infer", "a", &[0])
        .claim(claim("train", 2))
        .pod(pod("train").claims(&["train"]).0);
    let text = of_pod.text("train");
    assert_eq!(of_pod.conditions(), [text.lines().next().unwrap_or_default()]);
    let mut of_group = cluster_with_groups().with(node("a", 8)).group("ring", 2, &[]);
    for name in ["ring-0", "ring-1"] {
        of_group = of_group.pod(pod(name).of("ring").cpu(5).0);
    }
    let text = of_group.group_text("ring");
    let first = text.lines().next().unwrap_or_default();
    let conditions = of_group.conditions();
    assert!(conditions.iter().any(|told| told.contains(first)), "{first} is not in {conditions:?}");
}

#[test]
fn what_meets_its_bound_says_so() {
    let built = cluster()
        .with_gpus(node("a", 8), 4)
        .user("infer", "a", &[0, 1, 2])
        .claim(claim("train", 2))
        .pod(pod("train").claims(&["train"]).0);
    let subject = Subject::Pod(pod_id("train"));
    let told = |decisions_max| {
        let effort = Effort { decisions_max, ..Effort::default() };
        explain(&built.snapshot(), &subject, &Audience::AllNamespaces, effort).to_string()
    };
    let bound = "the search limit was reached";
    assert!(told(0).contains(bound) && told(0).lines().count() == 1);
    assert!(told(3).contains("constraints that conflict; the search limit was reached"));
    assert!(!told(200).contains(bound));
}

#[test]
fn nothing_is_told_of_namespaces_that_may_not_be_seen() {
    let built = cluster_with_groups()
        .with_gpus(node("a", 8), 1)
        .user("infer", "a", &[0])
        .group("ring", 2, &[])
        .pod(pod("ring-0").of("ring").0);
    let subjects = [
        Subject::Pod(pod_id("infer")),
        Subject::Claim(claim_id("infer")),
        Subject::Group(group_id("ring")),
        Subject::Workload(WorkloadId { namespace: "default".into(), name: "ring".into() }),
    ];
    for subject in subjects {
        let text =
            explain(&built.snapshot(), &subject, &Audience::of("other"), Effort::default()).to_string();
        assert!(text.lines().count() == 1 && text.contains("not"), "{text}");
    }
}

#[test]
fn a_claim_tells_its_devices_and_the_pods_that_use_it() {
    let cluster = cluster()
        .with_gpus(node("a", 8), 4)
        .user("train", "a", &[0, 2])
        .pod(pod("later").claims(&["train"]).cpu(16).0);
    check(
        &cluster.claim_text("train"),
        r#"
        claim default/train is allocated
          device gpu.example.com/a/gpu-0
          device gpu.example.com/a/gpu-2
          used by pod default/train
          used by pod default/later, not scheduled yet
        "#,
    );
}

#[test]
fn a_claim_without_devices_tells_what_it_waits_for() {
    let mut other = ask(1);
    other.class = "tpu".into();
    let cluster = cluster()
        .claim(claim("lonely", 1))
        .claim(claim("named", 1))
        .pod(pod("train").claims(&["named"]).0)
        .claim(claim_with("classless", vec![("tpus", other)]));
    check(
        &cluster.claim_text("lonely"),
        r#"
        claim default/lonely has no devices: no pod uses the claim
        "#,
    );
    check(
        &cluster.claim_text("named"),
        r#"
        claim default/named has no devices: they are allocated when a pod that uses the claim fits on a node
          used by pod default/train, not scheduled yet
        "#,
    );
    check(
        &cluster.claim_text("classless"),
        r#"
        claim default/classless has no devices: DeviceClass tpu does not exist
        "#,
    );
    check(
        &cluster.claim_text("missing"),
        r#"
        claim default/missing not found
        "#,
    );
}

#[test]
fn a_claim_whose_devices_are_made_ready_tells_until_when() {
    let device = DeviceId { driver: DRIVER.into(), pool: "a".into(), device: "gpu-0".into() };
    let progress =
        Progress { device, timeout_ms: Some(60_000), missing: vec!["attached".into()], failed: None };
    let since = Some(Timestamp::from_micros(990_000_000));
    let built = cluster().with_gpus(node("a", 8), 1).idle("train", "a", &[0]);
    let snapshot = built.snapshot();
    let known = snapshot.facts.claims.iter().find(|state| &*state.wish.id.name == "train");
    let mut state = known.expect("it was told").as_ref().clone();
    state.preparation = Some(Arc::new(Preparation { since, devices: vec![progress] }));
    check(
        &built.claim(state).claim_text("train"),
        r#"
        claim default/train waits until 1970-01-01T00:17:30Z for device gpu.example.com/a/gpu-0, which lacks conditions attached
          allocated since 1970-01-01T00:16:30Z
          device gpu.example.com/a/gpu-0
          no pod uses it
        "#,
    );
}

#[test]
fn a_pod_that_is_placed_tells_how_its_node_compares() {
    let cluster = cluster()
        .with(node("a", 8))
        .with(node("b", 8))
        .with(node("c", 2))
        .pod(on(pod("db").cpu(4).0, "b"))
        .pod(on(pod("web").cpu(3).0, "a"));
    check(
        &cluster.text("web"),
        r#"
        pod default/web is on node a; a new attempt would choose the same node

        scores of a new attempt, by plugin, before weights (2 candidates):
          a: 446 (TaintToleration 100, NodeResourcesFit 81, NodeResourcesBalancedAllocation 65, ImageLocality 0)
          b: 421 (TaintToleration 100, NodeResourcesFit 56, NodeResourcesBalancedAllocation 65, ImageLocality 0), 25 less
        "#,
    );
    check(
        &cluster.text("db"),
        r#"
        pod default/db is on node b; a new attempt would choose the same node

        scores of a new attempt, by plugin, before weights (2 candidates):
          b: 437 (TaintToleration 100, NodeResourcesFit 75, NodeResourcesBalancedAllocation 62, ImageLocality 0)
          a: 418 (TaintToleration 100, NodeResourcesFit 56, NodeResourcesBalancedAllocation 62, ImageLocality 0), 19 less
        "#,
    );
}
