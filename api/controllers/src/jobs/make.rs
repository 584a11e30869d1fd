//! Pods of jobs: what their template says, with an owner, a finalizer that keeps them until they are counted, and for
//! indexed jobs their index.

use objects::Object;
use objects::batch::Job;
use objects::core::container::{Container, EnvVar, EnvVarSource, ObjectFieldSelector};
use objects::core::pod::{Pod, PodSchedulingGroup};
use objects::meta::{ObjectMeta, OwnerReference};
use objects::scheduling::pod_group::PodGroup;

use super::{INDEX, INDEX_FAILURES, TRACKING};

/// The variable that tells a container its index.
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

/// How long a name may be before five characters are added.
const PREFIX_MAX: usize = 58;

/// An index, and how often it failed if that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) index: u32,
    pub(super) failures: Option<u32>,
}

/// A pod of a job.
pub(super) fn pod(job: &Job, slot: Option<Slot>, group: Option<&PodGroup>) -> Pod {
    let template = &job.spec.template;
    let (mut labels, mut annotations) =
        (template.metadata.labels.clone(), template.metadata.annotations.clone());
    let mut spec = template.spec.clone();
    let mut prefix = format!("{}-", job.metadata.name);
    if let Some(Slot { index, failures }) = slot {
        labels.insert(INDEX.to_owned(), index.to_string());
        annotations.insert(INDEX.to_owned(), index.to_string());
        if let Some(failures) = failures {
            annotations.insert(INDEX_FAILURES.to_owned(), failures.to_string());
        }
        spec.hostname = format!("{}-{index}", job.metadata.name);
        spec.init_containers.iter_mut().chain(&mut spec.containers).for_each(tell_index);
        prefix = indexed_prefix(&job.metadata.name, index);
    }
    if let Some(group) = group {
        // The group is no owner. Its protection keeps it while pods refer to it, and an owner that is there keeps its pods:
        // neither would go when the job does.
        let pod_group_name = Some(group.metadata.name.clone());
        spec.scheduling_group = Some(PodSchedulingGroup { pod_group_name, ..Default::default() });
    }
    let mut finalizers = template.metadata.finalizers.clone();
    if !finalizers.iter().any(|finalizer| finalizer == TRACKING) {
        finalizers.push(TRACKING.to_owned());
    }
    let metadata = ObjectMeta {
        generate_name: prefix,
        namespace: job.metadata.namespace.clone(),
        labels,
        annotations,
        finalizers,
        owner_references: vec![owned_by(job)],
        ..ObjectMeta::default()
    };
    Pod { metadata, spec, ..Pod::default() }
}

/// A reference to the one controller of an object.
pub(crate) fn owned_by<K: Object>(owner: &K) -> OwnerReference {
    OwnerReference {
        api_version: K::API_VERSION.to_owned(),
        kind: K::KIND.to_owned(),
        name: owner.metadata().name.clone(),
        uid: owner.metadata().uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
        ..OwnerReference::default()
    }
}

/// Tells a container the index, unless it has a variable of that name.
fn tell_index(container: &mut Container) {
    if container.env.iter().any(|variable| variable.name == INDEX_VARIABLE) {
        return;
    }
    let field_path = format!("metadata.labels['{INDEX}']");
    let field = ObjectFieldSelector { field_path, ..ObjectFieldSelector::default() };
    let source = EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() };
    let name = INDEX_VARIABLE.to_owned();
    container.env.push(EnvVar { name, value_from: Some(source), ..EnvVar::default() });
}

/// The name before its last five characters. A long name is cut, and the index is not.
fn indexed_prefix(job: &str, index: u32) -> String {
    let ending = format!("-{index}-");
    let end = job.floor_char_boundary(PREFIX_MAX - ending.len());
    format!("{}{ending}", &job[..end])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn job() -> Job {
        let spec = json!({
            "containers": [{ "name": "c", "image": "i" }, { "name": "d", "env": [{ "name": INDEX_VARIABLE, "value": "7" }] }],
        });
        let metadata = json!({ "labels": { "job-name": "train" }, "annotations": { "a": "b" } });
        let job = json!({
            "metadata": { "name": "train", "namespace": "ns", "uid": "u" },
            "spec": { "template": { "metadata": metadata, "spec": spec } },
        });
        serde_json::from_value(job).expect("a job")
    }

    fn written(pod: &Pod) -> Value {
        serde_json::to_value(pod).expect("a pod can be written")
    }

    #[test]
    fn a_pod_is_owned_by_its_job_and_kept_until_it_is_counted() {
        let pod = written(&pod(&job(), None, None));
        let owner = json!({
            "apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u",
            "controller": true, "blockOwnerDeletion": true,
        });
        let expected = json!({
            "generateName": "train-", "namespace": "ns", "labels": { "job-name": "train" },
            "annotations": { "a": "b" }, "finalizers": [TRACKING], "ownerReferences": [owner],
        });
        assert_eq!(pod["metadata"], expected);
        assert_eq!(pod["spec"]["containers"][0], json!({ "name": "c", "image": "i" }));
    }

    #[test]
    fn an_indexed_pod_knows_its_index() {
        let pod = written(&pod(&job(), Some(Slot { index: 3, failures: Some(2) }), None));
        assert_eq!(pod["metadata"]["generateName"], "train-3-");
        assert_eq!(pod["metadata"]["labels"][INDEX], "3");
        assert_eq!(
            pod["metadata"]["annotations"],
            json!({ "a": "b", INDEX: "3", "batch.kubernetes.io/job-index-failure-count": "2" })
        );
        assert_eq!(pod["spec"]["hostname"], "train-3");
        let field = json!({ "fieldRef": { "fieldPath": format!("metadata.labels['{INDEX}']") } });
        let variable = json!([{ "name": INDEX_VARIABLE, "valueFrom": field }]);
        assert_eq!(pod["spec"]["containers"][0]["env"], variable);
        assert_eq!(pod["spec"]["containers"][1]["env"][0]["value"], "7");
    }

    #[test]
    fn a_pod_of_a_group_names_it_and_goes_with_the_job_alone() {
        let mut group = PodGroup::default();
        group.metadata.name = "g".to_owned();
        let pod = pod(&job(), None, Some(&group));
        assert_eq!(written(&pod)["spec"]["schedulingGroup"], json!({ "podGroupName": "g" }));
        assert_eq!(pod.metadata.owner_references.len(), 1);
    }

    #[test]
    fn a_long_name_is_cut_before_the_index() {
        assert_eq!(indexed_prefix(&"j".repeat(60), 12), format!("{}-12-", "j".repeat(54)));
        assert_eq!(indexed_prefix("j", 0), "j-0-");
    }
}
