//! Pod groups: those that workloads ask for, and how long they stay.
//!
//! Invariant: a group is made once for a template, and is kept as long as a pod that has not ended refers to it.

use objects::core::pod::Pod;
use objects::meta::ObjectMeta;
use objects::scheduling::pod_group::{PodGroup, PodGroupSpec, WorkloadReference};
use objects::scheduling::workload::{PodGroupTemplate, Workload};

use crate::claimants::group_of;
use crate::jobs::make::owned_by;

/// Keeps a group from going while pods refer to it.
pub const PROTECTION: &str = "scheduling.k8s.io/podgroup-protection";

/// The longest name of an object.
const NAME_MAX: usize = 253;

/// The groups that a workload lacks, if nobody else makes them: it names no controller and has none.
pub fn missing(workload: &Workload, groups: &[&PodGroup]) -> Vec<PodGroup> {
    let has_controller =
        workload.metadata.owner_references.iter().any(|owner| owner.controller == Some(true));
    let is_going = workload.metadata.deletion_timestamp.is_some();
    if workload.spec.controller_ref.is_some() || has_controller || is_going {
        return Vec::new();
    }
    let lacks = |template: &&PodGroupTemplate| !groups.iter().any(|group| is_of(group, workload, template));
    let make = |template: &PodGroupTemplate| {
        let mut name = format!("{}-{}", workload.metadata.name, template.name);
        name.truncate(name.floor_char_boundary(NAME_MAX));
        let mut group = from_template(workload, template, name);
        group.metadata.owner_references.push(owned_by(workload));
        group
    };
    workload.spec.pod_group_templates.iter().filter(lacks).map(make).collect()
}

/// A group of a template, without owners.
pub(crate) fn from_template(workload: &Workload, template: &PodGroupTemplate, name: String) -> PodGroup {
    let metadata =
        ObjectMeta { name, namespace: workload.metadata.namespace.clone(), ..ObjectMeta::default() };
    let reference = WorkloadReference {
        workload_name: workload.metadata.name.clone(),
        template_name: template.name.clone(),
        ..WorkloadReference::default()
    };
    let spec = PodGroupSpec {
        disruption_mode: template.disruption_mode.clone(),
        preemption_policy: template.preemption_policy.clone(),
        priority: template.priority,
        priority_class_name: template.priority_class_name.clone(),
        resource_claims: template.resource_claims.clone(),
        scheduling_constraints: template.scheduling_constraints.clone(),
        scheduling_policy: template.scheduling_policy.clone(),
        workload_ref: Some(reference),
        ..PodGroupSpec::default()
    };
    PodGroup { metadata, spec, ..PodGroup::default() }
}

fn is_of(group: &PodGroup, workload: &Workload, template: &PodGroupTemplate) -> bool {
    let reference = group.spec.workload_ref.as_ref();
    group.metadata.namespace == workload.metadata.namespace
        && reference.is_some_and(|reference| {
            reference.workload_name == workload.metadata.name && reference.template_name == template.name
        })
}

/// The group without its protection, if it is to go and none of its pods is left that has not ended.
pub fn unprotected<'a>(group: &PodGroup, pods: impl IntoIterator<Item = &'a Pod>) -> Option<PodGroup> {
    let metadata = &group.metadata;
    let is_protected = metadata.finalizers.iter().any(|finalizer| finalizer == PROTECTION);
    if metadata.deletion_timestamp.is_none() || !is_protected {
        return None;
    }
    let uses = |pod: &Pod| {
        let is_over = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
        !is_over && pod.metadata.namespace == metadata.namespace && group_of(pod) == Some(&metadata.name)
    };
    if pods.into_iter().any(uses) {
        return None;
    }
    let mut free = group.clone();
    free.metadata.finalizers.retain(|finalizer| finalizer != PROTECTION);
    Some(free)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn workload(more: &Value) -> Workload {
        let template =
            |name: &str| json!({ "name": name, "schedulingPolicy": { "gang": { "minCount": 4 } } });
        let mut workload = json!({
            "metadata": { "name": "w", "namespace": "ns", "uid": "wu" },
            "spec": { "podGroupTemplates": [template("workers"), template("driver")] },
        });
        for part in ["metadata", "spec"] {
            for (field, value) in more[part].as_object().into_iter().flatten() {
                workload[part][field] = value.clone();
            }
        }
        serde_json::from_value(workload).expect("a workload")
    }

    fn names(groups: &[PodGroup]) -> Vec<&str> {
        groups.iter().map(|group| group.metadata.name.as_str()).collect()
    }

    #[test]
    fn a_workload_gets_a_group_for_each_template() {
        let workload = workload(&json!({}));
        let made = missing(&workload, &[]);
        assert_eq!(names(&made), ["w-workers", "w-driver"]);
        let written = serde_json::to_value(&made[0]).expect("a group can be written");
        assert_eq!(written["spec"]["workloadRef"], json!({ "workloadName": "w", "templateName": "workers" }));
        assert_eq!(written["spec"]["schedulingPolicy"], json!({ "gang": { "minCount": 4 } }));
        let owner = &written["metadata"]["ownerReferences"][0];
        assert_eq!(
            (&owner["kind"], &owner["uid"], &owner["controller"]),
            (&json!("Workload"), &json!("wu"), &json!(true))
        );
        assert_eq!(names(&missing(&workload, &[&made[1]])), ["w-workers"]);
        assert!(missing(&workload, &[&made[0], &made[1]]).is_empty());
    }

    #[test]
    fn a_workload_that_belongs_to_somebody_is_left_to_them() {
        let owner = json!([{ "kind": "JobSet", "controller": true }]);
        for more in [
            json!({ "spec": { "controllerRef": { "kind": "Job", "name": "j" } } }),
            json!({ "metadata": { "ownerReferences": owner } }),
            json!({ "metadata": { "deletionTimestamp": "2026-01-02T03:04:05Z" } }),
        ] {
            assert!(missing(&workload(&more), &[]).is_empty(), "{more}");
        }
        let bystander = json!({ "metadata": { "ownerReferences": [{ "kind": "Team" }] } });
        assert_eq!(missing(&workload(&bystander), &[]).len(), 2);
    }

    #[test]
    fn a_group_stays_while_a_pod_that_has_not_ended_refers_to_it() {
        let group = |deleted: bool| {
            let mut group = json!({ "metadata": { "name": "g", "namespace": "ns", "finalizers": ["other", PROTECTION] } });
            if deleted {
                group["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
            }
            serde_json::from_value::<PodGroup>(group).expect("a group")
        };
        let pod = |namespace: &str, group: &str, phase: &str| {
            let spec = json!({ "schedulingGroup": { "podGroupName": group } });
            let pod =
                json!({ "metadata": { "namespace": namespace }, "spec": spec, "status": { "phase": phase } });
            serde_json::from_value::<Pod>(pod).expect("a pod")
        };
        let others =
            [pod("ns", "g", "Succeeded"), pod("ns", "h", "Running"), pod("elsewhere", "g", "Running")];
        assert_eq!(unprotected(&group(false), &others), None);
        let free = unprotected(&group(true), &others).expect("nobody uses it");
        assert_eq!(free.metadata.finalizers, ["other"]);
        assert_eq!(unprotected(&free, &others), None);
        assert_eq!(unprotected(&group(true), &[pod("ns", "g", "Pending")]), None);
    }
}
