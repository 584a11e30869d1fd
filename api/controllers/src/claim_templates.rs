//! Claims that are made for a pod from templates: what is missing, and what the pod then says of it.
//!
//! Invariant: a claim is made once. One that the pod names, or that was made for it and not noted yet, is taken as it is.

use serde_json::{Map, Value, json};

/// Tells for which entry of a pod a claim was made.
const ENTRY: &str = "resource.kubernetes.io/pod-claim-name";

/// How long the made-up part of a name may be before five characters are added.
const PREFIX_MAX: usize = 57;

/// What to do about one entry of a pod's claims.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Make this claim; the server gives it its name.
    Make {
        /// The entry.
        entry: String,
        /// The claim.
        claim: Value,
    },
    /// The claim of this name was made already: note it.
    Note {
        /// The entry.
        entry: String,
        /// The claim's name.
        claim: String,
    },
    /// The template is not there.
    Wait {
        /// The entry.
        entry: String,
        /// The template's name.
        template: String,
    },
}

/// What to do for a pod, given the templates and the claims of its namespace.
pub fn steps(pod: &Value, template: &dyn Fn(&str) -> Option<Value>, claims: &[Value]) -> Vec<Step> {
    if pod["metadata"].get("deletionTimestamp").is_some() {
        return Vec::new();
    }
    let entries = pod["spec"]["resourceClaims"].as_array().into_iter().flatten();
    entries.filter_map(|entry| step(pod, entry, template, claims)).collect()
}

fn step(
    pod: &Value,
    entry: &Value,
    template: &dyn Fn(&str) -> Option<Value>,
    claims: &[Value],
) -> Option<Step> {
    let name = entry["name"].as_str()?;
    let from = entry["resourceClaimTemplateName"].as_str()?;
    let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
    let noted = pod["status"]["resourceClaimStatuses"].as_array().into_iter().flatten();
    let noted =
        noted.filter(|status| status["name"] == name).find_map(|status| status["resourceClaimName"].as_str());
    let own = |claim: &&Value| is_controlled_by(claim, uid);
    if noted.is_some_and(|noted| claims.iter().filter(own).any(|claim| claim["metadata"]["name"] == noted)) {
        return None;
    }
    let made = claims.iter().filter(own).find(|claim| claim["metadata"]["annotations"][ENTRY] == name);
    if let Some(claim) = made.and_then(|claim| claim["metadata"]["name"].as_str()) {
        return Some(Step::Note { entry: name.to_owned(), claim: claim.to_owned() });
    }
    let Some(template) = template(from) else {
        return Some(Step::Wait { entry: name.to_owned(), template: from.to_owned() });
    };
    Some(Step::Make { entry: name.to_owned(), claim: claim(pod, name, &template) })
}

fn is_controlled_by(claim: &Value, uid: &str) -> bool {
    let owners = claim["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.filter(|owner| owner["controller"] == true).any(|owner| owner["uid"] == uid)
}

/// The claim of a template, made for a pod.
fn claim(pod: &Value, entry: &str, template: &Value) -> Value {
    let meta = &pod["metadata"];
    let wanted = &template["spec"]["metadata"];
    let mut annotations = wanted["annotations"].as_object().cloned().unwrap_or_else(Map::new);
    annotations.insert(ENTRY.to_owned(), json!(entry));
    let owner = json!({
        "apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": true,
    });
    let mut made = json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "generateName": prefix(meta["name"].as_str().unwrap_or_default(), entry),
            "namespace": meta["namespace"],
            "annotations": annotations,
            "ownerReferences": [owner],
        },
        "spec": template["spec"]["spec"],
    });
    if let Some(labels) = wanted.get("labels") {
        made["metadata"]["labels"] = labels.clone();
    }
    made
}

/// The name without its last characters. One that is too long keeps a part of the pod's name and a part of the entry's.
fn prefix(pod: &str, entry: &str) -> String {
    let whole = format!("{pod}-{entry}-");
    if whole.len() <= PREFIX_MAX {
        return whole;
    }
    let cut = |part: &str| {
        let end = part.floor_char_boundary(part.len() * PREFIX_MAX / whole.len());
        part[..end].to_owned()
    };
    format!("{}-{}", cut(pod), cut(entry))
}

