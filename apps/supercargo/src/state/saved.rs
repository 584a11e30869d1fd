//! Kinds of which a saved state has no object although others of its objects belong to such: perhaps they were not saved.

use std::collections::BTreeSet;
use std::io::Write;

use cluster::change::Change;
use simulation::Observation;

/// Tells which kinds may be missing in a saved state that has objects of these kinds.
pub(super) fn tell_missing(saved: &Observation, kinds: &BTreeSet<String>, complaints: &mut dyn Write) {
    let missing: Vec<&str> = expected(saved)
        .into_iter()
        .filter(|(kind, _)| !kinds.contains(*kind))
        .map(|(_, plural)| plural)
        .collect();
    if missing.is_empty() {
        return;
    }
    let (all, get) = (missing.join(", "), missing.join(","));
    let then = format!("if the cluster has some, add the output of `kubectl get {get} -A -o yaml`");
    // A caller that closed stderr reads no notes.
    let _ = writeln!(complaints, "note: the saved state has no {all}; {then}");
}

/// The kinds that decisions about what was saved depend on, with the names that kubectl has for them.
fn expected(saved: &Observation) -> Vec<(&'static str, &'static str)> {
    let pods = saved.changes.iter().filter_map(|change| match change {
        Change::PodApplied(pod) => Some(pod),
        _ => None,
    });
    let (mut has_claims, mut has_volumes, mut has_groups) = (!saved.uses.is_empty(), false, false);
    for pod in pods {
        has_claims |= !pod.claims.is_empty();
        has_volumes |= !pod.shape.volume_claims.is_empty();
        has_groups |= pod.group.is_some();
    }
    let mut kinds = vec![("Node", "nodes"), ("Pod", "pods")];
    if has_claims {
        kinds.extend([
            ("ResourceSlice", "resourceslices"),
            ("ResourceClaim", "resourceclaims"),
            ("DeviceClass", "deviceclasses"),
        ]);
    }
    if has_volumes {
        kinds.extend([
            ("PersistentVolumeClaim", "persistentvolumeclaims"),
            ("PersistentVolume", "persistentvolumes"),
            ("StorageClass", "storageclasses"),
        ]);
    }
    if has_groups {
        kinds.push(("PodGroup", "podgroups"));
    }
    kinds
}
