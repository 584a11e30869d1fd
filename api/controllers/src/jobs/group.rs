//! The group that a job's pods are scheduled with: a job that belongs to nobody gets a workload and a group of its own, and
//! one that says which template of its parent's workload it is for gets a group of that.
//!
//! Invariant: a job gets a group before its first pod, or never. Pods of one job are not half in a group.

use objects::Object;
use objects::batch::{Job, JobScheduling};
use objects::core::pod::Pod;
use objects::meta::{ObjectMeta, OwnerReference};
use objects::scheduling::job::JobGangSchedulingPolicy;
use objects::scheduling::pod_group::{
    BasicSchedulingPolicy, GangSchedulingPolicy, PodGroup, PodGroupSchedulingPolicy,
};
use objects::scheduling::workload::{PodGroupTemplate, TypedLocalObjectReference, Workload, WorkloadSpec};

use super::make::owned_by;
use super::verdict;
use crate::own_workloads::joined_by;
use crate::pod_groups;

/// The annotation of a job that says which template of its parent's workload it is for.
const TEMPLATE: &str = "scheduling.k8s.io/group-template-name";

/// The longest name of an object.
const NAME_MAX: usize = 253;

/// What to do before pods can be made.
#[derive(Clone, Debug, PartialEq)]
pub enum Grouping<'a> {
    /// Pods belong to this group, or to none.
    Settled(Option<&'a PodGroup>),
    /// Make this workload first.
    MakeWorkload(Box<Workload>),
    /// Make this group first.
    MakeGroup(Box<PodGroup>),
    /// Write this workload first: the size of its gang changed.
    ResizeWorkload(Box<Workload>),
    /// Write this group first: the size of its gang changed.
    ResizeGroup(Box<PodGroup>),
    /// The parent's workload is not there yet.
    Wait,
}

/// Decides about the group of a job, given the workloads and groups of its namespace.
pub fn grouping<'a>(
    job: &Job,
    pods: &[&Pod],
    workloads: &[&'a Workload],
    groups: &[&'a PodGroup],
) -> Grouping<'a> {
    if job.spec.template.spec.scheduling_group.is_some() {
        return Grouping::Settled(None);
    }
    // Such pods are placed as our own workload says, and a group would say otherwise. A job that has a group keeps it: its pods are
    // all in it or none is.
    let has_group = || groups.iter().any(|group| is_controlled_by(&group.metadata.owner_references, job));
    if joined_by(&job.spec.template.metadata.labels).is_some() && !has_group() {
        return Grouping::Settled(None);
    }
    match (controller(&job.metadata.owner_references), job.metadata.annotations.get(TEMPLATE)) {
        (None, _) => own_group(job, pods, workloads, groups),
        (Some(parent), Some(template)) => {
            let is_parents = |workload: &&&Workload| refers_to(workload, parent);
            let workload = workloads.iter().find(is_parents);
            let template = workload.and_then(|workload| {
                let mut templates = workload.spec.pod_group_templates.iter();
                Some((workload, templates.find(|one| one.name == *template)?))
            });
            match template {
                Some((workload, template)) => group_of(job, pods, workload, template, groups, None),
                None if is_new(job, pods) => Grouping::Wait,
                None => Grouping::Settled(None),
            }
        }
        (Some(_), None) => Grouping::Settled(None),
    }
}

/// A job that says which template of its parent's workload it is for.
pub fn is_delegated(job: &Job) -> bool {
    job.metadata.annotations.contains_key(TEMPLATE)
}

/// A job that belongs to nobody has a workload with one template.
fn own_group<'a>(
    job: &Job,
    pods: &[&Pod],
    workloads: &[&'a Workload],
    groups: &[&'a PodGroup],
) -> Grouping<'a> {
    let wanted = workload(job);
    let of_job = |one: &&&Workload| is_controlled_by(&one.metadata.owner_references, job);
    let found: Vec<&&Workload> = workloads.iter().filter(of_job).collect();
    let [found] = found[..] else {
        let none_yet = found.is_empty() && is_new(job, pods);
        return if none_yet { Grouping::MakeWorkload(Box::new(wanted)) } else { Grouping::Settled(None) };
    };
    let ([template], [wanted]) = (&found.spec.pod_group_templates[..], &wanted.spec.pod_group_templates[..])
    else {
        return Grouping::Settled(None);
    };
    if let Some(policy) = resized(&template.scheduling_policy, &wanted.scheduling_policy) {
        let mut resized = Workload::clone(found);
        resized.spec.pod_group_templates[0].scheduling_policy = policy;
        return Grouping::ResizeWorkload(Box::new(resized));
    }
    let owner = OwnerReference { controller: None, block_owner_deletion: None, ..owned_by(*found) };
    group_of(job, pods, found, template, groups, Some(owner))
}

