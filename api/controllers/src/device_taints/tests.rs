//! Taints of devices against claims and pods.

use objects::Object;
use objects::core::pod::Pod;
use objects::meta::{Condition, OwnerReference};
use objects::resource::allocation::ResourceClaimConsumerReference;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceTaintRule;
use objects::resource::slice::ResourceSlice;
use serde_json::{Value, json};

use super::*;

/// When taints are put on devices here.
const ADDED: &str = "2026-01-02T03:00:00Z";

fn read<K: Object>(value: &Value) -> K {
    K::read_value(value).expect("a good object")
}

fn after(seconds: i64) -> Timestamp {
    Timestamp::parse(ADDED).expect("a time").plus_millis(seconds * 1_000)
}

fn taint(effect: &str) -> Value {
    json!({ "key": "broken", "value": "yes", "effect": effect, "timeAdded": ADDED })
}

/// A slice of a pool with the devices `a` and `b`, of which `a` has these taints.
fn slice(name: &str, generation: i64, taints: &[Value]) -> ResourceSlice {
    read(&json!({
        "metadata": { "name": name },
        "spec": {
            "driver": "d", "pool": { "name": "p", "generation": generation, "resourceSliceCount": 1 },
            "devices": [{ "name": "a", "taints": taints }, { "name": "b" }],
        },
    }))
}

fn rule(name: &str, selector: &Value, effect: &str) -> DeviceTaintRule {
    read(&json!({
        "metadata": { "name": name, "uid": name, "generation": 1 },
        "spec": { "deviceSelector": selector, "taint": taint(effect) },
    }))
}

/// Slices and rules.
struct Book {
    slices: Vec<ResourceSlice>,
    rules: Vec<DeviceTaintRule>,
}

impl Slices for Book {
    fn of_pool(&self, driver: &str, pool: &str) -> Vec<&ResourceSlice> {
        let is_there = |slice: &&ResourceSlice| slice.spec.driver == driver && slice.spec.pool.name == pool;
        self.slices.iter().filter(is_there).collect()
    }
}

impl Book {
    fn taints(&self) -> Taints<'_> {
        Taints::new(self, self.rules.iter())
    }

    fn of_claim(&self, claim: &ResourceClaim) -> Option<Eviction> {
        of_claim(claim, &self.taints())
    }
}

/// The device `a` has a taint that evicts.
fn tainted() -> Book {
    Book { slices: vec![slice("s", 1, &[taint("NoExecute")])], rules: Vec::new() }
}

/// A claim with these devices, reserved for the pod `u`.
fn claim(devices: &[&str], tolerations: &Value) -> ResourceClaim {
    let result =
        |device: &&str| json!({ "driver": "d", "pool": "p", "device": device, "tolerations": tolerations });
    read(&json!({
        "metadata": { "name": "c", "namespace": "ns" },
        "status": {
            "allocation": { "devices": { "results": devices.iter().map(result).collect::<Vec<_>>() } },
            "reservedFor": [{ "resource": "pods", "name": "pod", "uid": "u" }],
        },
    }))
}

fn pod(claims: &Value, status: &Value) -> Pod {
    read(&json!({
        "metadata": { "name": "pod", "namespace": "ns", "uid": "u" },
        "spec": { "nodeName": "n", "resourceClaims": claims, "schedulingGroup": { "podGroupName": "g" } },
        "status": status,
    }))
}

fn using(name: &str) -> Pod {
    pod(&json!([{ "name": "x", "resourceClaimName": name }]), &json!({}))
}

