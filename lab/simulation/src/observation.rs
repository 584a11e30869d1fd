//! The objects of a cluster as it is, taken in to be looked at: from files that kubectl wrote, or from lists of an API server.
//!
//! Invariant: nothing is admitted and nothing is refused that a scheduler would understand: the objects are there already. An
//! object that leaves out what a server would have filled in, as in a manifest, gets the defaults.

use std::collections::{BTreeMap, BTreeSet};

use admission::{defaulted, stored_kind};
use cluster::change::Change;
use convert::{change, claim_id, claim_use};
use gates::Gate;
use model::claim::ClaimId;
use model::claim_use::ClaimUse;
use model::pod::PodId;
use objects::Object;
use objects::resource::claim::ResourceClaim;
use serde_json::{Value, json};

use crate::manifest::{BadInput, Manifest};
use crate::needed::gates_of;
use crate::shelf::{kind_of, namespace_of};

/// Kinds that decide what a cluster makes of manifests.
const AROUND: [&str; 4] = ["DeviceClass", "Namespace", "PriorityClass", "ResourceClaimTemplate"];

/// What was taken in.
#[derive(Debug, Default)]
pub struct Observation {
    /// The facts, in the order in which the objects came.
    pub changes: Vec<Change>,
    /// The users and devices of each claim.
    pub uses: BTreeMap<ClaimId, ClaimUse>,
    /// Features that the cluster must have.
    pub gates: BTreeSet<Gate>,
    /// Objects that decide what a cluster makes of manifests: namespaces, priority classes, classes of devices, templates of claims.
    pub around: Vec<Value>,
    /// Pods that belong to their nodes: a DaemonSet makes them for the node, or the node itself.
    pub of_nodes: BTreeSet<PodId>,
    /// How many objects were taken in.
    taken: u64,
}

impl Observation {
    /// Takes an object in, and says whether it is of a kind that matters here.
    ///
    /// # Errors
    /// The object is not what its kind says.
    pub fn take(&mut self, manifest: Manifest) -> Result<bool, BadInput> {
        let Manifest { place, value, .. } = manifest;
        self.take_object(value).map_err(|what| BadInput::at(place, what))
    }

    fn take_object(&mut self, object: Value) -> Result<bool, String> {
        // A cluster has kinds that nothing here knows.
        let Ok(kind) = kind_of(&object) else { return Ok(false) };
        let mut object = defaulted(kind, object).map_err(|bad| bad.to_string())?;
        let stored = stored_kind(kind);
        let namespace = namespace_of(stored, &object);
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if !namespace.is_empty() {
            object["metadata"]["namespace"] = json!(namespace);
        }
        if object["metadata"]["uid"].as_str().is_none_or(str::is_empty) {
            object["metadata"]["uid"] = json!(format!("{}/{namespace}/{name}", stored.kind));
        }
        // No two objects have the same number, whatever versions they came with.
        self.taken += 1;
        if AROUND.contains(&stored.kind.as_str()) {
            self.around.push(object.clone());
        }
        let Some(change) = change::applied(&object, self.taken).map_err(|error| error.to_string())? else {
            return Ok(AROUND.contains(&stored.kind.as_str()));
        };
        if let Change::PodApplied(pod) = &change
            && is_of_node(&object)
        {
            self.of_nodes.insert(pod.id.clone());
        }
        if stored.kind == ResourceClaim::KIND {
            let claim = ResourceClaim::read_value(&object).map_err(|error| error.to_string())?;
            self.uses.insert(claim_id(&claim), claim_use(&claim));
        }
        self.gates.append(&mut gates_of(&object));
        self.changes.push(change.listed());
        Ok(true)
    }

    /// Nothing yet, to be joined to this later.
    #[must_use]
    pub fn part(&self) -> Observation {
        Observation { taken: self.taken, ..Observation::default() }
    }

    /// Adds what a part took in, which was begun after the last that was joined.
    pub fn join(&mut self, part: Observation) {
        let Observation { changes, mut uses, mut gates, around, mut of_nodes, taken } = part;
        self.taken = self.taken.max(taken);
        self.changes.extend(changes);
        self.uses.append(&mut uses);
        self.gates.append(&mut gates);
        self.around.extend(around);
        self.of_nodes.append(&mut of_nodes);
    }
}

/// Whether a DaemonSet or its node made a pod, so that it goes with the node.
fn is_of_node(pod: &Value) -> bool {
    let mut owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.any(|owner| {
        owner["controller"] == true && matches!(owner["kind"].as_str(), Some("DaemonSet" | "Node"))
    })
}

#[cfg(test)]
mod tests {
    use model::claim::{Amount, Wish};

    use super::*;
    use crate::manifest::read;

    fn observed(text: &str) -> Observation {
        let mut observation = Observation::default();
        for manifest in read("f.yaml", text).expect("good manifests") {
            observation.take(manifest).expect("good objects");
        }
        observation
    }

    #[test]
    fn a_manifest_is_complete_in_any_version_and_other_kinds_are_left_out() {
        let claim = "{apiVersion: resource.k8s.io/v1beta1, kind: ResourceClaim, metadata: {name: c}, \
                     spec: {devices: {requests: [{name: r, deviceClassName: gpu}]}}}";
        let text = format!(
            "{claim}\n---\n{{apiVersion: example.com/v1, kind: Boat}}\n---\n{{apiVersion: v1, kind: Secret}}\n"
        );
        let observation = observed(&text);
        let [Change::ClaimListed(state)] = &*observation.changes else { panic!("{:?}", observation.changes) };
        assert_eq!(state.wish.id.to_string(), "default/c");
        let Wish::Exactly(ask) = &state.wish.spec.requests[0].wish else { panic!("{state:?}") };
        assert_eq!(ask.amount, Amount::Exactly(1));
        assert!(observation.uses.contains_key(&state.wish.id));
    }

    #[test]
    fn features_that_objects_use_are_told_and_parts_have_numbers_of_their_own() {
        let pool = "pool: {name: p, generation: 1, resourceSliceCount: 1}, driver: d, allNodes: true";
        let slice = |name: &str| {
            format!(
                "{{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {{name: {name}}}, spec: {{{pool}, \
                 devices: [{{name: a, allowMultipleAllocations: true}}]}}}}"
            )
        };
        let mut all = observed(&slice("one"));
        let mut part = all.part();
        for manifest in read("f.yaml", &slice("two")).expect("good manifests") {
            part.take(manifest).expect("good objects");
        }
        all.join(part);
        let revisions = all.changes.iter().filter_map(|change| match change {
            Change::SliceApplied(published) => Some(published.revision),
            _ => None,
        });
        let revisions: Vec<_> = revisions.collect();
        assert!(revisions.len() == 2 && revisions[0] != revisions[1], "{revisions:?}");
        assert!(all.gates.contains(&Gate::DRAConsumableCapacity), "{:?}", all.gates);
    }
}
