//! Entries of the ledger, and how they change: each function takes an entry and gives the one to write instead.
//!
//! Invariant: an entry has the origin [`Origin::Attached`] only if the fabric was ordered to attach its device, and did not refuse, or
//! if an administrator wrote so.

use model::timestamp::Timestamp;
use objects::MicroTime;
use objects::supercargo::device_attachment::{AttachmentClaim, DeviceAttachment};

use super::inventory::Place;
use super::{Options, names};

/// How far an entry has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// It is to be attached.
    Attaching,
    /// It is attached.
    Attached,
    /// It is to be detached.
    Detaching,
    /// It could not be attached, and is left alone for a while.
    Resting,
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Self::Attaching => "Attaching",
            Self::Attached => "Attached",
            Self::Detaching => "Detaching",
            Self::Resting => "Resting",
        }
    }
}

/// How far an entry has come. What cannot be read is taken for attached: that does nothing to a device that is in use.
pub fn phase(entry: &DeviceAttachment) -> Phase {
    let phases = [Phase::Attaching, Phase::Detaching, Phase::Resting];
    phases.into_iter().find(|phase| phase.name() == entry.status.phase).unwrap_or(Phase::Attached)
}

/// How a device came to its node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// By our order.
    Attached,
    /// By another's, or nobody knows.
    Found,
}

impl Origin {
    fn name(self) -> &'static str {
        match self {
            Self::Attached => "Attached",
            Self::Found => "Found",
        }
    }
}

/// How the device of an entry came to its node. What an entry does not say was not done by us.
pub fn origin(entry: &DeviceAttachment) -> Origin {
    if entry.spec.origin == Origin::Attached.name() { Origin::Attached } else { Origin::Found }
}

/// A device that is about to be attached, or that is found to be.
pub(super) fn entered(
    options: &Options,
    unit: &str,
    model: &str,
    node: &str,
    place: Place,
    claim: Option<AttachmentClaim>,
) -> DeviceAttachment {
    let mut entry = DeviceAttachment::default();
    entry.metadata.name = names::entry(&options.fabric, unit);
    entry.metadata.labels.insert(names::FABRIC_LABEL.to_owned(), options.fabric.clone());
    entry.spec.unit = unit.to_owned();
    entry.spec.driver.clone_from(&options.driver);
    entry.spec.model = model.to_owned();
    entry.spec.node = node.to_owned();
    entry.spec.host = place.host;
    entry.spec.port = place.port;
    entry.spec.claim = claim;
    entry
}

/// It is to be attached.
pub(super) fn attaching(mut entry: DeviceAttachment, now: Timestamp) -> DeviceAttachment {
    entry.spec.origin = Origin::Attached.name().to_owned();
    entry.status.message.clear();
    entry.status.retry_at = None;
    entry.status.idle_since = None;
    turn(entry, Phase::Attaching, now)
}

/// It is attached, by our order.
pub fn attached(mut entry: DeviceAttachment, now: Timestamp) -> DeviceAttachment {
    entry.spec.origin = Origin::Attached.name().to_owned();
    entry.status.failures = 0;
    entry.status.message.clear();
    entry.status.retry_at = None;
    entry.status.idle_since = entry.spec.claim.is_none().then_some(MicroTime(now));
    turn(entry, Phase::Attached, now)
}

/// It could not be attached, or could not be detached; it is tried again later, and later each time.
pub fn failed(mut entry: DeviceAttachment, why: &str, now: Timestamp, options: &Options) -> DeviceAttachment {
    let failures = u32::try_from(entry.status.failures).unwrap_or(0).min(30);
    let rest_ms = options.rest_first_ms.saturating_mul(1 << failures).min(options.rest_max_ms);
    entry.status.failures = i32::try_from(failures + 1).unwrap_or(i32::MAX);
    entry.status.message = why.chars().take(256).collect();
    entry.status.retry_at = Some(MicroTime(now.plus_millis(rest_ms)));
    let phase = if phase(&entry) == Phase::Detaching { Phase::Detaching } else { Phase::Resting };
    turn(entry, phase, now)
}

/// The fabric refused to attach it, so if it is attached later it is by another's order.
pub fn refused(
    mut entry: DeviceAttachment,
    why: &str,
    now: Timestamp,
    options: &Options,
) -> DeviceAttachment {
    entry.spec.origin.clear();
    failed(entry, why, now, options)
}

/// It was found attached.
pub(super) fn found(mut entry: DeviceAttachment, now: Timestamp) -> DeviceAttachment {
    entry.spec.origin = Origin::Found.name().to_owned();
    turn(entry, Phase::Attached, now)
}

/// Another attached it, or nobody knows: nothing is done about it.
pub(super) fn observed(mut entry: DeviceAttachment, now: Timestamp) -> DeviceAttachment {
    entry.status.failures = 0;
    let why = "the device was not attached by this controller, so it is neither offered nor detached; hint: set \
        spec.origin to Attached to manage it";
    withheld(entry, why, now)
}

/// It is attached, and neither offered nor detached.
pub(super) fn withheld(mut entry: DeviceAttachment, why: &str, now: Timestamp) -> DeviceAttachment {
    entry.spec.claim = None;
    entry.status.retry_at = None;
    entry.status.idle_since = None;
    why.clone_into(&mut entry.status.message);
    if phase(&entry) == Phase::Attached { entry } else { turn(entry, Phase::Attached, now) }
}

/// Nobody uses it from now on.
pub(super) fn released(mut entry: DeviceAttachment, now: Timestamp) -> DeviceAttachment {
    entry.spec.claim = None;
    entry.status.message.clear();
    entry.status.retry_at = None;
    entry.status.idle_since = Some(MicroTime(now));
    entry
}

/// It is this claim's from now on.
pub(super) fn given(mut entry: DeviceAttachment, claim: AttachmentClaim) -> DeviceAttachment {
    entry.spec.claim = Some(claim);
    entry.status.retry_at = None;
    entry.status.idle_since = None;
    entry
}

/// Somebody took it from the node's driver, and it is that one's until it is given back there.
pub(super) fn taken(mut entry: DeviceAttachment, now: Timestamp) -> DeviceAttachment {
    entry.spec.claim = None;
    entry.status.message.clear();
    entry.status.retry_at = None;
    entry.status.idle_since = None;
    turn(entry, Phase::Attached, now)
}

/// It stays reserved until then.
pub(super) fn reserved(mut entry: DeviceAttachment, until: Timestamp) -> DeviceAttachment {
    entry.status.retry_at = Some(MicroTime(until));
    entry
}

/// It is to be detached, but not before then.
pub(super) fn detaching(mut entry: DeviceAttachment, from: Timestamp, now: Timestamp) -> DeviceAttachment {
    entry.spec.claim = None;
    entry.status.retry_at = Some(MicroTime(from));
    turn(entry, Phase::Detaching, now)
}

fn turn(mut entry: DeviceAttachment, phase: Phase, now: Timestamp) -> DeviceAttachment {
    entry.status.phase = phase.name().to_owned();
    entry.status.since = Some(MicroTime(now));
    entry
}
