//! Pod groups.

use model::group::{Disruption, Group, GroupId};
use objects::scheduling::pod_group::PodGroup;

use crate::error::{ConvertError, named};

/// A group of pods, as far as their placement cares.
///
/// # Errors
/// The group has no name.
pub fn group(object: &PodGroup) -> Result<Group, ConvertError> {
    let (meta, spec) = (&object.metadata, &object.spec);
    named(object, &meta.name, || "metadata.name".to_owned())?;
    // A group without a policy of all or nothing is placed as far as there is room, but in one domain all the same.
    let gang = spec.scheduling_policy.gang.as_ref();
    let at_least = gang.map_or(1, |gang| u32::try_from(gang.min_count).unwrap_or(1).max(1));
    let topology = spec.scheduling_constraints.as_ref().map_or(&[][..], |constraints| &constraints.topology);
    let is_whole = spec.disruption_mode.as_ref().is_some_and(|mode| mode.all.is_some());
    Ok(Group {
        id: group_id(object),
        uid: meta.uid.as_str().into(),
        at_least,
        levels: topology.iter().map(|constraint| constraint.key.as_str().into()).collect(),
        priority: spec.priority.unwrap_or(0),
        disruption: if is_whole { Disruption::Whole } else { Disruption::Single },
        preempts: spec.preemption_policy.as_deref() != Some("Never"),
    })
}

/// A group by name.
#[must_use]
pub fn group_id(object: &PodGroup) -> GroupId {
    let meta = &object.metadata;
    GroupId { namespace: meta.namespace.as_str().into(), name: meta.name.as_str().into() }
}
