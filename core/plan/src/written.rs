//! What an API server would tell after a write of the scheduler, if nothing went wrong.
//!
//! Devices that have to be made ready are ready at once, and what drivers' controllers are asked is never answered: what they would
//! say is not known here.

use std::sync::Arc;

use cluster::change::{Change, StorageChange};
use cluster::claims::ClaimState;
use cluster::facts::Facts;
use cluster::what_if;
use decisions::holding::held;
use model::claim::{Claim, ClaimId, ClaimSpec};
use model::identity::{ClaimUid, PodUid};
use model::pod::{Landing, Pod};
use model::volume::{Volume, VolumeClaim, VolumeOwner};
use scheduler::write::Write;

/// What is told after a write, or why it fails. `number` is one that no other write has.
pub(crate) fn written(facts: &Facts, write: &Write, number: u64) -> Result<Vec<Change>, String> {
    let change = match write {
        Write::Allocate { claim, .. }
        | Write::Reserve { claim, .. }
        | Write::Release { claim, .. }
        | Write::Deallocate { claim, .. } => {
            let known = facts.claims.get(claim).ok_or_else(|| format!("claim {claim} is not there"))?;
            Change::ClaimApplied(Box::new(changed_claim(known, write)))
        }
        Write::MakeClaim { uid, spec, allocation, .. } => {
            let pod = facts.waiting.get(uid).ok_or("the pod is not there")?;
            let name = format!("{}-extended-resources-{number}", pod.id.name);
            let id = ClaimId { namespace: pod.id.namespace.clone(), name: name.into() };
            let claim_uid: ClaimUid = format!("{id}-of-{uid}").into();
            let allocated = held(&id.clone().into(), &claim_uid, allocation).0;
            Change::ClaimApplied(Box::new(ClaimState {
                uid: claim_uid,
                version: "1".into(),
                wish: Arc::new(Claim { id, spec: ClaimSpec::clone(spec) }),
                allocation: Some(Arc::new(allocated)),
                reserved_for: vec![uid.into()],
                owner: Some(uid.into()),
                extended: true,
                deleting: false,
                protected: true,
                preparation: None,
                control: Default::default(),
            }))
        }
        Write::DeleteClaim { claim, .. } => Change::ClaimGone(claim.clone()),
        Write::BindVolume { volume, claim, claim_uid, .. } => {
            let known = facts.volumes.volume(volume).ok_or("the volume is not there")?;
            let owner = VolumeOwner { id: claim.clone(), uid: Some(claim_uid.clone()) };
            let revision = known.revision + 1;
            let volume = Volume { claim: Some(owner), revision, ..Volume::clone(known) };
            Change::Storage(StorageChange::VolumeApplied(Box::new(volume)))
        }
        Write::SelectNode { claim, node, .. } => {
            let known = facts.volumes.claim(&claim.namespace, &claim.name).ok_or("the claim is not there")?;
            let (selected_node, revision) = (Some(node.clone()), known.revision + 1);
            let claim = VolumeClaim { selected_node, revision, ..VolumeClaim::clone(known) };
            Change::Storage(StorageChange::VolumeClaimApplied(Box::new(claim)))
        }
        Write::Bind { uid, node, together, .. } => {
            // On its way it counts with what its devices take of the node, as it does once that is noted.
            let (_, pod) = facts.nodes.pod(uid).ok_or("the pod is not there")?;
            let landing = together.clone().map(|together| Landing { together, is_over: false });
            let node = Some(node.clone());
            Change::PodApplied(Arc::new(Pod { node, landing, nominated_node: None, ..Pod::clone(pod) }))
        }
        Write::Nominate { uid, node, .. } => {
            let pod = facts.waiting.get(uid).ok_or("the pod is not there")?;
            Change::PodApplied(Arc::new(Pod { nominated_node: node.clone(), ..Pod::clone(pod) }))
        }
        Write::Evict { uid, .. } => return Ok(gone(facts, uid)),
        Write::Negotiate { .. }
        | Write::EndNegotiation { .. }
        | Write::Note { .. }
        | Write::NoteResources { .. }
        | Write::NoteGroup { .. } => return Ok(Vec::new()),
    };
    Ok(vec![change])
}

/// What is told when a pod ends: it goes, and claims that it alone uses give their devices back.
pub(crate) fn gone(facts: &Facts, uid: &PodUid) -> Vec<Change> {
    let pod = facts.nodes.pod(uid).map(|(_, pod)| pod).or_else(|| facts.waiting.get(uid));
    let after = pod.map(|pod| what_if::claims_after(facts, pod, &|_| false)).unwrap_or_default();
    let released = after.into_iter().map(|state| Change::ClaimApplied(Box::new(state)));
    [Change::PodGone(uid.clone())].into_iter().chain(released).collect()
}

fn changed_claim(known: &ClaimState, write: &Write) -> ClaimState {
    let mut state = known.clone();
    match write {
        Write::Allocate { claim, uid, allocation, consumers, .. } => {
            state.allocation = Some(Arc::new(held(&claim.clone().into(), uid, allocation).0));
            state.reserved_for.extend(consumers.iter().map(|one| one.user()));
        }
        Write::Reserve { consumers, .. } => {
            state.reserved_for.extend(consumers.iter().map(|one| one.user()));
        }
        Write::Release { consumers, .. } => {
            state.reserved_for.retain(|uid| consumers.iter().all(|one| one.user() != *uid));
        }
        Write::Deallocate { .. } => state = what_if::without_devices(known),
        _ => {}
    }
    state
}
