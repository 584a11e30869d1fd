//! Claims that drivers' own controllers are to give devices, in simulations in which no driver answers.

use gates::{Gate, Gates};
use simulation::{Ending, needed_gates, read, simulate};

const CLUSTER: &str = "
{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {allocatable: {cpu: '4', memory: 4Gi, pods: '10'}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: lent}, spec: {controllerName: lender.example.com}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: lent}}]}}
---
";

fn ending(pods: &str) -> Ending {
    let manifests = read("test", &format!("{CLUSTER}{pods}")).expect("they can be read");
    let needed = needed_gates(&manifests);
    assert!(needed.contains_key(&Gate::DRAControlPlaneController), "the class would lose its controller");
    let (gates, _) = Gates::with_needed("", needed.into_keys()).expect("no setting is wrong");
    simulate(manifests, gates).expect("they are admitted")
}

fn pod(name: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{{spec} containers: [{{name: c, image: i}}]}}}}\n---\n"
    )
}

const CLAIM: &str = "resourceClaims: [{name: lent, resourceClaimName: c}],";

#[test]
fn a_pod_says_for_which_driver_it_waits() {
    let ending = ending(&pod("p", CLAIM));
    let reason = ending.outcome.pods[0].reason.as_deref();
    let expected = "waiting for resource driver lender.example.com to allocate claim lent for node node-1";
    assert_eq!(reason, Some(expected));
    assert!(ending.unheeded.is_empty(), "{:?}", ending.unheeded);
    assert!(ending.objects().iter().any(|object| object["kind"] == "PodSchedulingContext"));
}

#[test]
fn a_pod_that_was_bound_by_hand_and_waits_for_a_driver_holds_up_nobody() {
    let pods = [pod("by-hand", &format!("nodeName: node-1, {CLAIM}")), pod("other", "")].concat();
    let outcome = ending(&pods).outcome;
    assert_eq!(outcome.pods[1].node.as_deref(), Some("node-1"), "{outcome:?}");
}

#[test]
fn a_pod_that_is_to_go_is_not_placed() {
    let leaving = "{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}]}, metadata: \
                   {name: p, finalizers: [a.example.com/b], deletionTimestamp: '2026-01-02T03:04:05Z'}}";
    let ending = ending(leaving);
    let there =
        ending.objects().into_iter().find(|object| object["kind"] == "Pod").expect("it is still there");
    assert_eq!(there["metadata"]["deletionTimestamp"], "2026-01-02T03:04:05Z");
    assert_eq!(ending.outcome.pods[0].node, None);
}

#[test]
fn a_pod_that_is_displaced_has_its_devices_asked_back() {
    let claim = |name: &str, owners: &str| {
        format!(
            "{{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {{name: {name}, {owners} \
             finalizers: [lender.example.com/deletion-protection]}}, spec: {{devices: {{requests: [{{name: r, \
             exactly: {{deviceClassName: lent}}}}]}}}}, status: {{controllerName: lender.example.com, \
             allocation: {{devices: {{}}}}, reservedFor: [{{resource: pods, name: victim, uid: victim}}]}}}}\n---\n"
        )
    };
    let owners =
        "ownerReferences: [{apiVersion: v1, kind: Pod, name: victim, uid: victim, controller: true}],";
    let requests = "containers: [{name: c, image: i, resources: {requests: {cpu: '3'}}}]";
    let victim = format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: victim, uid: victim}}, spec: {{nodeName: node-1, {requests}}}}}"
    );
    let urgent = format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: urgent}}, spec: {{priorityClassName: system-cluster-critical, \
         {requests}}}}}"
    );
    let ending = ending(&format!("{}{}{victim}\n---\n{urgent}", claim("named", ""), claim("made", owners)));
    let claim = |name: &str| {
        let found = ending.objects().into_iter().find(|object| object["metadata"]["name"] == name);
        found.expect("its driver has not taken its devices back").clone()
    };
    let (named, made) = (claim("named"), claim("made"));
    assert_eq!(named["status"]["deallocationRequested"], true, "{named}");
    assert!(made["metadata"]["deletionTimestamp"].is_string(), "{made}");
    for one in [named, made] {
        assert!(one["status"]["allocation"].is_object() && one["status"]["reservedFor"].is_null(), "{one}");
    }
}
