//! Volumes that claims of a pod get once its node is chosen: planned for it, written, and waited for until they are bound.
//!
//! Invariant: what is planned for a pod is planned as long as it is on its way, and no longer. What was written is not taken back:
//! the volume controller may have begun, and the pod finds the same volume, or the same node, when it is tried again.

use std::sync::Arc;

use cluster::change::StorageChange;
use cluster::volumes::{VolumeChoice, VolumePlan};
use decisions::binding_part::BindingPart;
use decisions::filters::reaches_volume;
use decisions::not_bound::{NotBound, VolumeFailure};
use decisions::wake::Wake;
use model::identity::PodUid;
use model::pod::Pod;
use model::timestamp::Timestamp;
use model::volume::VolumeClaimId;

use super::Engine;
use super::outlook::Outlook;
use crate::life_cycles::binding::{Binding, BindingStage, OpenWrite, PlannedVolume};
use crate::write::Write;

/// How far the volumes of a pod on its way are.
enum Progress {
    Bound,
    /// This claim is not bound yet.
    Pending(VolumeClaimId),
}

impl Engine {
    /// Plans volumes for a pod that sets off, and has written what is not so yet.
    pub(crate) fn take_volumes(&mut self, pod: &Pod, plans: Vec<VolumePlan>) {
        for plan in plans {
            Arc::make_mut(&mut self.facts.volumes).plan(&pod.uid, &plan);
            let claim = plan.claim.clone();
            let (revision, write) = self.volume_write(pod, &plan);
            if let Some(binding) = self.bindings.get_mut(&pod.uid) {
                binding.volumes.push(PlannedVolume { plan, revision });
            }
            if let Some(write) = write {
                let open = OpenWrite { part: BindingPart::Volume(claim.id.clone()), decided: None };
                self.submit_for(pod, open, write);
            }
        }
    }

    /// What has to be written so that a claim gets its volume, and the revision of the object that was looked at.
    fn volume_write(&self, pod: &Pod, plan: &VolumePlan) -> (u64, Option<Write>) {
        let VolumePlan { claim, choice } = plan;
        let (id, pod) = (claim.id.clone(), pod.uid.clone());
        match choice {
            VolumeChoice::Provision(node) => {
                let is_so = claim.selected_node.as_ref() == Some(node);
                let (uid, node) = (claim.uid.clone(), node.clone());
                (claim.revision, (!is_so).then_some(Write::SelectNode { claim: id, uid, node, pod }))
            }
            VolumeChoice::Take(name) => {
                let volume =
                    self.facts.volumes.volume(name).expect("a volume that was chosen a moment ago is there");
                let owner = volume.claim.as_ref().filter(|owner| owner.id == claim.id);
                let is_so = owner.is_some_and(|owner| owner.uid.as_ref() == Some(&claim.uid));
                let (volume_uid, claim_uid) = (volume.uid.clone(), claim.uid.clone());
                let write =
                    Write::BindVolume { volume: name.clone(), uid: volume_uid, claim: id, claim_uid, pod };
                (volume.revision, (!is_so).then_some(write))
            }
        }
    }

    /// What stands between a pod on its way and its volumes, if something does.
    pub(super) fn lacks_volumes(&self, now: Timestamp, binding: &Binding) -> Option<Outlook> {
        // Volumes that were bound once stay so, as long as the pod waits for anything else.
        let is_over = matches!(binding.stage(), BindingStage::Readying { .. } | BindingStage::Held { .. });
        if binding.volumes.is_empty() || is_over {
            return None;
        }
        match self.progress(binding) {
            Err(why) => Some(Outlook::Lost(NotBound::Volume(why))),
            Ok(Progress::Bound) => None,
            Ok(Progress::Pending(claim)) => {
                let timeout_ms = self.settings.profile_of(&binding.pod).volume_timeout_ms;
                let until = binding.volumes_since.unwrap_or(now).plus_millis(timeout_ms);
                if until <= now {
                    return Some(Outlook::Lost(NotBound::Volume(VolumeFailure::TimedOut { claim })));
                }
                Some(Outlook::Unmounted { until })
            }
        }
    }