#[test]
fn a_claim_loses_its_users_when_no_toleration_holds_any_longer() {
    let bears = |effect: &str, seconds: Option<i64>| {
        let mut toleration = json!({ "key": "broken", "operator": "Exists" });
        if !effect.is_empty() {
            toleration["effect"] = json!(effect);
        }
        if let Some(seconds) = seconds {
            toleration["tolerationSeconds"] = json!(seconds);
        }
        toleration
    };
    let table = [
        ("nothing", json!([]), Some(0)),
        ("for good", json!([bears("NoExecute", None)]), None),
        ("for a while", json!([bears("NoExecute", Some(60))]), Some(60)),
        ("the shortest while", json!([bears("NoExecute", Some(60)), bears("NoExecute", Some(20))]), Some(20)),
        ("a while and for good", json!([bears("NoExecute", Some(60)), bears("NoExecute", None)]), None),
        ("less than nothing", json!([bears("NoExecute", Some(-5))]), Some(0)),
        ("another effect", json!([bears("NoSchedule", None)]), Some(0)),
        ("every effect", json!([bears("", None)]), None),
        ("every effect, where a time means nothing", json!([bears("", Some(60))]), None),
        (
            "every taint",
            json!([{ "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9 }]),
            Some(9),
        ),
        ("its value", json!([{ "key": "broken", "value": "yes", "effect": "NoExecute" }]), None),
        ("another value", json!([{ "key": "broken", "value": "no", "effect": "NoExecute" }]), Some(0)),
        ("another key", json!([{ "key": "hot", "operator": "Exists", "effect": "NoExecute" }]), Some(0)),
        (
            "an operator of the future",
            json!([{ "key": "broken", "operator": "Near", "effect": "NoExecute" }]),
            Some(0),
        ),
    ];
    for (case, tolerations, expected) in table {
        let eviction = tainted().of_claim(&claim(&["a"], &tolerations));
        assert_eq!(eviction.map(|eviction| eviction.at), expected.map(after), "{case}");
    }
}

#[test]
fn only_devices_that_a_claim_holds_count_and_the_earliest_time() {
    let forever = json!([]);
    assert_eq!(tainted().of_claim(&claim(&["b"], &forever)), None);
    assert_eq!(tainted().of_claim(&read(&json!({ "metadata": {} }))), None);
    let mut book = tainted();
    book.rules.push(rule("r", &json!({ "device": "b" }), "NoExecute"));
    let both = book.of_claim(&claim(&["a", "b"], &forever)).expect("both are tainted");
    assert_eq!((both.at, both.causes.len()), (after(0), 2));
    assert_eq!(both.why(), "DeviceTaintRule r, and 1 more");
}

#[test]
fn a_time_that_is_missing_is_long_past() {
    let slices = vec![slice("s", 1, &[json!({ "key": "broken", "effect": "NoExecute" })])];
    let book = Book { slices, rules: Vec::new() };
    let at = book.of_claim(&claim(&["a"], &json!([]))).expect("it is tainted").at;
    assert_eq!(at, Timestamp::default());
}

#[test]
fn slices_of_the_highest_generation_count_alone() {
    let claim = claim(&["a"], &json!([]));
    let mut book = tainted();
    book.slices.push(slice("new", 2, &[]));
    assert_eq!(book.of_claim(&claim), None);
    book.slices.pop();
    assert!(book.of_claim(&claim).is_some(), "the old one counts again");
    book.slices[0] = slice("s", 1, &[taint("NoSchedule")]);
    assert_eq!(book.of_claim(&claim), None);
}

#[test]
fn a_slice_matters_when_it_comes_or_goes_and_when_taints_or_the_pool_change() {
    let (free, tainted) = (slice("s", 1, &[]), slice("s", 1, &[taint("NoExecute")]));
    let table = [
        (None, Some(&free), true),
        (Some(&free), None, true),
        (Some(&free), Some(&tainted), true),
        (Some(&tainted), Some(&tainted), false),
        (Some(&free), Some(&slice("s", 1, &[taint("NoSchedule")])), false),
        (Some(&free), Some(&slice("s", 2, &[])), true),
    ];
    for (before, after, expected) in table {
        assert_eq!(matters(before, after), expected, "{before:?} -> {after:?}");
    }
}

#[test]
fn a_rule_reaches_devices_that_are_published_no_more() {
    let claim = claim(&["lost"], &json!([]));
    let table = [
        (json!({}), "NoExecute", true),
        (json!({ "driver": "d", "pool": "p", "device": "lost" }), "NoExecute", true),
        (json!({ "driver": "other" }), "NoExecute", false),
        (json!({ "pool": "other" }), "NoExecute", false),
        (json!({ "device": "a" }), "NoExecute", false),
        (json!({}), "NoSchedule", false),
        (json!({}), "None", false),
        (json!(null), "NoExecute", false),
    ];
    for (selector, effect, expected) in table {
        let book = Book { slices: Vec::new(), rules: vec![rule("r", &selector, effect)] };
        assert_eq!(book.of_claim(&claim).is_some(), expected, "{selector} {effect}");
    }
}

#[test]
fn a_pod_goes_because_of_claims_that_are_its_own() {
    let plain = claim(&["a"], &json!([]));
    let owned_by = |api_version: &str, kind: &str, name: &str, uid: &str| {
        let mut claim = plain.clone();
        claim.metadata.owner_references.push(OwnerReference {
            api_version: api_version.to_owned(),
            controller: Some(true),
            kind: kind.to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            ..OwnerReference::default()
        });
        claim
    };
    let by_pod = owned_by("v1", "Pod", "pod", "u");
    let mut by_group = owned_by("scheduling.k8s.io/v1beta1", "PodGroup", "g", "gu");
    by_group.status.reserved_for = vec![ResourceClaimConsumerReference {
        api_group: "scheduling.k8s.io".to_owned(),
        resource: "podgroups".to_owned(),
        name: "g".to_owned(),
        uid: "gu".to_owned(),
        ..ResourceClaimConsumerReference::default()
    }];
    let mut of_others = plain.clone();
    "other".clone_into(&mut of_others.status.reserved_for[0].uid);
    let entry = json!([{ "name": "x", "resourceClaimTemplateName": "t" }]);
    let noted = json!({ "resourceClaimStatuses": [{ "name": "x", "resourceClaimName": "c" }] });
    let extended =
        json!({ "extendedResourceClaimStatus": { "resourceClaimName": "c", "requestMappings": [] } });
    let mut unplaced = using("c");
    unplaced.spec.node_name.clear();
    let mut done = using("c");
    "Succeeded".clone_into(&mut done.status.phase);
    let table = [
        ("named", using("c"), &plain, true),
        ("another is named", using("other"), &plain, false),
        ("reserved for another", using("c"), &of_others, false),
        ("made for it", pod(&entry, &noted), &by_pod, true),
        ("made for another, under a name that it noted", pod(&entry, &noted), &plain, false),
        ("not made yet", pod(&entry, &json!({})), &by_pod, false),
        ("made for its group", pod(&entry, &noted), &by_group, true),
        ("its group's, by name", using("c"), &by_group, true),
        ("made for its resources", pod(&json!([]), &extended), &by_pod, true),
        ("without a node", unplaced, &plain, false),
        ("done", done, &plain, false),
    ];
    for (case, pod, claim, expected) in table {
        let known = |name: &str| (name == "c").then_some(claim);
        assert_eq!(of_pod(&pod, known, &tainted().taints()).is_some(), expected, "{case}");
    }
}

#[test]
fn the_earliest_of_all_claims_counts() {
    let while_ =
        |seconds: i64| json!([{ "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds }]);
    let (long, short) = (claim(&["a"], &while_(60)), claim(&["a"], &while_(20)));
    let entries =
        json!([{ "name": "x", "resourceClaimName": "long" }, { "name": "y", "resourceClaimName": "short" }]);
    let known = |name: &str| Some(if name == "long" { &long } else { &short });
    let both = pod(&entries, &json!({}));
    let eviction = of_pod(&both, known, &tainted().taints()).expect("both are tainted");
    assert_eq!((eviction.at, eviction.causes.len()), (after(20), 1));
    assert_eq!(claim_names(&both).collect::<Vec<_>>(), ["long", "short"]);
}

/// The rule after it said something, at a time, about a generation.
fn having_said(rule: &DeviceTaintRule, condition: Condition) -> DeviceTaintRule {
    let mut rule = rule.clone();
    rule.status.conditions = vec![condition];
    rule
}

fn said(report: Report) -> Condition {
    match report {
        Report::Say(condition) => *condition,
        other => panic!("{other:?} says nothing"),
    }
}

#[test]
fn a_rule_says_how_far_eviction_is() {
    let pending = |pods, namespaces| move || Tally { pods, namespaces, ..Tally::default() };
    let rule = rule("r", &json!({}), "NoExecute");
    let idle = said(report(&rule, pending(0, 0), after(0)));
    assert_eq!((&*idle.status, &*idle.reason, idle.observed_generation), ("False", "NotStarted", 1));
    let busy = said(report(&rule, pending(1, 1), after(0)));
    assert_eq!((&*busy.status, &*busy.reason), ("True", "PodsPendingEviction"));
    assert_eq!(busy.message, "1 pod in 1 namespace still to be evicted");
    let rule = having_said(&rule, busy);
    assert_eq!(report(&rule, pending(0, 0), after(9)), Report::Wait(after(10)), "it was said a moment ago");
    assert_eq!(report(&rule, pending(1, 1), after(10)), Report::Leave, "nothing is new");
    assert_eq!(
        said(report(&rule, pending(2, 1), after(10))).message,
        "2 pods in 1 namespace still to be evicted"
    );
    let done = said(report(&rule, pending(0, 0), after(10)));
    assert_eq!((&*done.status, &*done.reason), ("False", "Completed"));
    let rule = having_said(&rule, done);
    assert_eq!(report(&rule, pending(0, 0), after(30)), Report::Leave);
    let mut changed = rule;
    changed.metadata.generation = 2;
    let idle = said(report(&changed, pending(0, 0), after(11)));
    assert_eq!((&*idle.reason, idle.observed_generation), ("NotStarted", 2), "a changed rule speaks at once");
}

#[test]
fn a_rule_without_effect_says_once_what_it_would_do() {
    let counts = Tally { published: 3, allocated: 1, pods: 2, namespaces: 1 };
    let idle = rule("r", &json!({}), "None");
    let would = said(report(&idle, || counts, after(0)));
    assert_eq!((&*would.status, &*would.reason), ("False", "NoEffect"));
    let begin = "3 published devices and 1 allocated device selected; with effect NoExecute 2 pods in 1 namespace would";
    assert!(would.message.starts_with(begin), "{}", would.message);
    let idle = having_said(&idle, would);
    assert_eq!(report(&idle, || panic!("nothing is counted again"), after(60)), Report::Leave);
    let other = report(&rule("r", &json!({}), "NoSchedule"), || panic!("nothing is counted"), after(0));
    assert_eq!(said(other).reason, "OtherEffect");
}

#[test]
fn what_a_rule_is_about_is_counted_as_if_it_had_effect() {
    let (claim, pods) = (claim(&["a", "b"], &json!([])), [using("c"), using("other")]);
    let evicts = |pod: &Pod, taints: &Taints<'_>| {
        let eviction = of_pod(pod, |name| (name == "c").then_some(&claim), taints);
        eviction.map(|eviction| eviction.causes).unwrap_or_default()
    };
    let field =
        Field { pools: BTreeSet::from([("d", "p")]), claims: vec![&claim], pods: pods.iter().collect() };
    let table = [
        (json!({ "device": "b" }), "None", Tally { published: 1, allocated: 1, pods: 1, namespaces: 1 }),
        (json!({ "device": "b" }), "NoExecute", Tally { published: 1, allocated: 1, pods: 1, namespaces: 1 }),
        (json!({}), "None", Tally { published: 2, allocated: 2, pods: 1, namespaces: 1 }),
        (json!({ "driver": "other" }), "None", Tally::default()),
    ];
    for (selector, effect, expected) in table {
        let rule = rule("r", &selector, effect);
        let book = Book { rules: vec![rule.clone()], ..tainted() };
        let counted = tally(&rule, &book.taints(), &field, evicts);
        assert_eq!(counted, expected, "{selector} {effect}");
    }
}
