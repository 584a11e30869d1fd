//! Objects that writes are made from: claims, classes, groups, and the pods that wait.
//!
//! Invariant: nothing is decided by these. They are what the API said last, and a write that was made from an old one
//! is answered with a conflict.

use std::sync::Arc;

use cluster::change::{Change, GroupChange, NegotiationChange};
use convert::claim_id;
use model::claim::ClaimId;
use model::group::GroupId;
use model::identity::PodUid;
use model::pod::PodId;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use rustc_hash::FxHashMap;
use scheduler::write::{About, Write};
use scheduling::protocol::{Classes, Sight, Sources};

/// An object as it came.
#[derive(Debug)]
pub(crate) enum Original {
    /// A claim.
    Claim(ClaimId, Arc<ResourceClaim>),
    /// A pod that waits.
    Pod(Arc<Pod>),
    /// A class.
    Class(Arc<DeviceClass>),
    /// A group of pods.
    Group(Arc<PodGroup>),
    /// What is negotiated about a pod.
    Context(Arc<PodSchedulingContext>),
}

/// The objects that are kept.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    claims: FxHashMap<ClaimId, Arc<ResourceClaim>>,
    pods: FxHashMap<PodUid, Arc<Pod>>,
    groups: FxHashMap<GroupId, Arc<PodGroup>>,
    classes: Classes,
    contexts: FxHashMap<PodId, Arc<PodSchedulingContext>>,
}

impl Kept {
    /// Takes note of an object.
    pub(crate) fn keep(&mut self, original: Original) {
        match original {
            // One that has devices is read again by the few writes that are made from it.
            Original::Claim(id, claim) if claim.status.allocation.is_some() => drop(self.claims.remove(&id)),
            Original::Claim(id, claim) => drop(self.claims.insert(id, claim)),
            Original::Pod(pod) => drop(self.pods.insert(pod.metadata.uid.as_str().into(), pod)),
            Original::Group(group) => {
                let meta = &group.metadata;
                let id =
                    GroupId { namespace: meta.namespace.as_str().into(), name: meta.name.as_str().into() };
                self.groups.insert(id, group);
            }
            Original::Context(context) => {
                let (namespace, name) = (&context.metadata.namespace, &context.metadata.name);
                let id = PodId { namespace: namespace.as_str().into(), name: name.as_str().into() };
                self.contexts.insert(id, context);
            }
            Original::Class(class) => {
                Arc::make_mut(&mut self.classes).insert(class.metadata.name.clone(), class);
            }
        }
    }

    /// Takes note of a claim unless a newer state of it is known.
    pub(crate) fn keep_newer(&mut self, claim: &Arc<ResourceClaim>) {
        let version = |claim: &ResourceClaim| claim.metadata.resource_version.parse::<u64>().ok();
        let id = claim_id(claim);
        if self.claims.get(&id).is_some_and(|known| version(known) < version(claim)) {
            self.keep(Original::Claim(id, claim.clone()));
        }
    }

    /// Drops what a change says is gone, or needs no more.
    pub(crate) fn follow(&mut self, change: &Change) {
        match change {
            Change::PodApplied(pod) if pod.node.is_some() => drop(self.pods.remove(&pod.uid)),
            Change::PodGone(uid) => drop(self.pods.remove(uid)),
            Change::ClaimGone(id) | Change::ClaimMissing(id, _) => drop(self.claims.remove(id)),
            Change::Group(GroupChange::Gone(id)) => drop(self.groups.remove(id)),
            Change::Negotiation(NegotiationChange::Gone(id, _)) => drop(self.contexts.remove(id)),
            Change::ClassGone(name) => drop(Arc::make_mut(&mut self.classes).remove(&**name)),
            _ => {}
        }
    }

    /// What a write is made from.
    pub(crate) fn sources(&self, write: &Write) -> Sources {
        let mut sources = Sources::of(self.classes.clone());
        match write.about() {
            About::Claim(id) => sources.claim = Sight::Told(self.claims.get(id).cloned()),
            About::Pod { uid, .. } => sources.pod = Sight::Told(self.pods.get(uid).cloned()),
            About::Group(id) => sources.group = Sight::Told(self.groups.get(id).cloned()),
            About::Context { id, .. } => sources.context = Sight::Told(self.contexts.get(id).cloned()),
            // They are written once in their lives, and read for that.
            About::Volume(_) | About::VolumeClaim(_) => {}
        }
        sources
    }
}
