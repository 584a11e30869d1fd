//! Pod groups, and groups of those.

use model::group::{Composite, Disruption, Group, GroupId};
use objects::Object;
use objects::scheduling::composite_pod_group::CompositePodGroup;
use objects::scheduling::pod_group::PodGroup;

use crate::error::{ConvertError, named};

/// Says of a group whether enough of its pods were placed once.
pub const INITIALLY_SCHEDULED: &str = "PodGroupInitiallyScheduled";

/// A group of pods, as far as their placement cares.
///
/// # Errors
/// The group has no name.
pub fn group(object: &PodGroup) -> Result<Group, ConvertError> {
    let (meta, spec) = (&object.metadata, &object.spec);
    named(object, &meta.name, || "metadata.name".to_owned())?;
    // A group without a policy of all or nothing is placed as far as there is room, but in one domain all the same.
    let gang = spec.scheduling_policy.gang.as_ref();
    let topology = spec.scheduling_constraints.as_ref().map_or(&[][..], |constraints| &constraints.topology);
    let claims = spec.resource_claims.iter().filter_map(|entry| {
        let claim = entry.resource_claim_name.as_deref()?;
        Some((entry.name.as_str().into(), claim.into()))
    });
    let mut conditions = object.status.conditions.iter();
    let is_whole = spec.disruption_mode.as_ref().is_some_and(|mode| mode.all.is_some());
    Ok(Group {
        id: group_id(object),
        uid: meta.uid.as_str().into(),
        at_least: at_least(gang.map(|gang| gang.min_count)),
        levels: topology.iter().map(|constraint| constraint.key.as_str().into()).collect(),
        priority: spec.priority.unwrap_or(0),
        claims: claims.collect(),
        parent: spec.parent_composite_pod_group_name.as_deref().map(Into::into),
        created: meta.creation_timestamp.as_ref().map(|time| time.0),
        // Kubernetes has no such field.
        binding_failure: None,
        was_placed: conditions.any(|one| one.type_ == INITIALLY_SCHEDULED && one.status == "True"),
        disruption: if is_whole { Disruption::Whole } else { Disruption::Single },
        preempts: spec.preemption_policy.as_deref() != Some("Never"),
    })
}

/// Groups that belong together, as far as their placement cares.
///
/// # Errors
/// It has no name.
pub fn composite(object: &CompositePodGroup) -> Result<Composite, ConvertError> {
    let (meta, spec) = (&object.metadata, &object.spec);
    named(object, &meta.name, || "metadata.name".to_owned())?;
    let gang = spec.scheduling_policy.gang.as_ref();
    let topology = spec.scheduling_constraints.as_ref().map_or(&[][..], |constraints| &constraints.topology);
    let is_whole = spec.disruption_mode.as_ref().is_some_and(|mode| mode.all.is_some());
    Ok(Composite {
        id: group_id(object),
        uid: meta.uid.as_str().into(),
        at_least: at_least(gang.map(|gang| gang.min_group_count)),
        levels: topology.iter().map(|constraint| constraint.key.as_str().into()).collect(),
        priority: spec.priority.unwrap_or(0),
        parent: spec.parent_composite_pod_group_name.as_deref().map(Into::into),
        created: meta.creation_timestamp.as_ref().map(|time| time.0),
        disruption: if is_whole { Disruption::Whole } else { Disruption::Single },
        preempts: spec.preemption_policy.as_deref() != Some("Never"),
    })
}

/// Without a policy of all or nothing, one is enough.
fn at_least(count: Option<i32>) -> u32 {
    count.map_or(1, |count| u32::try_from(count).unwrap_or(1).max(1))
}

/// A group by name.
#[must_use]
pub fn group_id(object: &impl Object) -> GroupId {
    let meta = object.metadata();
    GroupId { namespace: meta.namespace.as_str().into(), name: meta.name.as_str().into() }
}