/// The group of a template that the job controls.
fn group_of<'a>(
    job: &Job,
    pods: &[&Pod],
    workload: &Workload,
    template: &PodGroupTemplate,
    groups: &[&'a PodGroup],
    beside: Option<OwnerReference>,
) -> Grouping<'a> {
    let of_job = |group: &&&PodGroup| {
        let reference = group.spec.workload_ref.as_ref();
        is_controlled_by(&group.metadata.owner_references, job)
            && reference.is_some_and(|reference| reference.workload_name == workload.metadata.name)
    };
    let Some(group) = groups.iter().find(of_job) else {
        if !is_new(job, pods) {
            return Grouping::Settled(None);
        }
        let name = group_name(&workload.metadata.name, &template.name);
        let mut group = pod_groups::from_template(workload, template, name);
        group.metadata.owner_references = [owned_by(job)].into_iter().chain(beside).collect();
        return Grouping::MakeGroup(Box::new(group));
    };
    match resized(&group.spec.scheduling_policy, &template.scheduling_policy) {
        Some(policy) => {
            let mut resized = PodGroup::clone(group);
            resized.spec.scheduling_policy = policy;
            Grouping::ResizeGroup(Box::new(resized))
        }
        None => Grouping::Settled(Some(group)),
    }
}

/// The workload of a job: one template, as the job's scheduling says.
fn workload(job: &Job) -> Workload {
    let asked = job.spec.scheduling.clone().unwrap_or_default();
    let JobScheduling { disruption_mode, resource_claims, scheduling_constraints, scheduling_policy, .. } =
        asked;
    let least = |gang: JobGangSchedulingPolicy| gang.min_count.or(job.spec.parallelism).unwrap_or(1).max(1);
    let scheduling_policy = match scheduling_policy.and_then(|policy| policy.gang) {
        Some(gang) => PodGroupSchedulingPolicy {
            gang: Some(GangSchedulingPolicy { min_count: least(gang), ..Default::default() }),
            ..PodGroupSchedulingPolicy::default()
        },
        None => PodGroupSchedulingPolicy {
            basic: Some(BasicSchedulingPolicy::default()),
            ..PodGroupSchedulingPolicy::default()
        },
    };
    let template = PodGroupTemplate {
        name: format!("{}-pgt-0", job.metadata.name),
        disruption_mode,
        resource_claims,
        scheduling_constraints,
        scheduling_policy,
        priority_class_name: job.spec.template.spec.priority_class_name.clone(),
        ..PodGroupTemplate::default()
    };
    let controller = TypedLocalObjectReference {
        api_group: "batch".to_owned(),
        kind: Job::KIND.to_owned(),
        name: job.metadata.name.clone(),
        ..TypedLocalObjectReference::default()
    };
    let metadata = ObjectMeta {
        name: workload_name(job),
        namespace: job.metadata.namespace.clone(),
        owner_references: vec![owned_by(job)],
        ..ObjectMeta::default()
    };
    let spec = WorkloadSpec {
        controller_ref: Some(controller),
        pod_group_templates: vec![template],
        ..WorkloadSpec::default()
    };
    Workload { metadata, spec, ..Workload::default() }
}

/// The policy to write if two gangs differ in size.
fn resized(
    have: &PodGroupSchedulingPolicy,
    wanted: &PodGroupSchedulingPolicy,
) -> Option<PodGroupSchedulingPolicy> {
    let (now, then) = (have.gang.as_ref()?, wanted.gang.as_ref()?);
    (now.min_count != then.min_count).then(|| wanted.clone())
}

/// Nothing was done for the job yet.
fn is_new(job: &Job, pods: &[&Pod]) -> bool {
    let status = &job.status;
    let was_suspended = status.conditions.iter().any(|condition| condition.type_ == "Suspended");
    let has_begun = status.start_time.is_some() || status.succeeded != 0 || status.failed != 0;
    pods.is_empty() && !has_begun && !was_suspended && !verdict::holds(status, "FailureTarget")
}

fn controller(owners: &[OwnerReference]) -> Option<&OwnerReference> {
    owners.iter().find(|owner| owner.controller == Some(true))
}

