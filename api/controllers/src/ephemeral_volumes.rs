//! Claims for volumes that a pod brings along: made for the pod, owned by it, and gone with it.

use objects::Object;
use objects::core::kinds::PersistentVolumeClaim;
use objects::core::pod::Pod;
use objects::meta::{ObjectMeta, OwnerReference};

/// The claims that a pod needs and that have yet to be made. Whether there is a claim of a name is for the caller to say, whoever it
/// was made for.
#[must_use]
pub fn missing(pod: &Pod, exists: impl Fn(&str) -> bool) -> Vec<PersistentVolumeClaim> {
    if pod.metadata.deletion_timestamp.is_some() {
        return Vec::new();
    }
    let claims = pod.spec.volumes.iter().filter(|volume| volume.persistent_volume_claim.is_none());
    let claims = claims.filter_map(|volume| {
        let template = volume.ephemeral.as_ref()?.volume_claim_template.as_ref()?;
        let name = format!("{}-{}", pod.metadata.name, volume.name);
        (!exists(&name)).then(|| PersistentVolumeClaim {
            metadata: ObjectMeta {
                name,
                namespace: pod.metadata.namespace.clone(),
                labels: template.metadata.labels.clone(),
                annotations: template.metadata.annotations.clone(),
                owner_references: vec![owner(pod)],
                ..ObjectMeta::default()
            },
            spec: template.spec.clone(),
            ..PersistentVolumeClaim::default()
        })
    });
    claims.collect()
}

fn owner(pod: &Pod) -> OwnerReference {
    OwnerReference {
        api_version: Pod::API_VERSION.to_owned(),
        kind: Pod::KIND.to_owned(),
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
        ..OwnerReference::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_is_made_for_each_volume_that_a_pod_brings_along_and_is_the_pods_own() {
        let template =
            json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "storageClassName": "fast" } });
        let volumes = json!([
            { "name": "scratch", "ephemeral": { "volumeClaimTemplate": template } },
            { "name": "tmp", "ephemeral": { "volumeClaimTemplate": template } },
            { "name": "data", "persistentVolumeClaim": { "claimName": "disk" } },
            { "name": "none", "emptyDir": {} },
        ]);
        let pod = json!({ "metadata": { "name": "p", "namespace": "ns", "uid": "u" }, "spec": { "volumes": volumes } });
        let mut pod = Pod::read_value(&pod).expect("a pod");
        let made = missing(&pod, |name| name == "p-tmp");
        let names: Vec<&str> = made.iter().map(|claim| claim.metadata.name.as_str()).collect();
        assert_eq!(names, ["p-scratch"]);
        let PersistentVolumeClaim { metadata, spec, .. } = &made[0];
        assert_eq!(
            (metadata.namespace.as_str(), metadata.labels.get("app").map(String::as_str)),
            ("ns", Some("web"))
        );
        assert_eq!((spec.storage_class_name.as_deref(), metadata.owner_references.len()), (Some("fast"), 1));
        let owner = &metadata.owner_references[0];
        assert_eq!((owner.uid.as_str(), owner.controller), ("u", Some(true)));
        pod.metadata.deletion_timestamp = Some(objects::Time(model::timestamp::Timestamp::from_micros(0)));
        assert!(missing(&pod, |_| false).is_empty());
    }
}
