//! What is done for claims of a driver: given, taken back, left alone.

use std::collections::{BTreeMap, BTreeSet};

use objects::resource::allocation::ResourceHandle;
use serde_json::{Value, json};

use super::*;

const DRIVER: &str = "fpga.example.com";

fn read<K: objects::Object>(value: &Value) -> K {
    K::read_value(value).expect("a good object")
}

fn context(selected: &str, potential: &[&str], unsuitable: &[&str]) -> PodSchedulingContext {
    read(&json!({
        "metadata": { "name": "p", "ownerReferences": [{ "kind": "Pod", "uid": "u", "controller": true }] },
        "spec": { "selectedNode": selected, "potentialNodes": potential },
        "status": { "resourceClaims": [{ "name": "c", "unsuitableNodes": unsuitable }] },
    }))
}

fn claim(status: &Value) -> ResourceClaim {
    read(
        &json!({ "metadata": { "name": "c", "uid": "1", "finalizers": [finalizer(DRIVER)] }, "status": status }),
    )
}

#[test]
fn nodes_that_were_unsuitable_are_judged_again() {
    let context = context("b", &["a", "b"], &["z", "a"]);
    assert_eq!(nodes_to_judge(&context, &["c"].into()), ["b", "a", "z"]);
    assert_eq!(nodes_to_judge(&context, &["other"].into()), ["b", "a"], "that was about another claim");
}

#[test]
fn an_answer_is_written_only_if_it_is_news() {
    let asked = context("", &["a", "b"], &["b", "a"]);
    let says = |nodes: &[&str]| {
        let nodes: BTreeSet<String> = nodes.iter().map(ToString::to_string).collect();
        answer(&asked, &BTreeMap::from([("c".to_owned(), nodes)]))
    };
    assert_eq!(says(&["a", "b"]), None);
    let news = says(&["b"]).expect("a is suitable now");
    assert_eq!(news.status.resource_claims[0].unsuitable_nodes, ["b"]);
    let other = answer(&asked, &BTreeMap::from([("d".to_owned(), BTreeSet::new())]));
    assert_eq!(other.expect("the first answer").status.resource_claims.len(), 2);
}

#[test]
fn what_another_driver_answers_asks_nothing_new() {
    let asked = context("", &["a", "b"], &["b"]);
    let answered = |name: &str| {
        let answer = answer(&asked, &BTreeMap::from([(name.to_owned(), BTreeSet::from(["a".to_owned()]))]));
        answer.expect("news")
    };
    assert!(asks_the_same(&asked, &answered("d")) && asks_the_same(&asked, &answered("c")));
    let mut owned_by_another = asked.clone();
    owned_by_another.metadata.owner_references.push(Default::default());
    let mut made_anew = asked.clone();
    made_anew.metadata.uid = "another".to_owned();
    let mut without_answer = asked.clone();
    without_answer.status.resource_claims.clear();
    let others =
        [context("a", &["a", "b"], &["b"]), context("", &["a"], &["b"]), owned_by_another, made_anew];
    for other in others.iter().chain([&without_answer]) {
        assert!(!asks_the_same(&asked, other), "{other:?}");
    }
}

#[test]
fn of_too_many_nodes_the_chosen_one_and_those_that_are_asked_about_are_named() {
    let asked = context("z", &["y"], &[]);
    let mut nodes: BTreeSet<String> = (0..200).map(|number| format!("n-{number:03}")).collect();
    nodes.extend(["y".to_owned(), "z".to_owned()]);
    let said = answer(&asked, &BTreeMap::from([("c".to_owned(), nodes)])).expect("news");
    let named = &said.status.resource_claims[0].unsuitable_nodes;
    assert_eq!(named.len(), 128);
    assert!(named.contains(&"y".to_owned()) && named.contains(&"z".to_owned()));
}

