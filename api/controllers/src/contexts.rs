//! Negotiations that are over: a PodSchedulingContext goes with its pod, and when its pod has a node and its devices.
//!
//! Normally its owner's deletion takes it along, and the scheduler takes it away when a pod is bound. This is for what is
//! left over when one of them stopped in between.
//!
//! Invariant: what a pod still waits for is not taken away. A pod that was bound by hand waits for devices, too.

use objects::core::pod::Pod;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;

use crate::claims::is_done;
use crate::device_taints::claim_names;

/// Whether a negotiation is over.
///
/// `pod` is the pod of its name; `None` only if it is known to be gone. `is_allocated` tells of a claim by its name.
pub fn is_over(
    context: &PodSchedulingContext,
    pod: Option<&Pod>,
    is_allocated: impl Fn(&str) -> bool,
) -> bool {
    if context.metadata.deletion_timestamp.is_some() {
        return false;
    }
    let Some(pod) = pod else { return true };
    let mut owners = context.metadata.owner_references.iter().filter(|owner| owner.kind == "Pod");
    let is_of_another = owners.next().is_some_and(|owner| owner.uid != pod.metadata.uid);
    let has_all = || {
        let made = pod.status.resource_claim_statuses.len();
        let wanted = pod.spec.resource_claims.iter();
        let wanted = wanted.filter(|entry| entry.resource_claim_template_name.is_some()).count();
        made >= wanted && claim_names(pod).all(is_allocated)
    };
    is_of_another || is_done(pod) || (!pod.spec.node_name.is_empty() && has_all())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn context(owner: Option<&str>) -> PodSchedulingContext {
        let owners: Vec<Value> =
            owner.iter().map(|uid| json!({ "kind": "Pod", "name": "p", "uid": uid })).collect();
        serde_json::from_value(json!({ "metadata": { "name": "p", "ownerReferences": owners } }))
            .expect("a context")
    }

    fn pod(node: &str, phase: &str, made: bool) -> Pod {
        let claims = json!([
            { "name": "a", "resourceClaimName": "shared" }, { "name": "b", "resourceClaimTemplateName": "t" },
        ]);
        let notes = if made { json!([{ "name": "b", "resourceClaimName": "p-b" }]) } else { json!([]) };
        serde_json::from_value(json!({
            "metadata": { "name": "p", "uid": "u" },
            "spec": { "nodeName": node, "resourceClaims": claims },
            "status": { "phase": phase, "resourceClaimStatuses": notes },
        }))
        .expect("a pod")
    }

    #[test]
    fn a_negotiation_is_over_when_its_pod_is_gone_or_has_everything() {
        let all: &[&str] = &["shared", "p-b"];
        let table = [
            ("gone", context(Some("u")), None, all, true),
            ("another of its name", context(Some("old")), Some(pod("", "Pending", true)), all, true),
            ("waits for a node", context(Some("u")), Some(pod("", "Pending", true)), all, false),
            ("is bound", context(Some("u")), Some(pod("n", "Pending", true)), all, true),
            (
                "is bound, and waits for devices",
                context(Some("u")),
                Some(pod("n", "Pending", true)),
                &["shared"],
                false,
            ),
            (
                "is bound, and waits for a claim",
                context(Some("u")),
                Some(pod("n", "Pending", false)),
                all,
                false,
            ),
            ("is done", context(Some("u")), Some(pod("n", "Failed", true)), &[], true),
            ("nobody's", context(None), Some(pod("", "Pending", true)), all, false),
        ];
        for (case, context, pod, allocated, expected) in table {
            let is_allocated = |name: &str| allocated.contains(&name);
            assert_eq!(is_over(&context, pod.as_ref(), is_allocated), expected, "{case}");
        }
    }

    #[test]
    fn one_that_goes_already_is_left_alone() {
        let mut going = context(Some("u"));
        going.metadata.deletion_timestamp = Some(objects::Time::default());
        assert!(!is_over(&going, None, |_| true));
    }
}
