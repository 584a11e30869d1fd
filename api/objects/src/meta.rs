//! What every object carries, and what many kinds share.

use std::collections::BTreeMap;

use crate::value::Time;
use crate::wire::Raw;
use crate::wire::wire;

wire! {
    /// Name, labels, owners and history of an object.
    pub struct ObjectMeta {
        annotations: BTreeMap<String, String> = "annotations",
        creation_timestamp: Option<Time> = "creationTimestamp",
        deletion_grace_period_seconds: Option<i64> = "deletionGracePeriodSeconds",
        deletion_timestamp: Option<Time> = "deletionTimestamp",
        finalizers: Vec<String> = "finalizers",
        generate_name: String = "generateName",
        generation: i64 = "generation",
        labels: BTreeMap<String, String> = "labels",
        managed_fields: Option<Raw> = "managedFields",
        name: String = "name",
        namespace: String = "namespace",
        owner_references: Vec<OwnerReference> = "ownerReferences",
        resource_version: String = "resourceVersion",
        self_link: String = "selfLink",
        uid: String = "uid",
    }
}

wire! {
    /// An object that this one belongs to; when it goes, this one goes too.
    pub struct OwnerReference {
        api_version: String = "apiVersion",
        block_owner_deletion: Option<bool> = "blockOwnerDeletion",
        controller: Option<bool> = "controller",
        kind: String = "kind",
        name: String = "name",
        uid: String = "uid",
    }
}

wire! {
    /// An observation of an object's state, by type.
    pub struct Condition {
        last_transition_time: Option<Time> = "lastTransitionTime",
        message: String = "message",
        observed_generation: i64 = "observedGeneration",
        reason: String = "reason",
        status: String = "status",
        type_: String = "type",
    }
}

wire! {
    /// Which labels an object must have; an empty selector matches everything.
    pub struct LabelSelector {
        match_expressions: Vec<LabelSelectorRequirement> = "matchExpressions",
        match_labels: BTreeMap<String, String> = "matchLabels",
    }
}

wire! {
    /// One requirement on a label.
    pub struct LabelSelectorRequirement {
        key: String = "key",
        operator: String = "operator",
        values: Vec<String> = "values",
    }
}

wire! {
    /// How to delete an object.
    pub struct DeleteOptions {
        dry_run: Vec<String> = "dryRun",
        grace_period_seconds: Option<i64> = "gracePeriodSeconds",
        ignore_store_read_error_with_cluster_breaking_potential: Option<bool> = "ignoreStoreReadErrorWithClusterBreakingPotential",
        orphan_dependents: Option<bool> = "orphanDependents",
        preconditions: Option<Preconditions> = "preconditions",
        propagation_policy: Option<String> = "propagationPolicy",
    }
}

wire! {
    /// What must be true of an object for a delete to happen.
    pub struct Preconditions {
        resource_version: Option<String> = "resourceVersion",
        uid: Option<String> = "uid",
    }
}
