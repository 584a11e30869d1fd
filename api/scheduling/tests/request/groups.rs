//! Compatibility groups: noted on a claim before it gets devices.

use convert::change::CLAIM_FINALIZER;
use objects::resource::claim::ResourceClaim;
use objects::supercargo::annotations::COMPATIBILITY_GROUPS;
use scheduler::write::Write;
use scheduling::request::{Next, Verb};
use serde_json::{Value, json};

use super::{allocate, ask, claim, last};

/// An allocation of which one device has groups.
fn allocate_grouped() -> Write {
    let mut write = allocate();
    let Write::Allocate { allocation, .. } = &mut write else { unreachable!("it is one") };
    allocation.grants[0].groups = [("set".into(), vec!["foo".into(), "foobar".into()])].into();
    write
}

const NOTE: &str =
    r#"[{"request":"r","driver":"d","pool":"p","device":"whole","groups":{"set":["foo","foobar"]}}]"#;

/// The claim as a server stores it that does not know the field.
fn without_field(body: &Value) -> Value {
    let mut claim = body.clone();
    for result in claim["status"]["allocation"]["devices"]["results"].as_array_mut().expect("results") {
        result.as_object_mut().expect("a result").remove("compatibilityGroups");
    }
    claim
}

#[test]
fn groups_are_noted_on_the_claim_by_the_call_that_protects_it() {
    let bare = claim(&json!([]), &json!({}));
    let Ok(Next::Then(first)) = ask(&allocate_grouped(), Some(&bare), None) else {
        unreachable!("two calls are due")
    };
    assert_eq!((first.verb, first.subresource), (Verb::Update, None));
    assert_eq!(first.body["metadata"]["finalizers"], json!([CLAIM_FINALIZER]));
    assert_eq!(first.body["metadata"]["annotations"], json!({ COMPATIBILITY_GROUPS: NOTE }));
    assert!(first.body["status"].get("allocation").is_none());
    let second = last(ask(&allocate_grouped(), Some(&first.body), None));
    assert_eq!((second.verb, second.subresource), (Verb::Update, Some("status")));
    assert_eq!(
        second.body["metadata"]["resourceVersion"], "5",
        "it is written over the note and nothing else"
    );
    // A server that drops the field loses nothing, and a call whose answer got lost is known again.
    let stored = without_field(&second.body);
    assert_eq!(ask(&allocate_grouped(), Some(&stored), None), Ok(Next::Done));
    let held = |claim: &Value| {
        let claim: ResourceClaim = serde_json::from_value(claim.clone()).expect("a claim");
        convert::taken(&claim).map(|taken| taken.holding.groups).collect::<Vec<_>>()
    };
    assert_eq!(held(&stored), held(&second.body));
    assert_eq!(held(&stored)[0], [("set".into(), vec!["foo".into(), "foobar".into()])].into());
}

#[test]
fn a_note_that_is_not_of_this_allocation_is_mended_before_the_claim_gets_devices() {
    let noted = |note: &str| {
        let mut claim = claim(&json!([CLAIM_FINALIZER]), &json!({}));
        claim["metadata"]["annotations"] = json!({ "kept": "yes", COMPATIBILITY_GROUPS: note });
        claim
    };
    // An earlier allocation, another scheduler, or somebody who wishes for something.
    for note in ["", "mig", "[]", &NOTE.replace("whole", "another"), &NOTE.replace("foobar", "mig")] {
        let Ok(Next::Then(first)) = ask(&allocate_grouped(), Some(&noted(note)), None) else {
            unreachable!("{note} is not what is to be noted")
        };
        assert_eq!(first.subresource, None);
        assert_eq!(
            first.body["metadata"]["annotations"],
            json!({ "kept": "yes", COMPATIBILITY_GROUPS: NOTE })
        );
        let Ok(Next::Then(first)) = ask(&allocate(), Some(&noted(note)), None) else {
            unreachable!("nothing is to be noted")
        };
        assert_eq!(first.body["metadata"]["annotations"], json!({ "kept": "yes" }));
    }
    assert_eq!(last(ask(&allocate_grouped(), Some(&noted(NOTE)), None)).subresource, Some("status"));
}

#[test]
fn a_claim_without_groups_costs_no_call_more() {
    let protected = claim(&json!([CLAIM_FINALIZER]), &json!({}));
    let call = last(ask(&allocate(), Some(&protected), None));
    assert_eq!(call.subresource, Some("status"));
    assert!(call.body["metadata"].get("annotations").is_none());
}
