//! What is known of the objects that a write is made from, and how well.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use convert::claim_id;
use model::claim::ClaimId;
use model::identity::ClaimUid;
use model::timestamp::Timestamp;
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use scheduler::write::{About, Write};

use super::{ObjectRef, Terms};
use crate::request::{self, Seen};

/// Classes by name.
pub type Classes = Arc<BTreeMap<String, Arc<DeviceClass>>>;

/// What is known of an object.
#[derive(Clone, Debug)]
pub enum Sight<T> {
    /// A watch told of it some time ago, or did not.
    Told(Option<Arc<T>>),
    /// It was read, or a call has answered with it.
    Heard(Arc<T>),
    /// It was looked for, and is not there.
    Missing,
}

impl<T> Default for Sight<T> {
    fn default() -> Sight<T> {
        Sight::Told(None)
    }
}

impl<T> Sight<T> {
    /// The object, if it is there as far as is known.
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        match self {
            Sight::Told(object) => object.as_deref(),
            Sight::Heard(object) => Some(object),
            Sight::Missing => None,
        }
    }

    fn is_sure(&self) -> bool {
        matches!(self, Sight::Heard(_) | Sight::Missing)
    }
}

/// What a write is made from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The claim that the write names, or that it has made so far.
    pub claim: Sight<ResourceClaim>,
    /// The pod that the write names.
    pub pod: Sight<Pod>,
    /// The group of pods that the write names.
    pub group: Sight<PodGroup>,
    /// What is negotiated about the pod that the write names.
    pub context: Sight<PodSchedulingContext>,
    /// The volume that the write names.
    pub volume: Sight<PersistentVolume>,
    /// The claim for a volume that the write names.
    pub volume_claim: Sight<PersistentVolumeClaim>,
    /// Classes, whose configuration allocations copy.
    pub classes: Classes,
    /// Pods for which the claim is reserved, as far as the write is about them, once they were read.
    pub(super) users: Option<Vec<Arc<Pod>>>,
    /// The claim that the write was about, once it is known to be gone for good, and its uid.
    pub(super) gone: Option<(ClaimId, ClaimUid)>,
}

impl Sources {
    /// Classes, and nothing that was told of objects.
    #[must_use]
    pub fn of(classes: Classes) -> Sources {
        Sources { classes, ..Sources::default() }
    }

    /// Whether it is known of the object that the write names how it is, and not only how it was.
    pub(super) fn is_sure(&self, write: &Write) -> bool {
        match write.about() {
            About::Claim(_) => self.claim.is_sure(),
            About::Pod { .. } => self.pod.is_sure(),
            About::Group(_) => self.group.is_sure(),
            About::Context { .. } => self.context.is_sure(),
            About::Volume(_) => self.volume.is_sure(),
            About::VolumeClaim(_) => self.volume_claim.is_sure(),
        }
    }

    /// The users of the claim of a write that have yet to be read before a call is made.
    pub(super) fn unread_users(&self, write: &Write) -> VecDeque<ObjectRef> {
        let claim = self.claim.get().filter(|_| self.users.is_none());
        let users = claim.map(|claim| request::users(write, claim)).unwrap_or_default();
        users.into_iter().map(ObjectRef::Pod).collect()
    }

    /// The claim of a write was read, or answered. Another that has its name says that the claim is gone.
    pub(super) fn find_claim(&mut self, write: &Write, claim: Arc<ResourceClaim>) {
        if let Some((id, uid)) = named_claim(write).filter(|(_, uid)| ***uid != *claim.metadata.uid) {
            self.gone = Some((id.clone(), uid.clone()));
        }
        self.claim = Sight::Heard(claim);
    }

    /// The claim of a write was looked for, and is not there.
    pub(super) fn lose_claim(&mut self, write: &Write) {
        let made = || self.claim.get().map(|made| (claim_id(made), made.metadata.uid.as_str().into()));
        self.gone = named_claim(write).map(|(id, uid)| (id.clone(), uid.clone())).or_else(made);
        self.claim = Sight::Missing;
    }

    /// Asks about what a write is made from.
    pub(super) fn seen<T>(&self, now: Timestamp, terms: Terms, ask: impl FnOnce(&Seen<'_>) -> T) -> T {
        ask(&Seen {
            claim: self.claim.get(),
            pod: self.pod.get(),
            users: self.users.as_deref().unwrap_or_default(),
            group: self.group.get(),
            context: self.context.get(),
            volume: self.volume.get(),
            volume_claim: self.volume_claim.get(),
            class: &|name| self.classes.get(name).map(Arc::as_ref),
            now,
            allocation_times: terms.allocation_times,
        })
    }
}

/// The claim that a write names, and its uid.
fn named_claim(write: &Write) -> Option<(&ClaimId, &ClaimUid)> {
    match write {
        Write::Allocate { claim, uid, .. }
        | Write::Reserve { claim, uid, .. }
        | Write::Release { claim, uid, .. }
        | Write::Deallocate { claim, uid, .. }
        | Write::DeleteClaim { claim, uid } => Some((claim, uid)),
        Write::MakeClaim { .. }
        | Write::Negotiate { .. }
        | Write::EndNegotiation { .. }
        | Write::BindVolume { .. }
        | Write::SelectNode { .. }
        | Write::Bind { .. }
        | Write::NoteResources { .. }
        | Write::Note { .. }
        | Write::Evict { .. }
        | Write::Nominate { .. }
        | Write::NoteGroup { .. } => None,
    }
}
