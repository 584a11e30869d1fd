//! What a driver's own controller does: it gives devices to claims of its classes, takes them back, and says which nodes will
//! not do. What the devices are is the driver's; this is what is the same for all drivers.
//!
//! Invariant: a claim that has devices is never given others, wherever its pod is to go by now. One that is to lose them is
//! protected until the driver has taken them back. Nothing is done for a pod that is gone.

mod answer;
mod give;
#[cfg(test)]
mod tests;

use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::control::{self, ClassControl, Form};
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;

use crate::claimants::{Claimant, claim_of, is_controlled_by};
use crate::claims::is_done;

pub use answer::{answer, asks_the_same, nodes_to_judge, was_unsuitable};
pub use give::{Grant, described, freed, given, unprotected};

/// What keeps a claim from going before a driver has taken its devices back.
#[must_use]
pub fn finalizer(controller: &str) -> String {
    format!("{controller}/deletion-protection")
}

/// What a controller has to do about a claim by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duty {
    /// Nothing now.
    None,
    /// Give it devices: it is to have some whoever uses it.
    Allocate,
    /// Take its devices back, stop to give it some, and take the protection away.
    Deallocate,
}

/// What a controller has to do about a claim by itself, if it asks for devices of these classes.
pub fn duty(claim: &ResourceClaim, controller: &str, form: Option<Form>) -> Duty {
    if !claim.status.reserved_for.is_empty() {
        return Duty::None;
    }
    let is_ours = claim.metadata.finalizers.contains(&finalizer(controller));
    if claim.metadata.deletion_timestamp.is_some() || control::is_leaving(claim) {
        return if is_ours { Duty::Deallocate } else { Duty::None };
    }
    let waits = claim.status.allocation.is_none() && control::is_immediate(claim);
    if waits && form.is_some() { Duty::Allocate } else { Duty::None }
}

/// Whether a controller began to give a claim devices and did not come to an end: it is protected, and has nothing. If no pod
/// wants it any more, what the driver holds for it is to be taken back.
#[must_use]
pub fn is_begun(claim: &ResourceClaim, controller: &str) -> bool {
    let ResourceClaim { metadata, status, .. } = claim;
    status.allocation.is_none()
        && status.reserved_for.is_empty()
        && !control::is_immediate(claim)
        && metadata.finalizers.contains(&finalizer(controller))
}

/// The classes of a claim, if all of them leave its devices to one controller: its name, and the form in which it is
/// written.
pub fn classes_of<'c>(
    claim: &ResourceClaim,
    class: &dyn Fn(&str) -> Option<&'c DeviceClass>,
) -> Option<(ClassControl, Vec<&'c DeviceClass>)> {
    let mut said: Option<ClassControl> = None;
    let mut classes = Vec::new();
    for request in &claim.spec.devices.requests {
        let name = &request.exactly.as_ref()?.device_class_name;
        let class = class(name)?;
        let control = control::of_class(class).ok()??;
        if said.as_ref().is_some_and(|said| said.controller != control.controller) {
            return None;
        }
        said.get_or_insert(control);
        if !classes.iter().any(|known: &&DeviceClass| known.metadata.name == *name) {
            classes.push(class);
        }
    }
    Some((said?, classes))
}

/// A claim of a pod that is to be negotiated about.
#[derive(Clone, PartialEq, Debug)]
pub struct Wanted {
    /// The pod's name for it.
    pub entry: String,
    /// The claim.
    pub claim: ResourceClaim,
}

/// Whether anything is to be said about a pod.
#[must_use]
pub fn is_open(context: &PodSchedulingContext, pod: &Pod) -> bool {
    let spec = &context.spec;
    let mut owners = context.metadata.owner_references.iter();
    context.metadata.deletion_timestamp.is_none()
        && !(spec.selected_node.is_empty() && spec.potential_nodes.is_empty())
        && owners.any(|owner| owner.controller == Some(true) && owner.uid == pod.metadata.uid)
        && pod.metadata.deletion_timestamp.is_none()
        && !is_done(pod)
}

/// The claims of a pod that are there, are its own if they were made for it, and have no devices and are to have some.
pub fn wanted<'c>(pod: &Pod, claim: &dyn Fn(&str) -> Option<&'c ResourceClaim>) -> Vec<Wanted> {
    let entries = pod.entries();
    let wanted = entries.filter_map(|entry| {
        let claim = claim_of(pod, &entry).and_then(claim)?;
        let is_own = entry.template.is_none() || is_controlled_by(claim, &pod.metadata.uid);
        let is_open = claim.status.allocation.is_none()
            && claim.metadata.deletion_timestamp.is_none()
            && !control::is_leaving(claim)
            && !control::is_immediate(claim);
        (is_own && is_open).then(|| Wanted { entry: entry.name.to_owned(), claim: claim.clone() })
    });
    wanted.collect()
}