    /// How far the volumes of a pod on its way are, or why it will not get them.
    fn progress(&self, binding: &Binding) -> Result<Progress, VolumeFailure> {
        let node = self.facts.nodes.find(&binding.node).and_then(|at| self.facts.nodes.get(at).node.as_ref());
        let Some(node) = node else { return Err(VolumeFailure::NodeGone { node: binding.node.clone() }) };
        let elsewhere = |volume: &Arc<str>| {
            let (volume, node) = (volume.clone(), binding.node.clone());
            VolumeFailure::Elsewhere { volume, node }
        };
        let mut pending = None;
        for PlannedVolume { plan, revision } in &binding.volumes {
            let id = &plan.claim.id;
            let claim = self.facts.volumes.claim(&id.namespace, &id.name);
            let Some(claim) = claim.filter(|claim| claim.uid == plan.claim.uid) else {
                return Err(VolumeFailure::ClaimGone { claim: id.clone() });
            };
            // It had a volume that is gone, and never gets another: it is bound to that one. That may be told after the plan was made.
            if let Some(volume) = claim.volume.as_ref().filter(|_| claim.lost) {
                return Err(VolumeFailure::VolumeGone { volume: volume.clone() });
            }
            match &plan.choice {
                VolumeChoice::Take(name) => {
                    let Some(volume) = self.facts.volumes.volume(name) else {
                        return Err(VolumeFailure::VolumeGone { volume: name.clone() });
                    };
                    if !reaches_volume(node, volume) {
                        return Err(elsewhere(name));
                    }
                    // What was told before the write says nothing about it.
                    if !volume.is_for(claim) && volume.revision > *revision {
                        return Err(VolumeFailure::Reset { volume: name.clone() });
                    }
                }
                VolumeChoice::Provision(selected) => {
                    if claim.selected_node.as_ref() != Some(selected) && claim.revision > *revision {
                        return Err(VolumeFailure::NotProvisioned { claim: id.clone() });
                    }
                }
            }
            // The claim may have another volume than the one that was chosen: another scheduler chose one as well. One that is not known
            // yet will be told of soon.
            let volume = claim.volume.as_ref().and_then(|name| self.facts.volumes.volume(name));
            if let Some(volume) = volume.filter(|volume| !reaches_volume(node, volume)) {
                return Err(elsewhere(&volume.name));
            }
            if !(claim.bound && volume.is_some()) {
                pending.get_or_insert_with(|| id.clone());
            }
        }
        Ok(pending.map_or(Progress::Bound, Progress::Pending))
    }

    /// A pod has its volumes.
    pub(super) fn end_plans(&mut self, pod: &PodUid, volumes: &[PlannedVolume]) {
        let known = Arc::make_mut(&mut self.facts.volumes);
        volumes.iter().for_each(|volume| known.unplan(pod, &volume.plan.claim.id));
    }

    /// A pod is on its way no more: what was planned for it can be had by others.
    pub(super) fn release_volumes(&mut self, now: Timestamp, pod: &PodUid, volumes: &[PlannedVolume]) {
        if volumes.is_empty() {
            return;
        }
        self.end_plans(pod, volumes);
        self.wake_others(Wake::Volume.into(), now);
    }

    /// Pods that wait for volumes go on if a fact is about them.
    pub(super) fn look_at_volumes(&mut self, now: Timestamp, claims: &[VolumeClaimId]) {
        let pods: Vec<PodUid> =
            claims.iter().flat_map(|claim| self.bindings.waits_for_volume(claim)).collect();
        pods.iter().for_each(|uid| self.go_on(now, uid));
    }

    /// The claims that a fact about volumes concerns.
    pub(super) fn claims_concerned(&self, change: &StorageChange) -> Vec<VolumeClaimId> {
        let of_volume = |name: &Arc<str>| {
            let planned = self.facts.volumes.planned_for(name).cloned();
            let volume = self.facts.volumes.volume(name);
            planned
                .into_iter()
                .chain(volume.and_then(|volume| volume.claim.as_ref()).map(|owner| owner.id.clone()))
        };
        match change {
            StorageChange::VolumeApplied(volume) | StorageChange::VolumeAnswered(volume) => {
                let owner = volume.claim.as_ref().map(|owner| owner.id.clone());
                of_volume(&volume.name).chain(owner).collect()
            }
            StorageChange::VolumeGone(name) => of_volume(name).collect(),
            StorageChange::VolumeClaimApplied(claim) | StorageChange::VolumeClaimAnswered(claim) => {
                vec![claim.id.clone()]
            }
            StorageChange::VolumeClaimGone(id) => vec![id.clone()],
            StorageChange::StorageClassApplied(_)
            | StorageChange::StorageClassGone(_)
            | StorageChange::NodeApplied(_)
            | StorageChange::NodeGone(_)
            | StorageChange::DriverApplied(_)
            | StorageChange::DriverGone(_)
            | StorageChange::CapacityApplied(_)
            | StorageChange::CapacityGone(..)
            | StorageChange::AttachmentApplied(_)
            | StorageChange::AttachmentGone(_) => Vec::new(),
        }
    }
}
