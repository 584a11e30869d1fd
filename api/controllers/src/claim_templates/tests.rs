//! What is made, noted and waited for, by table.

use std::collections::BTreeMap;

use objects::Object;

use super::*;

fn read<K: Object>(value: &Value) -> K {
    K::read_value(value).expect("a good object")
}

/// What is there.
#[derive(Default)]
struct Namespace {
    templates: BTreeMap<String, ResourceClaimTemplate>,
    claims: Vec<ResourceClaim>,
    groups: BTreeMap<String, PodGroup>,
    gates: Gates,
}

impl Namespace {
    fn with_template() -> Self {
        let metadata = json!({ "labels": { "l": "1" }, "annotations": { "a": "2" } });
        let template = read(&json!({ "spec": { "metadata": metadata, "spec": { "allocationMode": "m" } } }));
        Self { templates: BTreeMap::from([("t".to_owned(), template)]), ..Self::default() }
    }

    /// Also with a claim that was made for the entry `gpu` of somebody.
    fn with_claim(owner: &str) -> Self {
        let claim = read(&json!({ "metadata": {
            "name": "p-gpu-x7k2p", "annotations": { ENTRY: "gpu" },
            "ownerReferences": [{ "uid": owner, "controller": true }],
        } }));
        Self { claims: vec![claim], ..Self::with_template() }
    }

    /// Also with a group that wants the same claim as its pods, and the features that this needs.
    fn with_group(mut self) -> Self {
        let group = read(&json!({
            "metadata": { "name": "g", "namespace": "ns", "uid": "gu" },
            "spec": { "resourceClaims": [{ "name": "gpu", "resourceClaimTemplateName": "t" }] },
        }));
        self.groups.insert("g".to_owned(), group);
        let on = [Gate::GenericWorkload, Gate::DRAWorkloadResourceClaims];
        self.gates = on.into_iter().fold(self.gates, |gates, gate| gates.with(gate, true));
        self
    }

    fn around<T>(&self, ask: impl FnOnce(&Around<'_>) -> T) -> T {
        let owned = |uid: &str| -> Vec<&ResourceClaim> {
            let is_owner =
                |claim: &&ResourceClaim| claim.metadata.owner_references.iter().any(|owner| owner.uid == uid);
            self.claims.iter().filter(is_owner).collect()
        };
        ask(&Around {
            template: &|name| self.templates.get(name),
            owned: &owned,
            group: &|name| self.groups.get(name),
            gates: self.gates,
        })
    }

    fn actions(&self, pod: &Pod) -> Vec<ClaimTemplateAction> {
        self.around(|around| actions_for_pod(pod, around))
    }
}

fn pod(statuses: &Value) -> Pod {
    read(&json!({
        "metadata": { "name": "p", "namespace": "ns", "uid": "u" },
        "spec": { "resourceClaims": [
            { "name": "gpu", "resourceClaimTemplateName": "t" },
            { "name": "own", "resourceClaimName": "c" },
        ] },
        "status": { "resourceClaimStatuses": statuses },
    }))
}

fn member(statuses: &Value) -> Pod {
    let mut pod = pod(statuses);
    pod.spec.scheduling_group = serde_json::from_value(json!({ "podGroupName": "g" })).expect("a group");
    pod
}

fn note(claim: &str) -> Value {
    json!([{ "name": "gpu", "resourceClaimName": claim }])
}

fn noted(claim: &str) -> ClaimTemplateAction {
    ClaimTemplateAction::Note { entry: "gpu".to_owned(), claim: claim.to_owned() }
}

fn waits(why: Obstacle) -> ClaimTemplateAction {
    ClaimTemplateAction::Wait { entry: "gpu".to_owned(), why }
}

#[test]
fn a_claim_is_made_for_each_entry_that_names_a_template() {
    let actions = Namespace::with_template().actions(&pod(&json!([])));
    let [ClaimTemplateAction::Make { entry, claim, instead_of: None }] = &actions[..] else {
        panic!("{actions:?} is not one claim");
    };
    let owner = json!({ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true });
    let expected = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {
            "generateName": "p-gpu-", "namespace": "ns", "labels": { "l": "1" },
            "annotations": { "a": "2", ENTRY: "gpu" }, "ownerReferences": [owner],
        },
        "spec": { "allocationMode": "m" },
    });
    let claim = serde_json::to_value(claim).expect("it can be written");
    let part = |name: &str| (claim[name].clone(), expected[name].clone());
    for (found, wanted) in ["apiVersion", "kind", "metadata"].map(part) {
        assert_eq!(found, wanted);
    }
    assert_eq!((entry.as_str(), &claim["spec"]["allocationMode"]), ("gpu", &json!("m")));
}

#[test]
fn what_was_made_is_not_made_again() {
    let made = "p-gpu-x7k2p";
    let table: [(Value, &str, Option<ClaimTemplateAction>); 4] = [
        (note(made), "u", None),
        (json!([]), "u", Some(noted(made))),
        // It names one that is lost, and another was made before that could be noted.
        (note("lost"), "u", Some(noted(made))),
        // Somebody said that it needs none.
        (json!([{ "name": "gpu" }]), "nobody", None),
    ];
    for (statuses, owner, expected) in table {
        let actions = Namespace::with_claim(owner).actions(&pod(&statuses));
        assert_eq!(actions, Vec::from_iter(expected), "{statuses} of {owner}");
    }
}