#[test]
fn a_claim_in_use_is_left_alone_and_one_that_is_to_go_loses_its_devices() {
    let allocation = json!({ "devices": {} });
    let leaving = claim(&json!({ "allocation": allocation, "deallocationRequested": true }));
    assert_eq!(duty(&leaving, DRIVER, None), Duty::Deallocate);
    assert_eq!(duty(&leaving, "other.example.com", None), Duty::None);
    let mut used = leaving.clone();
    used.status.reserved_for.push(Default::default());
    assert_eq!(duty(&used, DRIVER, None), Duty::None);
    let mut going = claim(&json!({}));
    going.metadata.deletion_timestamp = Some(objects::Time::default());
    assert_eq!(duty(&going, DRIVER, None), Duty::Deallocate, "what is being given is stopped, too");
    let mut immediate = claim(&json!({}));
    assert_eq!(duty(&immediate, DRIVER, Some(Form::Fields)), Duty::None, "it waits for its first consumer");
    immediate.spec.allocation_mode = "Immediate".to_owned();
    assert_eq!(duty(&immediate, DRIVER, Some(Form::Fields)), Duty::Allocate);
    assert_eq!(duty(&immediate, DRIVER, None), Duty::None, "its class is another's");
}

#[test]
fn giving_and_taking_back_leave_nothing_in_either_form() {
    for form in [Form::Fields, Form::Annotations] {
        let mut bare = claim(&json!({}));
        bare.metadata.finalizers.clear();
        let handle = ResourceHandle { driver_name: DRIVER.into(), data: "x".into(), ..Default::default() };
        let grant = Grant { handles: vec![handle], shareable: true, ..Grant::default() };
        let pod: Pod = read(&json!({ "metadata": { "name": "p", "uid": "u" } }));
        let first = described(&bare, DRIVER, &grant, form).expect("it is protected first");
        assert_eq!(described(&first, DRIVER, &grant, form), None);
        let given = given(&first, DRIVER, grant, form, Some(&pod));
        assert_eq!(control::controller(&given), DRIVER);
        assert_eq!(control::form(&given), form);
        assert!(control::is_shareable(&given));
        assert_eq!(control::handles(&given).expect("good").len(), 1);
        assert_eq!(given.status.reserved_for[0].uid, "u");
        let mut released = given;
        released.status.reserved_for.clear();
        let free = freed(&released).expect("it had devices");
        assert_eq!(freed(&free), None);
        let free = unprotected(&free, DRIVER).expect("it was protected");
        assert_eq!((free.metadata, free.status), (bare.metadata, bare.status));
    }
}

#[test]
fn nothing_is_said_about_pods_that_are_gone_or_are_others() {
    let pod = |uid: &str| read::<Pod>(&json!({ "metadata": { "name": "p", "uid": uid } }));
    assert!(is_open(&context("a", &[], &[]), &pod("u")));
    assert!(!is_open(&context("", &[], &[]), &pod("u")), "nothing is asked");
    assert!(!is_open(&context("a", &[], &[]), &pod("v")), "another pod of its name");
    let mut going = pod("u");
    going.metadata.deletion_timestamp = Some(objects::Time::default());
    assert!(!is_open(&context("a", &[], &[]), &going));
}

#[test]
fn a_claim_has_one_controller_or_none() {
    let class = |name: &str, controller: &str| {
        read::<DeviceClass>(
            &json!({ "metadata": { "name": name }, "spec": { "controllerName": controller } }),
        )
    };
    let classes = [class("a", DRIVER), class("b", DRIVER), class("c", "other.example.com"), class("d", "")];
    let find = |name: &str| classes.iter().find(|class| class.metadata.name == name);
    let ask = |names: &[&str]| {
        let requests: Vec<Value> = names
            .iter()
            .map(|name| json!({ "name": name, "exactly": { "deviceClassName": name } }))
            .collect();
        let claim: ResourceClaim = read(&json!({ "spec": { "devices": { "requests": requests } } }));
        classes_of(&claim, &find).map(|(said, classes)| (said.controller, classes.len()))
    };
    assert_eq!(ask(&["a", "b", "a"]), Some((DRIVER.to_owned(), 2)));
    assert_eq!(ask(&["a", "c"]), None);
    assert_eq!(ask(&["d"]), None);
    assert_eq!(ask(&["missing"]), None);
    assert_eq!(ask(&[]), None);
}
