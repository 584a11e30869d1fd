//! Volumes and claims for them as calls of the API: a volume is noted as one for a claim, or a claim as one for which a volume is
//! to be provisioned.
//!
//! Each call goes to the version that was read and no other, so of two schedulers that want one volume only one gets it.

use convert::SELECTED_NODE;
use model::volume::VolumeClaimId;
use objects::Object as _;
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use serde_json::json;

use crate::request::{ApiCall, Next, RequestError, Seen, Verb};

/// Says of a volume that its claim was found by a program.
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// Notes on a volume which claim it is for.
pub(crate) fn bind(
    seen: &Seen<'_>,
    uid: &str,
    (claim, claim_uid): (&VolumeClaimId, &str),
) -> Result<Next, RequestError> {
    let volume = seen.volume.filter(|volume| volume.metadata.uid == uid).ok_or(RequestError::Gone)?;
    if volume.metadata.deletion_timestamp.is_some() {
        return Err(RequestError::Deleting);
    }
    let mut metadata = json!({ "uid": uid, "resourceVersion": volume.metadata.resource_version });
    match &volume.spec.claim_ref {
        Some(owner) if owner.namespace != *claim.namespace || owner.name != *claim.name => {
            return Err(RequestError::Taken(format!("{}/{}", owner.namespace, owner.name)));
        }
        Some(owner) if owner.uid == claim_uid => return Ok(Next::Done),
        Some(owner) if !owner.uid.is_empty() => return Err(RequestError::Taken(claim.to_string())),
        // Somebody has noted the claim by hand.
        Some(_) => {}
        None => metadata["annotations"] = json!({ BOUND_BY_CONTROLLER: "yes" }),
    }
    let owner = json!({
        "apiVersion": PersistentVolumeClaim::API_VERSION,
        "kind": PersistentVolumeClaim::KIND,
        "namespace": *claim.namespace,
        "name": *claim.name,
        "uid": claim_uid,
    });
    Ok(Next::Last(ApiCall {
        verb: Verb::Patch,
        kind: PersistentVolume::KIND,
        namespace: String::new(),
        name: volume.metadata.name.clone(),
        subresource: None,
        body: json!({ "metadata": metadata, "spec": { "claimRef": owner } }),
    }))
}

/// Notes on a claim for which node a volume is to be provisioned.
pub(crate) fn select_node(seen: &Seen<'_>, uid: &str, node: &str) -> Result<Next, RequestError> {
    let claim = seen.volume_claim.filter(|claim| claim.metadata.uid == uid).ok_or(RequestError::Gone)?;
    match claim.metadata.annotations.get(SELECTED_NODE) {
        Some(known) if known == node => return Ok(Next::Done),
        Some(known) => return Err(RequestError::Selected(known.clone())),
        None => {}
    }
    if claim.metadata.deletion_timestamp.is_some() {
        return Err(RequestError::Deleting);
    }
    if !claim.spec.volume_name.is_empty() {
        return Err(RequestError::HasVolume(claim.spec.volume_name.clone()));
    }
    let version = &claim.metadata.resource_version;
    let annotations = json!({ SELECTED_NODE: node });
    Ok(Next::Last(ApiCall {
        verb: Verb::Patch,
        kind: PersistentVolumeClaim::KIND,
        namespace: claim.metadata.namespace.clone(),
        name: claim.metadata.name.clone(),
        subresource: None,
        body: json!({ "metadata": { "uid": uid, "resourceVersion": version, "annotations": annotations } }),
    }))
}