#[test]
fn a_claim_that_is_lost_or_somebody_elses_is_made_anew_if_the_server_says_so_too() {
    for (owner, named) in [("another", "p-gpu-x7k2p"), ("u", "p-gpu-x7k2p")] {
        let mut namespace = Namespace::with_claim(owner);
        if owner == "u" {
            namespace.claims.clear();
        }
        let actions = namespace.actions(&pod(&note(named)));
        assert!(
            matches!(&actions[..], [ClaimTemplateAction::Make { instead_of: Some(lost), .. }] if lost == named),
            "{actions:?}"
        );
    }
    let mut going = Namespace::with_claim("u");
    going.claims[0].metadata.deletion_timestamp =
        serde_json::from_value(json!("2026-01-02T03:04:05Z")).expect("a time");
    let actions = going.actions(&pod(&json!([])));
    assert!(
        matches!(&actions[..], [ClaimTemplateAction::Make { .. }]),
        "one that goes is not taken: {actions:?}"
    );
}

#[test]
fn without_its_template_a_pod_waits_and_one_that_goes_gets_nothing() {
    let expected = waits(Obstacle::NoTemplate { template: "t".to_owned() });
    assert_eq!(Namespace::default().actions(&pod(&json!([]))), [expected]);
    let mut going = pod(&json!([]));
    going.metadata.deletion_timestamp =
        serde_json::from_value(json!("2026-01-02T03:04:05Z")).expect("a time");
    assert!(Namespace::with_template().actions(&going).is_empty());
}

#[test]
fn what_a_group_shares_is_made_for_the_group_and_named_by_its_members() {
    let namespace = Namespace::with_template().with_group();
    let group = namespace.groups["g"].clone();
    let actions = namespace.around(|around| actions_for_group(&group, around));
    let [ClaimTemplateAction::Make { claim, .. }] = &actions[..] else {
        panic!("{actions:?} is not one claim")
    };
    let owner = &claim.metadata.owner_references[0];
    assert_eq!((owner.api_version.as_str(), owner.kind.as_str()), ("scheduling.k8s.io/v1beta1", "PodGroup"));
    assert_eq!((owner.uid.as_str(), claim.metadata.generate_name.as_str()), ("gu", "g-gpu-"));
    assert!(namespace.actions(&member(&json!([]))).is_empty(), "members wait for it");
    let made = Namespace::with_claim("gu").with_group();
    assert_eq!(made.actions(&member(&json!([]))), [noted("p-gpu-x7k2p")]);
    assert_eq!(made.actions(&member(&note("older"))), [noted("p-gpu-x7k2p")]);
    assert!(made.actions(&member(&note("p-gpu-x7k2p"))).is_empty());
    assert_eq!(made.around(|around| actions_for_group(&group, around)), [noted("p-gpu-x7k2p")]);
}

#[test]
fn an_entry_that_only_looks_like_one_of_the_group_is_the_pods_own() {
    let mut namespace = Namespace::with_template().with_group();
    let group = namespace.groups.get_mut("g").expect("it is there");
    group.spec.resource_claims[0].resource_claim_template_name = Some("other".to_owned());
    let actions = namespace.actions(&member(&json!([])));
    assert!(
        matches!(&actions[..], [ClaimTemplateAction::Make { claim, .. }] if claim.metadata.generate_name == "p-gpu-"),
        "{actions:?}"
    );
}

#[test]
fn a_member_waits_for_its_group_and_for_the_features_that_groups_need() {
    let mut namespace = Namespace::with_template().with_group();
    let pod = member(&json!([]));
    let without = |gate| Gates::with(namespace.gates, gate, false);
    let gates = [Gate::GenericWorkload, Gate::DRAWorkloadResourceClaims].map(|gate| (gate, without(gate)));
    for (gate, gates) in gates {
        namespace.gates = gates;
        let group = namespace.groups["g"].clone();
        let is_on = gates.enabled(Gate::DRAWorkloadResourceClaims);
        assert_eq!(namespace.around(|around| actions_for_group(&group, around)).is_empty(), !is_on);
        assert_eq!(namespace.actions(&pod), [waits(Obstacle::Off { group: "g".to_owned(), gate })]);
        namespace = Namespace::with_template().with_group();
    }
    namespace.groups.clear();
    assert_eq!(namespace.actions(&pod), [waits(Obstacle::NoGroup { group: "g".to_owned() })]);
}

#[test]
fn long_names_keep_a_part_of_both() {
    let name = prefix(&"p".repeat(60), &"e".repeat(20));
    assert_eq!(name, format!("{}-{}", "p".repeat(41), "e".repeat(13)));
    assert_eq!(prefix("pod", "entry"), "pod-entry-");
}

#[test]
fn a_pod_names_its_claims_in_order() {
    let pod =
        pod(&json!([{ "name": "zoo", "resourceClaimName": "z" }, { "name": "gpu" }, { "name": "none" }]));
    let made = [("gpu".to_owned(), "g".to_owned())];
    let expected =
        json!([{ "name": "gpu", "resourceClaimName": "g" }, { "name": "zoo", "resourceClaimName": "z" }]);
    assert_eq!(statuses(&pod, &made), expected);
}
