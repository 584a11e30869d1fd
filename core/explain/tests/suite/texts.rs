//! Explanations of typical cases, as they are read.

use explain::Audience;
use model::pod::HostPort;

use crate::cluster_of::{HOST, ask, claim, claim_with, cluster, gpu, labelled, node, on, pod, tainted};

/// Compares a text with what is expected, both without the margin.
#[track_caller]
pub fn check(text: &str, expected: &str) {
    let lines: Vec<&str> = expected.trim_matches('\n').lines().collect();
    let margin = lines.iter().filter(|line| !line.trim().is_empty());
    let margin = margin.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let expected: Vec<&str> = lines.iter().map(|line| line.get(margin..).unwrap_or("")).collect();
    let expected = expected.join("\n");
    assert!(text.trim_end() == expected.trim_end(), "it says\n{text}\nand not\n{expected}");
}

#[test]
fn a_pod_that_needs_more_cpu_than_is_free() {
    let cluster = cluster()
        .with(node("a", 8))
        .with(node("b", 8))
        .pod(on(pod("web").cpu(6).0, "a"))
        .pod(on(pod("db").cpu(7).0, "b"))
        .pod(pod("train").cpu(4).0);
    check(
        &cluster.text("train"),
        r#"
        0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.
        pod default/train waits: InsufficientCpu

        nodes:
          2 nodes [InsufficientCpu]: a, b
            a: the pod requests 4 cpu, 2 of 8 are free

        nearest is node a: the pod requests 4 cpu, 2 of 8 are free
          in use there by pod default/web

        smallest set of constraints that conflict:
          - the pod's request for cpu [ResourceRequest]

        each of these changes alone would help, as trials have shown:
          - the pod requests 2 cpu: the pod fits on node a
          - pod default/web on node a ends: the pod fits on node a
          - pod default/db on node b ends: the pod fits on node b
          - the pod has priority 1: the pod fits on node a by preemption of pod default/web
          - a node like a is added: the pod fits on node a-new-1
        "#,
    );
}

#[test]
fn a_pod_that_no_node_is_large_enough_for() {
    let cluster = cluster().with(node("a", 8)).with(node("b", 4)).pod(pod("train").cpu(16).0);
    check(
        &cluster.text("train"),
        r#"
        0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.
        pod default/train waits: InsufficientCpu

        nodes:
          2 nodes [InsufficientCpu]: a, b
            a: the pod requests 16 cpu, 8 of 8 are free

        nearest is node a: the pod requests 16 cpu, 8 of 8 are free

        smallest set of constraints that conflict:
          - the pod's request for cpu [ResourceRequest]

        each of these changes alone would help, as trials have shown:
          - the pod requests 8 cpu: the pod fits on node a
        "#,
    );
}

#[test]
fn a_claim_for_which_devices_are_held_by_others() {
    let cluster = cluster()
        .with_gpus(node("a", 8), 4)
        .with_gpus(tainted(node("b", 8), "maintenance"), 4)
        .with(node("c", 8))
        .user("infer", "a", &[0, 1, 2])
        .claim(claim("train", 2))
        .pod(pod("train").claims(&["train"]).0);
    check(
        &cluster.text("train"),
        r#"
        0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 cannot allocate all claims. On node a, claim default/train, request gpus: wants 2 devices of class gpu, can have 1: 4 published for the node, 1 not held by other claims; held: gpu.example.com/a/gpu-0 by default/infer, gpu.example.com/a/gpu-1 by default/infer, gpu.example.com/a/gpu-2 by default/infer. preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.
        pod default/train waits: InsufficientDevices, UntoleratedTaint

        nodes:
          2 nodes [InsufficientDevices]: a, c
            a: claim default/train, request gpus: wants 2 devices of class gpu, can have 1
              4 published for the node
              1 not held by other claims
              gpu.example.com/a/gpu-0, gpu.example.com/a/gpu-1, gpu.example.com/a/gpu-2: held by claim default/infer of pod default/infer
          1 node [UntoleratedTaint]: b
            the pod does not tolerate taint maintenance:NoSchedule

        nearest is node a: 1 of 2 devices for request gpus of claim default/train

        smallest set of constraints that conflict:
          - taint maintenance:NoSchedule, which the pod does not tolerate [NodeTaint]
          - 2 devices for request gpus of claim default/train [DeviceCount]
          - devices that are allocated already [HeldDevices]

        each of these changes alone would help, as trials have shown:
          - taint maintenance:NoSchedule is removed from node b: the pod fits on node b
          - request gpus of claim default/train asks for 1 device: the pod fits on node a
          - pod default/infer on node a ends: the pod fits on node a
          - the pod tolerates taint maintenance:NoSchedule: the pod fits on node b
          - the pod has priority 1: the pod fits on node a by preemption of pod default/infer
        "#,
    );
}

