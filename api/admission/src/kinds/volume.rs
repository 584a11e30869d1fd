//! Volumes of a pod: names, and one source each.

use std::collections::BTreeMap;

use objects::core::container::Volume;
use objects::core::pod::PodSpec;
use schema::Path;

use crate::cause::Causes;
use crate::names;

/// The volumes that containers can use: whether each of them comes from a claim.
pub(crate) struct KnownVolumes<'a>(BTreeMap<&'a str, bool>);

impl KnownVolumes<'_> {
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The volume comes from a claim; nothing if there is no such volume.
    pub(crate) fn is_claim(&self, name: &str) -> Option<bool> {
        self.0.get(name).copied()
    }
}

/// A volume without a source is an empty directory.
pub(crate) fn set_defaults(spec: &mut PodSpec) {
    for volume in &mut spec.volumes {
        if sources(volume).is_empty() {
            volume.empty_dir = Some(Default::default());
        }
    }
}

/// The sources that a volume names.
pub(crate) fn sources(volume: &Volume) -> Vec<&str> {
    let named = [
        ("emptyDir", volume.empty_dir.is_some()),
        ("gcePersistentDisk", volume.gce_persistent_disk.is_some()),
        ("awsElasticBlockStore", volume.aws_elastic_block_store.is_some()),
        ("iscsi", volume.iscsi.is_some()),
        ("persistentVolumeClaim", volume.persistent_volume_claim.is_some()),
        ("rbd", volume.rbd.is_some()),
        ("cinder", volume.cinder.is_some()),
        ("azureDisk", volume.azure_disk.is_some()),
        ("portworxVolume", volume.portworx_volume.is_some()),
        ("ephemeral", volume.ephemeral.is_some()),
        ("image", volume.image.is_some()),
    ];
    let named = named.into_iter().filter(|(_, set)| *set).map(|(name, _)| name);
    volume.rest.names().chain(named).collect()
}

/// Checks the volumes, and returns those that are well formed.
pub(crate) fn validate<'a>(
    spec: &'a PodSpec,
    pod: &str,
    path: &Path<'_>,
    causes: &mut Causes,
) -> KnownVolumes<'a> {
    let mut known = BTreeMap::new();
    let made: Vec<String> = spec
        .volumes
        .iter()
        .filter(|volume| volume.ephemeral.is_some() && !pod.is_empty())
        .map(|volume| format!("{pod}-{}", volume.name))
        .collect();
    for (index, volume) in spec.volumes.iter().enumerate() {
        let path = path.index(index);
        let mut faults = Causes::default();
        validate_source(volume, &path, &mut faults);
        if volume.name.is_empty() {
            faults.required(&path.field("name"), "must be set");
        } else {
            faults.malformed(&path.field("name"), &volume.name, names::dns_label(&volume.name));
        }
        if known.contains_key(volume.name.as_str()) {
            faults.duplicate(&path.field("name"), &volume.name);
        }
        if faults.is_empty() {
            let claim = volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some();
            known.insert(volume.name.as_str(), claim);
        } else {
            causes.extend(faults);
        }
        if let Some(claim) = &volume.persistent_volume_claim
            && made.contains(&claim.claim_name)
        {
            let path = path.field("persistentVolumeClaim");
            causes.invalid(&path.field("claimName"), "this claim is made for another volume of the pod");
        }
    }
    KnownVolumes(known)
}

/// Exactly one source; of several, the first counts and the others are refused.
fn validate_source(volume: &Volume, path: &Path<'_>, causes: &mut Causes) {
    let sources = sources(volume);
    // An empty directory is looked at first, the rest in any order: one of them is enough.
    let first = if volume.empty_dir.is_some() { Some("emptyDir") } else { sources.first().copied() };
    let Some(first) = first else {
        causes.required(path, "must have a source");
        return;
    };
    for other in sources.iter().filter(|name| **name != first) {
        causes.forbidden(&path.field(other), "a volume has one source");
    }
    if let Some(directory) = &volume.empty_dir
        && directory.size_limit.as_ref().is_some_and(|limit| limit.0.signum() < 0)
    {
        causes.forbidden(&path.field("emptyDir").field("sizeLimit"), "must not be negative");
    }
    if let Some(claim) = &volume.persistent_volume_claim
        && first == "persistentVolumeClaim"
        && claim.claim_name.is_empty()
    {
        causes.required(&path.field("persistentVolumeClaim").field("claimName"), "must be set");
    }
}
