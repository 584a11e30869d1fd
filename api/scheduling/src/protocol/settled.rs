//! What became of a write, and what was learned on the way.

use std::sync::Arc;

use cluster::change::{Change, StorageChange};
use convert::change::Fact;
use convert::claim_id;
use model::claim::ClaimId;
use model::identity::ClaimUid;
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use objects::resource::claim::ResourceClaim;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use scheduler::write::WriteOutcome;

use super::{Sight, Sources};

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

    /// What was learned of volumes and claims for them. Whether they are there still, and as they were, is known to the facts: each
    /// write has a greater revision than those before.
    fn of_storage(&self) -> impl Iterator<Item = Change> {
        let revision = |version: &str| version.parse::<u64>().ok();
        let volume = self.volume.iter().filter_map(move |one| {
            let found = convert::volume(one, revision(&one.metadata.resource_version)?).ok()?;
            Some(StorageChange::VolumeAnswered(Box::new(found)))
        });
        let claim = self.volume_claim.iter().filter_map(move |one| {
            let found = convert::volume_claim(one, revision(&one.metadata.resource_version)?).ok()?;
            Some(StorageChange::VolumeClaimAnswered(Box::new(found)))
        });
        volume.chain(claim).map(Change::Storage)
    }

    /// What the engine is to be told before it is told the outcome. Of claims that it does not know, or knows to be gone, it
    /// is told by a watch alone.
    pub fn changes(&self, knows_claim: impl Fn(&ClaimId, &ClaimUid) -> bool) -> Vec<Change> {
        let gone = self.gone.iter().filter(|(id, uid)| knows_claim(id, uid));
        let gone = gone.map(|(id, uid)| Change::ClaimMissing(id.clone(), uid.clone()));
        let claim = self
            .claim
            .iter()
            .filter(|claim| knows_claim(&claim_id(claim), &claim.metadata.uid.as_str().into()));
        // What means nothing to us is told to people by whoever follows the watch.
        let claim = claim.filter_map(|claim| claim.applied(0).ok()).map(Change::answered);
        let context = self.context.iter().filter_map(|context| context.applied(0).ok());
        gone.chain(claim).chain(context).chain(self.of_storage()).collect()
    }
}