#[test]
fn holders_in_other_namespaces_are_counted_and_not_named() {
    let cluster = cluster()
        .with_gpus(node("a", 8), 2)
        .user_in("secret", "infer", "a", &[0, 1])
        .claim(claim("train", 2))
        .pod(pod("train").claims(&["train"]).0);
    let text = cluster.text_for("train", &Audience::of("default"));
    assert!(!text.contains("secret") && !text.contains("infer"), "{text}");
    check(
        &text,
        r#"
        0/1 nodes are available: 1 cannot allocate all claims. On node a, claim default/train, request gpus: wants 2 devices of class gpu, can have 0: 2 published for the node, 0 not held by other claims; held: 2 by claims in other namespaces. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
        pod default/train waits: InsufficientDevices

        nodes:
          1 node [InsufficientDevices]: a
            claim default/train, request gpus: wants 2 devices of class gpu, can have 0
              2 published for the node
              0 not held by other claims
              2 devices held by claims in other namespaces

        nearest is node a: 0 of 2 devices for request gpus of claim default/train

        smallest set of constraints that conflict:
          - 2 devices for request gpus of claim default/train [DeviceCount]
          - devices that are allocated already [HeldDevices]

        each of these changes alone would help, as trials have shown:
          - a pod in another namespace on node a ends: the pod fits on node a
          - the pod has priority 1: the pod fits on node a by preemption of a pod in another namespace
          - node a has 2 more devices like gpu.example.com/a/gpu-0: the pod fits on node a
          - a node like a is added: the pod fits on node a-new-1
        "#,
    );
}

#[test]
fn a_claim_that_no_pod_uses_holds_the_devices() {
    let cluster = cluster()
        .with_gpus(node("a", 8), 2)
        .idle("forgotten", "a", &[0])
        .claim(claim("train", 2))
        .pod(pod("train").claims(&["train"]).0);
    check(
        &cluster.text("train"),
        r#"
        0/1 nodes are available: 1 cannot allocate all claims. On node a, claim default/train, request gpus: wants 2 devices of class gpu, can have 1: 2 published for the node, 1 not held by other claims; held: gpu.example.com/a/gpu-0 by default/forgotten. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
        pod default/train waits: InsufficientDevices

        nodes:
          1 node [InsufficientDevices]: a
            claim default/train, request gpus: wants 2 devices of class gpu, can have 1
              2 published for the node
              1 not held by other claims
              gpu.example.com/a/gpu-0: held by claim default/forgotten, which no pod uses

        nearest is node a: 1 of 2 devices for request gpus of claim default/train

        smallest set of constraints that conflict:
          - 2 devices for request gpus of claim default/train [DeviceCount]
          - devices that are allocated already [HeldDevices]

        each of these changes alone would help, as trials have shown:
          - claim default/forgotten, which no pod uses, is deallocated: the pod fits on node a
          - request gpus of claim default/train asks for 1 device: the pod fits on node a
          - node a has 1 more device like gpu.example.com/a/gpu-0: the pod fits on node a
          - a node like a is added: the pod fits on node a-new-1
        "#,
    );
}

#[test]
fn a_selector_that_leaves_too_few_devices() {
    let mut large = ask(2);
    large.selectors = vec![Some("device.attributes[\"gpu.example.com\"].model == \"large\"".into())];
    let cards = |models: &[&str]| {
        models.iter().enumerate().map(|(number, model)| gpu(number, &[("model", model)])).collect()
    };
    let cluster = cluster()
        .with_devices(node("a", 8), cards(&["large", "small", "small"]))
        .with_devices(node("b", 8), cards(&["small", "small"]))
        .claim(claim_with("train", vec![("gpus", large)]))
        .pod(pod("train").claims(&["train"]).0);
    check(
        &cluster.text("train"),
        r#"
        0/2 nodes are available: 2 cannot allocate all claims. On node a, claim default/train, request gpus: wants 2 devices of class gpu, can have 1: 3 published for the node, 1 picked by selector 0. preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.
        pod default/train waits: InsufficientDevices

        nodes:
          2 nodes [InsufficientDevices]: a, b
            a: claim default/train, request gpus: wants 2 devices of class gpu, can have 1
              3 published for the node
              1 picked by selector 0

        nearest is node a: 1 of 2 devices for request gpus of claim default/train

        smallest set of constraints that conflict:
          - 2 devices for request gpus of claim default/train [DeviceCount]
          - selector 0 of request gpus of claim default/train [DeviceSelector]

        each of these changes alone would help, as trials have shown:
          - request gpus of claim default/train asks for 1 device: the pod fits on node a
          - without selector 0 of request gpus of claim default/train: the pod fits on node a
          - node a has 1 more device like gpu.example.com/a/gpu-0: the pod fits on node a
        "#,
    );
}