/// What a pod says of its claims once these were made: all of them, by name.
pub fn statuses(pod: &Value, made: &[(String, String)]) -> Value {
    let known = pod["status"]["resourceClaimStatuses"].as_array().into_iter().flatten();
    let is_made = |status: &&Value| made.iter().any(|(entry, _)| status["name"] == entry.as_str());
    let mut all: Vec<Value> = known.filter(|status| !is_made(status)).cloned().collect();
    all.extend(made.iter().map(|(entry, claim)| json!({ "name": entry, "resourceClaimName": claim })));
    all.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
    Value::Array(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(statuses: &Value) -> Value {
        json!({
            "metadata": { "name": "p", "namespace": "ns", "uid": "u" },
            "spec": { "resourceClaims": [
                { "name": "gpu", "resourceClaimTemplateName": "t" },
                { "name": "own", "resourceClaimName": "c" },
            ] },
            "status": { "resourceClaimStatuses": statuses },
        })
    }

    fn template(name: &str) -> Option<Value> {
        let spec = json!({ "metadata": { "labels": { "l": "1" }, "annotations": { "a": "2" } }, "spec": { "devices": {} } });
        (name == "t").then(|| json!({ "spec": spec }))
    }

    fn made(pod: &Value, claims: &[Value]) -> Vec<Step> {
        steps(pod, &template, claims)
    }

    fn claim_of(owner: &str) -> Value {
        json!({ "metadata": {
            "name": "p-gpu-x7k2p", "annotations": { ENTRY: "gpu" },
            "ownerReferences": [{ "uid": owner, "controller": true }],
        } })
    }

    #[test]
    fn a_claim_is_made_for_each_entry_that_names_a_template() {
        let steps = made(&pod(&json!([])), &[]);
        let owner = json!({ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true });
        let claim = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {
                "generateName": "p-gpu-", "namespace": "ns", "labels": { "l": "1" },
                "annotations": { "a": "2", ENTRY: "gpu" }, "ownerReferences": [owner],
            },
            "spec": { "devices": {} },
        });
        assert_eq!(steps, [Step::Make { entry: "gpu".to_owned(), claim }]);
    }

    #[test]
    fn what_was_made_is_not_made_again() {
        let noted = json!([{ "name": "gpu", "resourceClaimName": "p-gpu-x7k2p" }]);
        assert!(made(&pod(&noted), &[claim_of("u")]).is_empty());
        let expected = Step::Note { entry: "gpu".to_owned(), claim: "p-gpu-x7k2p".to_owned() };
        assert_eq!(made(&pod(&json!([])), &[claim_of("u")]), [expected]);
        let foreign = made(&pod(&noted), &[claim_of("another")]);
        assert!(matches!(foreign[..], [Step::Make { .. }]), "{foreign:?}");
    }

    #[test]
    fn without_its_template_a_pod_waits_and_one_that_goes_gets_nothing() {
        let nothing = |_: &str| None;
        let expected = Step::Wait { entry: "gpu".to_owned(), template: "t".to_owned() };
        assert_eq!(steps(&pod(&json!([])), &nothing, &[]), [expected]);
        let mut going = pod(&json!([]));
        going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
        assert!(made(&going, &[]).is_empty());
    }

    #[test]
    fn long_names_keep_a_part_of_both() {
        let name = prefix(&"p".repeat(60), &"e".repeat(20));
        assert_eq!(name, format!("{}-{}", "p".repeat(41), "e".repeat(13)));
        assert_eq!(prefix("pod", "entry"), "pod-entry-");
    }

    #[test]
    fn a_pod_names_its_claims_in_order() {
        let pod = pod(&json!([{ "name": "zoo", "resourceClaimName": "z" }, { "name": "gpu" }]));
        let made = [("gpu".to_owned(), "g".to_owned())];
        let expected =
            json!([{ "name": "gpu", "resourceClaimName": "g" }, { "name": "zoo", "resourceClaimName": "z" }]);
        assert_eq!(statuses(&pod, &made), expected);
    }
}
