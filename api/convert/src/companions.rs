//! Which pods belong together: services, and owners of pods.

use std::sync::Arc;

use cluster::change::{Change, CompanionChange};
use model::node::{Operator, Requirement};
use model::pod::{LabelSelector, Owner, OwnerKind};
use objects::Object;
use objects::apps::{ReplicaSet, StatefulSet};
use objects::core::kinds::{ReplicationController, Service};
use objects::meta::OwnerReference;

use crate::change::Fact;
use crate::error::{ConvertError, named};
use crate::label_selector::label_selector;
use crate::text::shared_map;

/// The owner of a pod, if it is of a kind by which pods are spread.
pub(crate) fn owner(references: &[OwnerReference]) -> Option<Owner> {
    let owner = references.iter().find(|owner| owner.controller == Some(true))?;
    let kind = match (owner.api_version.as_str(), owner.kind.as_str()) {
        (ReplicationController::API_VERSION, ReplicationController::KIND) => OwnerKind::ReplicationController,
        (ReplicaSet::API_VERSION, ReplicaSet::KIND) => OwnerKind::ReplicaSet,
        (StatefulSet::API_VERSION, StatefulSet::KIND) => OwnerKind::StatefulSet,
        _ => return None,
    };
    Some(Owner { kind, name: owner.name.as_str().into() })
}

fn namespace_of(object: &impl Object) -> Arc<str> {
    object.metadata().namespace.as_str().into()
}

fn owner_of(object: &impl Object, kind: OwnerKind) -> Owner {
    Owner { kind, name: object.metadata().name.as_str().into() }
}

fn owner_applied<T: Object>(
    object: &T,
    kind: OwnerKind,
    selector: LabelSelector,
) -> Result<Change, ConvertError> {
    let name = named(object, &object.metadata().name, || "metadata.name".to_owned())?;
    let change = CompanionChange::OwnerApplied(namespace_of(object), Owner { kind, name }, selector);
    Ok(Change::Companions(change))
}

fn owner_gone(object: &impl Object, kind: OwnerKind) -> Change {
    Change::Companions(CompanionChange::OwnerGone(namespace_of(object), owner_of(object, kind)))
}

impl Fact for Service {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        let name = named(self, &self.metadata.name, || "metadata.name".to_owned())?;
        let labels = shared_map(&self.spec.selector);
        Ok(Change::Companions(CompanionChange::ServiceApplied(namespace_of(self), name, labels)))
    }

    fn gone(&self) -> Change {
        let name = self.metadata.name.as_str().into();
        Change::Companions(CompanionChange::ServiceGone(namespace_of(self), name))
    }
}

impl Fact for ReplicationController {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        let equal = |(key, value): (&String, &String)| Requirement {
            key: key.as_str().into(),
            operator: Operator::In,
            values: vec![value.as_str().into()],
        };
        let selector = LabelSelector::All(self.spec.selector.iter().map(equal).collect());
        owner_applied(self, OwnerKind::ReplicationController, selector)
    }

    fn gone(&self) -> Change {
        owner_gone(self, OwnerKind::ReplicationController)
    }
}

impl Fact for ReplicaSet {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        owner_applied(self, OwnerKind::ReplicaSet, label_selector(self.spec.selector.as_ref()))
    }

    fn gone(&self) -> Change {
        owner_gone(self, OwnerKind::ReplicaSet)
    }
}

impl Fact for StatefulSet {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        owner_applied(self, OwnerKind::StatefulSet, label_selector(self.spec.selector.as_ref()))
    }

    fn gone(&self) -> Change {
        owner_gone(self, OwnerKind::StatefulSet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_owners_by_which_pods_are_spread_count() {
        let reference = |version: &str, kind: &str, controller| OwnerReference {
            api_version: version.to_owned(),
            kind: kind.to_owned(),
            name: "web".to_owned(),
            controller,
            ..OwnerReference::default()
        };
        let kind = |references: &[OwnerReference]| owner(references).map(|owner| owner.kind);
        let set = || reference("apps/v1", "ReplicaSet", Some(true));
        assert_eq!(kind(&[reference("v1", "Node", None), set()]), Some(OwnerKind::ReplicaSet));
        let stateful = reference("apps/v1", "StatefulSet", Some(true));
        assert_eq!(kind(&[stateful]), Some(OwnerKind::StatefulSet));
        let controller = reference("v1", "ReplicationController", Some(true));
        assert_eq!(kind(&[controller]), Some(OwnerKind::ReplicationController));
        assert_eq!(kind(&[reference("apps/v1", "ReplicaSet", None)]), None);
        assert_eq!(kind(&[reference("batch/v1", "Job", Some(true)), set()]), None);
        assert_eq!(kind(&[reference("extensions/v1beta1", "ReplicaSet", Some(true))]), None);
    }
}