#[test]
fn a_node_selector_that_no_free_node_matches() {
    let cluster = cluster()
        .with(labelled(node("a", 8), "disk", "ssd"))
        .with(node("b", 8))
        .pod(on(pod("db").cpu(6).0, "a"))
        .pod(pod("train").cpu(4).selects("disk", "ssd").0);
    check(
        &cluster.text("train"),
        r#"
        0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector. preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.
        pod default/train waits: InsufficientCpu, NodeAffinityMismatch

        nodes:
          1 node [NodeAffinityMismatch]: b
            the node does not match the pod's node selector or node affinity
          1 node [InsufficientCpu]: a
            the pod requests 4 cpu, 2 of 8 are free

        nearest is node b: the node does not match the pod's node selector or node affinity

        smallest set of constraints that conflict:
          - the pod's node selector [NodeSelector]
          - the pod's request for cpu [ResourceRequest]

        each of these changes alone would help, as trials have shown:
          - the pod requests 2 cpu: the pod fits on node a
          - pod default/db on node a ends: the pod fits on node a
          - without the pod's node selector: the pod fits on node b
          - the pod has priority 1: the pod fits on node a by preemption of pod default/db
        "#,
    );
}

#[test]
fn a_cluster_of_which_all_nodes_are_cordoned_or_tainted() {
    let mut cordoned = node("a", 8);
    cordoned.unschedulable = true;
    let cluster = cluster().with(cordoned).with(tainted(node("b", 8), "dedicated")).pod(pod("web").cpu(1).0);
    check(
        &cluster.text("web"),
        r#"
        0/2 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.
        pod default/web waits: NodeUnschedulable, UntoleratedTaint

        nodes:
          1 node [NodeUnschedulable]: a
            the node is cordoned
          1 node [UntoleratedTaint]: b
            the pod does not tolerate taint dedicated:NoSchedule

        nearest is node a: the node is cordoned

        smallest set of constraints that conflict:
          - taint dedicated:NoSchedule, which the pod does not tolerate [NodeTaint]
          - nodes that are cordoned [NodeUnschedulable]

        each of these changes alone would help, as trials have shown:
          - node a is uncordoned: the pod fits on node a
          - taint dedicated:NoSchedule is removed from node b: the pod fits on node b
          - the pod tolerates taint dedicated:NoSchedule: the pod fits on node b
        "#,
    );
}

#[test]
fn a_host_port_that_is_in_use_everywhere() {
    let port = || HostPort { address: "0.0.0.0".into(), protocol: "TCP".into(), port: 80 };
    let with_port = |name: &str| pod(name).shape(|shape| shape.ports.push(port()));
    let cluster = cluster()
        .with(node("a", 8))
        .with(node("b", 8))
        .pod(on(with_port("one").0, "a"))
        .pod(on(with_port("other").0, "b"))
        .pod(with_port("third").0);
    check(
        &cluster.text("third"),
        r#"
        0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports. preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.
        pod default/third waits: HostPortTaken

        nodes:
          2 nodes [HostPortTaken]: a, b
            a: host port 80/TCP is in use

        nearest is node a: host port 80/TCP is in use
          in use there by pod default/one

        smallest set of constraints that conflict:
          - host port 80/TCP [HostPort]

        each of these changes alone would help, as trials have shown:
          - pod default/one on node a ends: the pod fits on node a
          - pod default/other on node b ends: the pod fits on node b
          - without host port 80/TCP: the pod fits on node a
          - the pod has priority 1: the pod fits on node a by preemption of pod default/one
          - a node like a is added: the pod fits on node a-new-1
        "#,
    );
}

#[test]
fn anti_affinity_leaves_no_node() {
    let web = |name: &str| pod(name).labels("app", "web").apart("app", "web", HOST);
    let cluster = cluster()
        .with(node("a", 8))
        .with(node("b", 8))
        .pod(on(web("web-0").0, "a"))
        .pod(on(web("web-1").0, "b"))
        .pod(web("web-2").0);
    check(
        &cluster.text("web-2"),
        r#"
        0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.
        pod default/web-2 waits: PodAntiAffinityMismatch

        nodes:
          2 nodes [PodAntiAffinityMismatch]: a, b
            a: the pod's anti-affinity excludes a pod in the same kubernetes.io/hostname

        nearest is node a: the pod's anti-affinity excludes a pod in the same kubernetes.io/hostname

        smallest set of constraints that conflict:
          - the pod's required pod anti-affinity (topologyKey kubernetes.io/hostname) [PodAntiAffinity]

        each of these changes alone would help, as trials have shown:
          - pod default/web-0 on node a ends: the pod fits on node a
          - pod default/web-1 on node b ends: the pod fits on node b
          - the pod has priority 1: the pod fits on node a by preemption of pod default/web-0
          - a node like a is added: the pod fits on node a-new-1
        "#,
    );
}