fn is_controlled_by(owners: &[OwnerReference], job: &Job) -> bool {
    controller(owners).is_some_and(|owner| owner.uid == job.metadata.uid)
}

/// Whether a workload says that it belongs to an owner.
fn refers_to(workload: &Workload, owner: &OwnerReference) -> bool {
    let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
    workload.spec.controller_ref.as_ref().is_some_and(|reference| {
        reference.api_group == group && reference.kind == owner.kind && reference.name == owner.name
    })
}

/// The name of a job's workload: that of the job, and a few characters that follow from its uid.
fn workload_name(job: &Job) -> String {
    let hash = hash(&[&format!("(types.UID){}", job.metadata.uid)]);
    let name = &job.metadata.name;
    let end = name.floor_char_boundary(NAME_MAX - hash.len() - 1);
    format!("{}-{hash}", &name[..end])
}

/// The name of a group: those of the workload and of the template, and a few characters that follow from both. If they are
/// too long for one name, both are cut.
fn group_name(workload: &str, template: &str) -> String {
    let hash = hash(&[workload, template]);
    let room = NAME_MAX - hash.len() - 2;
    let (of_workload, of_template) = if workload.len() + template.len() <= room {
        (workload.len(), template.len())
    } else {
        let of_template = template.len().min((room / 2).max(room.saturating_sub(workload.len())));
        (room - of_template, of_template)
    };
    let cut = |name: &str, end: usize| name[..name.floor_char_boundary(end)].to_owned();
    format!("{}-{}-{hash}", cut(workload, of_workload), cut(template, of_template))
}

/// A few characters that follow from texts: FNV-1a of 32 bits, in characters that make no words.
fn hash(texts: &[&str]) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mix = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let sum = texts.iter().flat_map(|text| text.bytes()).fold(0x811c_9dc5, mix);
    sum.to_string().bytes().map(|digit| char::from(LETTERS[usize::from(digit) % LETTERS.len()])).collect()
}

#[cfg(test)]
mod tests {
    use objects::supercargo::annotations::{POD_GROUP_LABEL, WORKLOAD_LABEL};
    use serde_json::{Value, json};

    use super::*;

    fn job(more: &Value) -> Job {
        let mut job = json!({
            "metadata": { "name": "train", "namespace": "ns", "uid": "u" },
            "spec": { "parallelism": 4, "template": { "spec": { "priorityClassName": "high" } } },
        });
        for part in ["metadata", "spec", "status"] {
            for (field, value) in more[part].as_object().into_iter().flatten() {
                job[part][field] = value.clone();
            }
        }
        serde_json::from_value(job).expect("a job")
    }

    fn gang(least: &Value) -> Value {
        json!({ "spec": { "scheduling": { "schedulingPolicy": { "gang": least } } } })
    }

    /// Everything that a job needs before its pods, one after the other.
    fn made(job: &Job) -> (Workload, PodGroup) {
        let Grouping::MakeWorkload(workload) = grouping(job, &[], &[], &[]) else { panic!("no workload") };
        let Grouping::MakeGroup(group) = grouping(job, &[], &[&workload], &[]) else { panic!("no group") };
        (*workload, *group)
    }

    #[test]
    fn a_job_gets_a_workload_and_a_group() {
        let job = job(&gang(&json!({})));
        let (workload, group) = made(&job);
        assert_eq!(grouping(&job, &[], &[&workload], &[&group]), Grouping::Settled(Some(&group)));
        let written = serde_json::to_value(&workload).expect("it can be written");
        assert_eq!(
            written["spec"]["controllerRef"],
            json!({ "apiGroup": "batch", "kind": "Job", "name": "train" })
        );
        let template = json!({
            "name": "train-pgt-0", "priorityClassName": "high",
            "schedulingPolicy": { "gang": { "minCount": 4 } },
        });
        assert_eq!(written["spec"]["podGroupTemplates"], json!([template]));
        let owners = &group.metadata.owner_references;
        assert_eq!((owners[0].kind.as_str(), owners[0].controller), ("Job", Some(true)));
        assert_eq!((owners[1].kind.as_str(), owners[1].controller), ("Workload", None));
        assert!(group.metadata.name.starts_with(&format!("{}-train-pgt-0-", workload.metadata.name)));
    }

    #[test]
    fn a_job_that_says_nothing_gets_a_group_that_is_no_gang() {
        let (_, group) = made(&job(&json!({})));
        assert_eq!(
            (group.spec.scheduling_policy.basic.is_some(), group.spec.scheduling_policy.gang),
            (true, None)
        );
    }

