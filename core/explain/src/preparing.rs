//! How far the devices of claims are that have to be made ready.

use decisions::considering::Snapshot;
use decisions::readiness::{Readiness, Standing};
use model::claim::ClaimId;

/// How far they are; nothing if nobody has to make devices ready.
pub(crate) fn standing(snapshot: &Snapshot, claims: &[ClaimId]) -> Option<Standing> {
    let Snapshot { settings, facts, now, .. } = snapshot;
    let readiness = Readiness { settings, facts };
    let profile = settings.profiles.first().filter(|_| readiness.counts())?;
    Some(readiness.standing(*now, *now, claims, profile))
}
