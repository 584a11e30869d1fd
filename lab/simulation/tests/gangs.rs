//! Pod groups, and where their members go.

use gates::Gates;
use simulation::{Outcome, needed_gates, read, simulate};

const PREEMPTION: &str = include_str!("../../../examples/gang/preemption.yaml");
const WHOLE_AND_HALF: &str = include_str!("../../../examples/gang/whole-and-half.yaml");

fn outcome(manifests: &str) -> Outcome {
    let manifests = read("test", manifests).expect("they can be read");
    let needed = needed_gates(&manifests);
    let (gates, _) = Gates::with_needed("", needed.into_keys()).expect("no setting is wrong");
    simulate(manifests, gates).expect("they are admitted").outcome
}

#[test]
fn members_with_whole_and_half_gpus_share_hardware_that_just_suffices() {
    let outcome = outcome(WHOLE_AND_HALF);
    assert_eq!(outcome.pending(), 0, "{outcome:?}");
    let nodes: Vec<&str> = outcome.pods.iter().filter_map(|pod| pod.node.as_deref()).collect();
    assert!(nodes.iter().all(|node| ["node-1", "node-2"].contains(node)), "one rack has them all: {nodes:?}");
}

#[test]
fn a_gang_that_needs_half_a_gpu_more_than_there_is_waits_as_a_whole() {
    let one_more = WHOLE_AND_HALF.replace("minCount: 4", "minCount: 5");
    let (_, last) = WHOLE_AND_HALF.rsplit_once("---\n").expect("there are several documents");
    let last = last.replace("whole-b", "half-c").replace("TemplateName: whole", "TemplateName: half");
    let outcome = outcome(&format!("{one_more}---\n{last}"));
    assert_eq!(outcome.pending(), 5, "{outcome:?}");
    assert!(outcome.claims.iter().all(|claim| claim.devices.is_empty()), "nobody holds anything");
    let reason = outcome.pods[0].reason.as_deref().unwrap_or_default();
    assert!(
        reason.contains(
            "rack-1 comes closest: 4 of 5 fit, insufficient gpu.example.com/memory: 140Gi needed, 120Gi free"
        ),
        "{reason}"
    );
}

#[test]
fn a_gang_displaces_a_group_as_a_whole_and_everybody_is_told_why() {
    let outcome = outcome(PREEMPTION);
    let node = |name: &str| {
        let pod = outcome.pods.iter().find(|pod| pod.name == name).expect("it is told of every pod");
        (pod.node.as_deref(), pod.reason.as_deref())
    };
    for name in ["training-0", "training-1"] {
        assert!([Some("node-1"), Some("node-2")].contains(&node(name).0), "{name}: {:?}", node(name));
    }
    for (name, place) in [("aside", "node-2"), ("web-0", "node-3"), ("web-1", "node-4")] {
        assert_eq!(node(name).0, Some(place), "{name} stays");
    }
    let why = "it was preempted by pod group default/training, which goes to rack-1";
    assert_eq!((node("nightly-0"), node("nightly-1")), ((None, Some(why)), (None, Some(why))));
}

/// A pair of pods, each with a volume claim of a class whose volumes are made by hand, and so many volumes on two nodes.
fn pair_with_volumes(count: usize) -> String {
    let mut all = "\
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: pair}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}
"
    .to_owned();
    for at in 0..2 {
        all += &format!(
            "\
---
{{apiVersion: v1, kind: Node, metadata: {{name: node-{at}, labels: {{host: node-{at}}}}}, status: {{allocatable: {{cpu: '2', memory: 4Gi, pods: '9'}}}}}}
---
{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: disk-{at}}}, spec: {{storageClassName: local, accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}}}
---
{{apiVersion: v1, kind: Pod, metadata: {{name: pod-{at}}}, spec: {{schedulingGroup: {{podGroupName: pair}}, volumes: [{{name: v, persistentVolumeClaim: {{claimName: disk-{at}}}}}], containers: [{{name: c, image: i}}]}}}}
"
        );
    }
    for at in 0..count {
        all += &format!(
            "\
---
{{apiVersion: v1, kind: PersistentVolume, metadata: {{name: pv-{at}}}, spec: {{capacity: {{storage: 1Gi}}, storageClassName: local, accessModes: [ReadWriteOnce], local: {{path: /disk}}, nodeAffinity: {{required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: host, operator: In, values: [node-{at}]}}]}}]}}}}}}}}
"
        );
    }
    all
}

#[test]
fn a_gang_gets_its_volumes_together_or_not_at_all() {
    let one = outcome(&pair_with_volumes(1));
    assert_eq!(one.pending(), 2, "{one:?}");
    let reason = one.pods[0].reason.as_deref().unwrap_or_default();
    assert!(reason.contains("didn't find available persistent volumes to bind"), "{reason}");
    let two = outcome(&pair_with_volumes(2));
    let mut nodes: Vec<&str> = two.pods.iter().filter_map(|pod| pod.node.as_deref()).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["node-0", "node-1"], "each is where its volume is: {two:?}");
}