    #[test]
    fn a_job_that_has_begun_gets_nothing_more() {
        for status in [json!({ "startTime": "2026-01-02T03:04:05Z" }), json!({ "failed": 1 })] {
            let begun = job(&json!({ "status": status }));
            assert_eq!(grouping(&begun, &[], &[], &[]), Grouping::Settled(None));
        }
        let pod = Pod::default();
        assert_eq!(grouping(&job(&json!({})), &[&pod], &[], &[]), Grouping::Settled(None));
    }

    #[test]
    fn pods_that_name_a_group_need_no_other() {
        let template = json!({ "spec": { "schedulingGroup": { "podGroupName": "mine" } } });
        let job = job(&json!({ "spec": { "template": template } }));
        assert_eq!(grouping(&job, &[], &[], &[]), Grouping::Settled(None));
    }

    #[test]
    fn pods_that_join_a_workload_of_ours_by_their_labels_need_no_group() {
        let joining = |labels: Value| {
            let template = json!({ "metadata": { "labels": labels } });
            let mut joining = job(&json!({ "spec": { "template": template } }));
            joining.spec.scheduling = job(&gang(&json!({}))).spec.scheduling;
            joining
        };
        let joins = joining(json!({ WORKLOAD_LABEL: "w", POD_GROUP_LABEL: "workers" }));
        assert_eq!(grouping(&joins, &[], &[], &[]), Grouping::Settled(None));
        // It takes both to join.
        let almost = joining(json!({ WORKLOAD_LABEL: "w", POD_GROUP_LABEL: "" }));
        assert!(matches!(grouping(&almost, &[], &[], &[]), Grouping::MakeWorkload(_)));
        // One that was given a group before keeps it.
        let (workload, group) = made(&job(&json!({})));
        assert_eq!(grouping(&joins, &[], &[&workload], &[]), Grouping::Settled(None));
        let kept = grouping(&joins, &[], &[&workload], &[&group]);
        assert!(!matches!(kept, Grouping::Settled(None)), "{kept:?}");
    }

    #[test]
    fn a_gang_that_changes_its_size_changes_both() {
        let (workload, group) = made(&job(&gang(&json!({ "minCount": 2 }))));
        let smaller = job(&gang(&json!({ "minCount": 3 })));
        let Grouping::ResizeWorkload(workload) = grouping(&smaller, &[], &[&workload], &[&group]) else {
            panic!("the workload comes first")
        };
        let Grouping::ResizeGroup(group) = grouping(&smaller, &[], &[&workload], &[&group]) else {
            panic!("the group comes next")
        };
        assert_eq!(grouping(&smaller, &[], &[&workload], &[&group]), Grouping::Settled(Some(&group)));
    }

    #[test]
    fn a_job_of_a_parent_waits_for_the_parents_workload() {
        let owner = json!([{ "apiVersion": "jobset.x-k8s.io/v1", "kind": "JobSet", "name": "set", "uid": "s", "controller": true }]);
        let child =
            job(&json!({ "metadata": { "ownerReferences": owner, "annotations": { TEMPLATE: "workers" } } }));
        assert_eq!(grouping(&child, &[], &[], &[]), Grouping::Wait);
        let reference = json!({ "apiGroup": "jobset.x-k8s.io", "kind": "JobSet", "name": "set" });
        let template = json!({ "name": "workers", "schedulingPolicy": { "gang": { "minCount": 8 } } });
        let workload = json!({
            "metadata": { "name": "w", "namespace": "ns" },
            "spec": { "controllerRef": reference, "podGroupTemplates": [template] },
        });
        let workload: Workload = serde_json::from_value(workload).expect("a workload");
        let Grouping::MakeGroup(group) = grouping(&child, &[], &[&workload], &[]) else { panic!("no group") };
        assert_eq!(group.metadata.owner_references.len(), 1);
        assert_eq!(grouping(&child, &[], &[&workload], &[&group]), Grouping::Settled(Some(&group)));
        let alone = job(&json!({ "metadata": { "ownerReferences": owner } }));
        assert_eq!(grouping(&alone, &[], &[&workload], &[]), Grouping::Settled(None));
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        for (workload, template) in [(200, 63), (253, 63), (100, 200), (10, 250), (5, 5)] {
            let name = group_name(&"w".repeat(workload), &"t".repeat(template));
            assert!(name.len() <= NAME_MAX, "{}", name.len());
        }
        assert_ne!(group_name("a", "b-c"), group_name("a-b", "c"));
    }
}
