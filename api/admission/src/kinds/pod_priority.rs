//! What the cluster adds to every pod: its priority, and patience with nodes that are lost.

use objects::core::affinity::Toleration;
use objects::core::pod::PodSpec;

use crate::kind::Context;
use crate::kinds::group_priority::established;
use crate::rejection::Rejection;

/// So long a pod stays on a node that is not ready or cannot be reached.
const PATIENCE_SECONDS: i64 = 300;
const LOST: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
/// The value and the policy of the pod's class. Both stay what they were when the pod was made.
pub(crate) fn mutate(
    spec: &mut PodSpec,
    old: Option<&PodSpec>,
    context: &Context<'_>,
) -> Result<(), Rejection> {
    if let Some(old) = old {
        spec.priority = spec.priority.or(old.priority);
        if spec.preemption_policy.is_none() {
            spec.preemption_policy.clone_from(&old.preemption_policy);
        }
        return Ok(());
    }
    let (class_name, value, policy) = established(&spec.priority_class_name, context)?;
    spec.priority_class_name = class_name;
    if let Some(given) = spec.priority.filter(|given| *given != value) {
        return Err(Rejection::Forbidden(format!(
            "spec.priority is {given}, but the pod's priority class makes it {value}; hint: leave it out"
        )));
    }
    spec.priority = Some(value);
    if let Some(policy) = policy {
        if let Some(given) = spec.preemption_policy.as_ref().filter(|given| **given != policy) {
            return Err(Rejection::Forbidden(format!(
                "spec.preemptionPolicy is {given:?}, but the pod's priority class makes it {policy:?}; hint: leave it out"
            )));
        }
        spec.preemption_policy = Some(policy);
    }
    Ok(())
}

/// A pod that says nothing of lost nodes stays on them for a while and then goes.
pub(crate) fn tolerate_lost_nodes(tolerations: &mut Vec<Toleration>) {
    let missing: Vec<&str> = LOST
        .into_iter()
        .filter(|key| {
            let bears = |toleration: &Toleration| {
                (toleration.key == *key || toleration.key.is_empty())
                    && matches!(toleration.effect.as_str(), "" | "NoExecute")
            };
            !tolerations.iter().any(bears)
        })
        .collect();
    tolerations.extend(missing.into_iter().map(|key| Toleration {
        effect: "NoExecute".to_owned(),
        key: key.to_owned(),
        operator: "Exists".to_owned(),
        toleration_seconds: Some(PATIENCE_SECONDS),
        ..Default::default()
    }));
}