#[test]
fn pods_that_are_less_important_are_preempted() {
    let cluster = cluster()
        .with(node("a", 8))
        .pod(on(pod("batch").cpu(6).0, "a"))
        .pod(pod("web").cpu(4).priority(100).0);
    check(
        &cluster.text("web"),
        r#"
        0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node a, preempting 1 victims
        pod default/web waits: InsufficientCpu
        preempted for it: pod default/batch

        nodes:
          1 node [InsufficientCpu]: a
            the pod requests 4 cpu, 2 of 8 are free

        nearest is node a: the pod requests 4 cpu, 2 of 8 are free
          in use there by pod default/batch
        "#,
    );
}

#[test]
fn two_things_are_missing_on_each_node() {
    let cluster = cluster()
        .with(tainted(node("a", 8), "dedicated"))
        .pod(on(pod("db").cpu(6).0, "a"))
        .pod(pod("web").cpu(4).0);
    check(
        &cluster.text("web"),
        r#"
        0/1 nodes are available: 1 node(s) had untolerated taint(s). preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.
        pod default/web waits: UntoleratedTaint

        nodes:
          1 node [UntoleratedTaint, InsufficientCpu]: a
            the pod does not tolerate taint dedicated:NoSchedule
            the pod requests 4 cpu, 2 of 8 are free

        nearest is node a: the pod does not tolerate taint dedicated:NoSchedule, the pod requests 4 cpu, 2 of 8 are free
          in use there by pod default/db

        smallest set of constraints that conflict:
          - the pod's request for cpu [ResourceRequest]

        each of these changes alone would help, as trials have shown:
          - taint dedicated:NoSchedule is removed from node a, and the pod requests 2 cpu: the pod fits on node a
          - taint dedicated:NoSchedule is removed from node a, and pod default/db on node a ends: the pod fits on node a
          - the pod requests 2 cpu, and the pod tolerates taint dedicated:NoSchedule: the pod fits on node a
        "#,
    );
}

#[test]
fn a_cluster_without_nodes() {
    let cluster = cluster().pod(pod("web").0);
    check(
        &cluster.text("web"),
        r#"
        no nodes available to schedule pods
        pod default/web waits

        the pod would fit on no node without any constraint
        "#,
    );
}

#[test]
fn a_claim_that_does_not_exist() {
    let cluster = cluster().with(node("a", 8)).pod(pod("web").claims(&["missing"]).0);
    check(
        &cluster.text("web"),
        r#"
        resourceclaim "missing" not found; hint: create ResourceClaim default/missing
        pod default/web waits: WaitingForClaim
        "#,
    );
}

#[test]
fn a_claim_whose_devices_are_on_a_full_node() {
    let mut shared = claim("data", 1);
    shared.allocation = None;
    let cluster = cluster()
        .with_gpus(node("a", 8), 2)
        .with_gpus(node("b", 8), 2)
        .idle("data", "a", &[0])
        .pod(on(pod("db").cpu(8).0, "a"))
        .pod(pod("web").cpu(1).claims(&["data"]).0);
    check(
        &cluster.text("web"),
        r#"
        0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node. Claim default/data, which no pod uses, holds its devices until it is deallocated.
        pod default/web waits: ClaimNotUsableOnNode, InsufficientCpu

        nodes:
          1 node [InsufficientCpu]: a
            the pod requests 1 cpu, 0 of 8 are free
          1 node [ClaimNotUsableOnNode]: b
            resourceclaim not available on the node

        nearest is node b: resourceclaim not available on the node
        "#,
    );
}

#[test]
fn a_pod_that_fits_says_so() {
    let cluster = cluster().with(node("a", 8)).pod(pod("web").cpu(1).0);
    check(
        &cluster.text("web"),
        r#"
        pod default/web fits on node a; it is queued to be scheduled
        "#,
    );
    check(
        &cluster.text("other"),
        r#"
        pod default/other not found
        "#,
    );
}

#[test]
fn a_pod_that_was_bound_by_hand_waits_for_devices_on_its_node() {
    let cluster = cluster()
        .with_gpus(node("a", 8), 1)
        .with_gpus(node("b", 8), 4)
        .claim(claim("train", 2))
        .pod(on(pod("train").claims(&["train"]).0, "a"));
    check(
        &cluster.text("train"),
        r#"
        bound to node a without devices for its claims: cannot allocate all claims. On node a, claim default/train, request gpus: wants 2 devices of class gpu, can have 1: 1 published for the node.
        pod default/train waits: InsufficientDevices

        smallest set of constraints that conflict:
          - 2 devices for request gpus of claim default/train [DeviceCount]
        "#,
    );
}
