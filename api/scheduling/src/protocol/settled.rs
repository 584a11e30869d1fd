//! What became of a write, and what was learned on the way.

use std::sync::Arc;

use cluster::change::Change;
use convert::claim_id;
use convert::followed::Followed;
use model::claim::ClaimId;
use model::identity::ClaimUid;
use objects::Object;
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use objects::resource::claim::ResourceClaim;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use scheduler::write::WriteOutcome;

use super::{Sight, Sources};
use crate::recording::{FactOrigin, RecordedObject};

/// What became of a write. What was read or answered on the way is here whatever became of it: a write that failed may have
/// been carried out and undone by somebody else since, and a watch may be late.
#[derive(Clone, Debug)]
pub struct Settled {
    /// Whether it is done.
    pub outcome: WriteOutcome,
    /// The claim as it was heard of last.
    pub claim: Option<Arc<ResourceClaim>>,
    /// The claim that is gone for good, and its uid.
    pub gone: Option<(ClaimId, ClaimUid)>,
    /// The context as it was heard of last.
    pub context: Option<Arc<PodSchedulingContext>>,
    /// The volume as it was heard of last.
    pub volume: Option<Arc<PersistentVolume>>,
    /// The claim for a volume as it was heard of last.
    pub volume_claim: Option<Arc<PersistentVolumeClaim>>,
}

impl Settled {
    pub(super) fn new(outcome: WriteOutcome, sources: &mut Sources) -> Settled {
        fn heard<T>(sight: &mut Sight<T>) -> Option<Arc<T>> {
            match std::mem::take(sight) {
                Sight::Heard(object) => Some(object),
                Sight::Told(_) | Sight::Missing => None,
            }
        }
        let (claim, context) = (heard(&mut sources.claim), heard(&mut sources.context));
        let (volume, volume_claim) = (heard(&mut sources.volume), heard(&mut sources.volume_claim));
        Settled { outcome, claim, gone: sources.gone.take(), context, volume, volume_claim }
    }

    /// An outcome, and nothing that was learned.
    #[must_use]
    pub fn unlearned(outcome: WriteOutcome) -> Settled {
        Settled { outcome, claim: None, gone: None, context: None, volume: None, volume_claim: None }
    }

    /// What the engine is to be told before it is told the outcome, each with the object that says so. Of claims that it does not
    /// know, or knows to be gone, it is told by a watch alone. Whether volumes and claims for them are there still, and as they were,
    /// is known to the facts: each write has a greater revision than those before.
    pub fn learned(&self, knows_claim: impl Fn(&ClaimId, &ClaimUid) -> bool) -> Vec<(Change, FactOrigin)> {
        let mut learned = Vec::new();
        if let Some((id, uid)) = self.gone.as_ref().filter(|(id, uid)| knows_claim(id, uid)) {
            learned.push((Change::ClaimMissing(id.clone(), uid.clone()), FactOrigin::missing(id, uid)));
        }
        // The watch of the scheduler reports objects that cannot be read.
        let is_known =
            |claim: &&Arc<ResourceClaim>| knows_claim(&claim_id(claim), &claim.metadata.uid.as_str().into());
        learned.extend(self.claim.as_ref().filter(is_known).and_then(|claim| answered(claim, 0)));
        learned.extend(self.context.as_ref().and_then(|context| answered(context, 0)));
        learned.extend(self.volume.as_ref().and_then(|volume| answered(volume, revision(&**volume)?)));
        learned.extend(self.volume_claim.as_ref().and_then(|claim| answered(claim, revision(&**claim)?)));
        learned
    }

    /// What the engine is to be told before it is told the outcome.
    pub fn changes(&self, knows_claim: impl Fn(&ClaimId, &ClaimUid) -> bool) -> Vec<Change> {
        self.learned(knows_claim).into_iter().map(|(change, _)| change).collect()
    }
}

/// The fact that an object is as an answer shows it.
fn answered<K: Followed + Send + Sync + 'static>(
    object: &Arc<K>,
    revision: u64,
) -> Option<(Change, FactOrigin)> {
    let change = object.applied(revision).ok()?.answered();
    Some((change, FactOrigin::Answered { revision, object: RecordedObject::of(object.clone()) }))
}

fn revision(object: &impl Object) -> Option<u64> {
    object.metadata().resource_version.parse().ok()
}
