//! Volumes and the claims for them, joined one step at a time: a volume is noted as one for a claim, then the claim as bound to it;
//! and simulated volumes, for claims whose class says so.
//!
//! Invariant: a volume has one claim. What is half done is carried on from what the objects say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use convert::SELECTED_NODE;
use objects::Object;
use objects::core::affinity::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
use objects::core::event::ObjectReference;
use objects::core::kinds::{
    CSIPersistentVolumeSource, PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec,
    VolumeNodeAffinity,
};
use objects::core::node::Node;
use objects::meta::ObjectMeta;
use objects::storage::{CSINode, StorageClass};

/// Says of a claim that it and its volume have been joined.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// Says that a claim and a volume found each other by a program.
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// Keeps a claim from vanishing while pods use it.
const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";

/// Keeps a volume from vanishing while it is bound.
const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";

/// Says what made a volume.
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// The provisioner of classes whose volumes are simulated.
pub const SIMULATED_PROVISIONER: &str = "simulated.supercargo.dev";

/// Everything that matters to volumes, by name; claims by namespace and name.
#[derive(Clone, Default, Debug)]
pub struct Storage {
    /// Claims.
    pub claims: BTreeMap<(String, String), Arc<PersistentVolumeClaim>>,
    /// Volumes.
    pub volumes: BTreeMap<String, Arc<PersistentVolume>>,
    /// Classes.
    pub classes: BTreeMap<String, Arc<StorageClass>>,
    /// Nodes.
    pub nodes: BTreeMap<String, Arc<Node>>,
    /// What drivers say about nodes.
    pub storage_nodes: BTreeMap<String, Arc<CSINode>>,
    /// Claims that pods use.
    pub used: BTreeSet<(String, String)>,
}

/// What is to be done next for a claim or a volume.
#[derive(Clone, Debug)]
pub enum VolumeStep {
    /// Make this volume.
    Make(Box<PersistentVolume>),
    /// Put this in place of the volume.
    Volume(Box<PersistentVolume>),
    /// The same for its status.
    VolumeStatus(Box<PersistentVolume>),
    /// Put this in place of the claim.
    Claim(Box<PersistentVolumeClaim>),
    /// The same for its status.
    ClaimStatus(Box<PersistentVolumeClaim>),
    /// Delete a volume.
    Delete(String),
}

impl Storage {
    /// What is to be done next for a claim. Volumes are provisioned by these provisioners.
    #[must_use]
    pub fn step_for_claim(
        &self,
        claim: &PersistentVolumeClaim,
        provisions: impl Fn(&str) -> bool,
    ) -> Option<VolumeStep> {
        if claim.metadata.deletion_timestamp.is_some() {
            let id = (claim.metadata.namespace.clone(), claim.metadata.name.clone());
            let is_kept = claim.metadata.finalizers.iter().any(|one| one == CLAIM_PROTECTION);
            return (is_kept && !self.used.contains(&id)).then(|| {
                let mut claim = claim.clone();
                claim.metadata.finalizers.retain(|one| one != CLAIM_PROTECTION);
                VolumeStep::Claim(Box::new(claim))
            });
        }
        let named = &claim.spec.volume_name;
        if !named.is_empty() {
            let is_joined = claim.metadata.annotations.contains_key(BIND_COMPLETED);
            return match self.volumes.get(named) {
                Some(volume) => join(volume, claim),
                None if is_joined && claim.status.phase != "Lost" => Some(with_phase(claim, "Lost")),
                None => None,
            };
        }
        if let Some(volume) = self.volumes.values().find(|volume| is_for(volume, claim)) {
            return join(volume, claim);
        }
        let class = self.classes.get(claim.spec.storage_class_name.as_deref().unwrap_or_default());
        let waits =
            class.is_some_and(|class| class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"));
        let selected = claim.metadata.annotations.get(SELECTED_NODE);
        if !waits && let Some(volume) = self.smallest_for(claim) {
            return join(volume, claim);
        }
        let class = class.filter(|class| provisions(&class.provisioner) && (!waits || selected.is_some()))?;
        match selected.map(|name| self.nodes.get(name)) {
            Some(None) => {
                // There is no such node any more: another has to be selected.
                let mut claim = claim.clone();
                claim.metadata.annotations.remove(SELECTED_NODE);
                Some(VolumeStep::Claim(Box::new(claim)))
            }
            node => {
                let node = node.flatten().map(|node| &**node);
                Some(VolumeStep::Make(Box::new(self.provisioned(claim, class, node))))
            }
        }
    }

    /// What is to be done next for a volume, whose claim may be gone.
    #[must_use]
    pub fn step_for_volume(
        &self,
        volume: &PersistentVolume,
        provisions: impl Fn(&str) -> bool,
    ) -> Option<VolumeStep> {
        let phase = volume.status.phase.as_str();
        if volume.metadata.deletion_timestamp.is_some() {
            let is_kept = volume.metadata.finalizers.iter().any(|one| one == VOLUME_PROTECTION);
            return (is_kept && phase != "Bound").then(|| {
                let mut volume = volume.clone();
                volume.metadata.finalizers.retain(|one| one != VOLUME_PROTECTION);
                VolumeStep::Volume(Box::new(volume))
            });
        }
        let Some(owner) = &volume.spec.claim_ref else {
            return (phase != "Available").then(|| volume_with_phase(volume, "Available"));
        };
        let claim = self.claims.get(&(owner.namespace.clone(), owner.name.clone()));
        let is_gone = !owner.uid.is_empty() && claim.is_none_or(|claim| claim.metadata.uid != owner.uid);
        if !is_gone {
            return match phase {
                "" | "Pending" if owner.uid.is_empty() => Some(volume_with_phase(volume, "Available")),
                _ => None,
            };
        }
        if phase != "Released" {
            return Some(volume_with_phase(volume, "Released"));
        }
        let provisioner = volume.metadata.annotations.get(PROVISIONED_BY);
        let is_ours = provisioner.is_some_and(|provisioner| provisions(provisioner));
        let goes = is_ours && volume.spec.persistent_volume_reclaim_policy == "Delete";
        goes.then(|| VolumeStep::Delete(volume.metadata.name.clone()))
    }

    /// The smallest volume that a claim can take, wherever it is.
    fn smallest_for(&self, claim: &PersistentVolumeClaim) -> Option<&PersistentVolume> {
        let wanted = convert::volume_claim(claim, 0).ok()?;
        let class = wanted.class.clone().unwrap_or_default();
        let found = self.volumes.values().filter_map(|volume| {
            let known = convert::volume(volume, 0).ok()?;
            let will_do =
                known.class == class && known.suits(&wanted.wish) && known.is_free_for(&wanted.wish);
            will_do.then_some((known.capacity, known.name, &**volume))
        });
        found.min_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1))).map(|(.., volume)| volume)
    }

    /// A volume that is made for a claim, within reach of the node that was selected.
    fn provisioned(
        &self,
        claim: &PersistentVolumeClaim,
        class: &StorageClass,
        node: Option<&Node>,
    ) -> PersistentVolume {
        let name = format!("pvc-{}", claim.metadata.uid);
        let provisioner = class.provisioner.clone();
        let keys = node.map(|node| self.topology_keys(node, class)).unwrap_or_default();
        let segments: Vec<NodeSelectorRequirement> = keys
            .into_iter()
            .filter_map(|key| {
                let value = node?.metadata.labels.get(&key)?.clone();
                Some(NodeSelectorRequirement {
                    key,
                    operator: "In".to_owned(),
                    values: vec![value],
                    ..NodeSelectorRequirement::default()
                })
            })
            .collect();
        let term = NodeSelectorTerm { match_expressions: segments, ..NodeSelectorTerm::default() };
        let affinity = (!term.match_expressions.is_empty()).then(|| VolumeNodeAffinity {
            required: Some(NodeSelector { node_selector_terms: vec![term], ..NodeSelector::default() }),
            ..VolumeNodeAffinity::default()
        });
        PersistentVolume {
            metadata: ObjectMeta {
                name: name.clone(),
                annotations: [(PROVISIONED_BY.to_owned(), provisioner.clone())].into(),
                ..ObjectMeta::default()
            },
            spec: PersistentVolumeSpec {
                capacity: claim.spec.resources.requests.clone(),
                access_modes: claim.spec.access_modes.clone(),
                claim_ref: Some(reference(claim)),
                csi: Some(CSIPersistentVolumeSource {
                    driver: provisioner,
                    volume_handle: name,
                    ..CSIPersistentVolumeSource::default()
                }),
                node_affinity: affinity,
                persistent_volume_reclaim_policy: class
                    .reclaim_policy
                    .clone()
                    .unwrap_or_else(|| "Delete".to_owned()),
                storage_class_name: class.metadata.name.clone(),
                volume_attributes_class_name: claim.spec.volume_attributes_class_name.clone(),
                volume_mode: claim.spec.volume_mode.clone(),
                ..PersistentVolumeSpec::default()
            },
            ..PersistentVolume::default()
        }
    }

    /// The labels by which volumes of a class are near to nodes: those that the driver tells of the node, or else those that the
    /// class is limited by.
    fn topology_keys(&self, node: &Node, class: &StorageClass) -> Vec<String> {
        let known = self.storage_nodes.get(&node.metadata.name);
        let drivers = known.into_iter().flat_map(|known| &known.spec.drivers);
        let mut drivers = drivers.filter(|driver| driver.name == class.provisioner);
        if let Some(driver) = drivers.next() {
            return driver.topology_keys.clone();
        }
        let terms = class.allowed_topologies.iter().flat_map(|term| &term.match_label_expressions);
        let mut keys: Vec<String> = terms.map(|rule| rule.key.clone()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// Whether a volume is for a claim.
fn is_for(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.spec.claim_ref.as_ref().is_some_and(|owner| {
        owner.namespace == claim.metadata.namespace
            && owner.name == claim.metadata.name
            && (owner.uid.is_empty() || owner.uid == claim.metadata.uid)
    })
}

/// The next step to join a volume and a claim.
fn join(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<VolumeStep> {
    let is_known = volume.spec.claim_ref.as_ref().is_some_and(|owner| owner.uid == claim.metadata.uid);
    if !is_known {
        // It may be for another by now.
        let is_open = volume.spec.claim_ref.is_none() || is_for(volume, claim);
        return is_open.then(|| {
            let mut volume = volume.clone();
            if volume.spec.claim_ref.is_none() {
                volume.metadata.annotations.insert(BOUND_BY_CONTROLLER.to_owned(), "yes".to_owned());
            }
            volume.spec.claim_ref = Some(reference(claim));
            VolumeStep::Volume(Box::new(volume))
        });
    }
    if volume.status.phase != "Bound" {
        return Some(volume_with_phase(volume, "Bound"));
    }
    let is_joined = claim.spec.volume_name == volume.metadata.name
        && claim.metadata.annotations.contains_key(BIND_COMPLETED);
    if !is_joined {
        let mut claim = claim.clone();
        if claim.spec.volume_name.is_empty() {
            claim.metadata.annotations.insert(BOUND_BY_CONTROLLER.to_owned(), "yes".to_owned());
        }
        claim.spec.volume_name.clone_from(&volume.metadata.name);
        claim.metadata.annotations.insert(BIND_COMPLETED.to_owned(), "yes".to_owned());
        return Some(VolumeStep::Claim(Box::new(claim)));
    }
    if claim.status.phase == "Bound" {
        return None;
    }
    let mut claim = claim.clone();
    "Bound".clone_into(&mut claim.status.phase);
    claim.status.access_modes.clone_from(&volume.spec.access_modes);
    claim.status.capacity.clone_from(&volume.spec.capacity);
    Some(VolumeStep::ClaimStatus(Box::new(claim)))
}

fn reference(claim: &PersistentVolumeClaim) -> ObjectReference {
    ObjectReference {
        api_version: PersistentVolumeClaim::API_VERSION.to_owned(),
        kind: PersistentVolumeClaim::KIND.to_owned(),
        namespace: claim.metadata.namespace.clone(),
        name: claim.metadata.name.clone(),
        uid: claim.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

fn with_phase(claim: &PersistentVolumeClaim, phase: &str) -> VolumeStep {
    let mut claim = claim.clone();
    phase.clone_into(&mut claim.status.phase);
    VolumeStep::ClaimStatus(Box::new(claim))
}

fn volume_with_phase(volume: &PersistentVolume, phase: &str) -> VolumeStep {
    let mut volume = volume.clone();
    phase.clone_into(&mut volume.status.phase);
    VolumeStep::VolumeStatus(Box::new(volume))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read<T: Object>(value: &Value) -> T {
        T::read_value(value).expect("an object")
    }

    fn storage(objects: &[Value]) -> Storage {
        let mut storage = Storage::default();
        for object in objects {
            let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
            match object["kind"].as_str().expect("a kind") {
                "PersistentVolume" => drop(storage.volumes.insert(name, Arc::new(read(object)))),
                "PersistentVolumeClaim" => {
                    drop(storage.claims.insert(("ns".to_owned(), name), Arc::new(read(object))))
                }
                "StorageClass" => drop(storage.classes.insert(name, Arc::new(read(object)))),
                "Node" => drop(storage.nodes.insert(name, Arc::new(read(object)))),
                "CSINode" => drop(storage.storage_nodes.insert(name, Arc::new(read(object)))),
                other => panic!("{other}"),
            }
        }
        storage
    }

    fn claim(name: &str, class: &str, annotations: &Value) -> Value {
        let meta = json!({ "name": name, "namespace": "ns", "uid": format!("uid-{name}"), "annotations": annotations });
        let spec = json!({ "storageClassName": class, "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "2Gi" } } });
        json!({ "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec })
    }

    fn volume(name: &str, size: &str, class: &str) -> Value {
        let spec = json!({ "storageClassName": class, "accessModes": ["ReadWriteOnce"], "capacity": { "storage": size } });
        json!({ "kind": "PersistentVolume", "metadata": { "name": name }, "spec": spec })
    }

    fn class(name: &str, waits: bool) -> Value {
        let mode = if waits { "WaitForFirstConsumer" } else { "Immediate" };
        json!({ "kind": "StorageClass", "metadata": { "name": name }, "provisioner": "d", "volumeBindingMode": mode })
    }

    /// Goes on until nothing is left to do, and tells each step.
    fn carry_on(storage: &mut Storage, provisions: bool) -> Vec<String> {
        let mut told = Vec::new();
        for _ in 0..50 {
            let claims =
                storage.claims.values().find_map(|claim| storage.step_for_claim(claim, |_| provisions));
            let step = claims.or_else(|| {
                storage.volumes.values().find_map(|volume| storage.step_for_volume(volume, |_| provisions))
            });
            let Some(step) = step else { return told };
            match step {
                VolumeStep::Make(volume) => {
                    told.push(format!("make {}", volume.metadata.name));
                    storage.volumes.insert(volume.metadata.name.clone(), Arc::new(*volume));
                }
                VolumeStep::Volume(volume) | VolumeStep::VolumeStatus(volume) => {
                    told.push(format!("{} {}", volume.metadata.name, volume.status.phase));
                    storage.volumes.insert(volume.metadata.name.clone(), Arc::new(*volume));
                }
                VolumeStep::Claim(claim) | VolumeStep::ClaimStatus(claim) => {
                    let name = claim.metadata.name.clone();
                    told.push(format!("{name} {} {}", claim.spec.volume_name, claim.status.phase));
                    storage.claims.insert(("ns".to_owned(), name), Arc::new(*claim));
                }
                VolumeStep::Delete(name) => {
                    told.push(format!("delete {name}"));
                    storage.volumes.remove(&name);
                }
            }
        }
        panic!("there is no end: {told:?}")
    }

    #[test]
    fn a_claim_that_does_not_wait_takes_the_smallest_volume_that_will_do() {
        let mut storage = storage(&[
            class("now", false),
            volume("large", "5Gi", "now"),
            volume("fits", "2Gi", "now"),
            volume("small", "1Gi", "now"),
            volume("other", "2Gi", "later"),
        ]);
        carry_on(&mut storage, false);
        storage.claims.insert(("ns".into(), "c".into()), Arc::new(read(&claim("c", "now", &json!({})))));
        let steps = carry_on(&mut storage, false);
        assert_eq!(steps, ["fits Available", "fits Bound", "c fits ", "c fits Bound"]);
    }

    #[test]
    fn a_claim_that_waits_is_bound_to_the_volume_that_a_scheduler_noted() {
        let mut noted = volume("v", "2Gi", "later");
        noted["spec"]["claimRef"] = json!({ "namespace": "ns", "name": "c", "uid": "uid-c" });
        let mut storage = storage(&[
            class("later", true),
            volume("free", "2Gi", "later"),
            claim("c", "later", &json!({})),
            claim("waits", "later", &json!({})),
        ]);
        assert_eq!(carry_on(&mut storage, true), ["free Available"]);
        storage.volumes.insert("v".into(), Arc::new(read(&noted)));
        assert_eq!(carry_on(&mut storage, true), ["v Bound", "c v ", "c v Bound"]);
    }

    #[test]
    fn a_volume_is_made_for_the_node_that_was_selected_and_goes_with_its_claim() {
        let labels = json!({ "zone": "z1", "host": "n" });
        let drivers = json!([{ "name": "d", "nodeID": "n", "topologyKeys": ["zone"] }]);
        let mut storage = storage(&[
            class("later", true),
            claim("c", "later", &json!({ SELECTED_NODE: "n" })),
            json!({ "kind": "Node", "metadata": { "name": "n", "labels": labels } }),
            json!({ "kind": "CSINode", "metadata": { "name": "n" }, "spec": { "drivers": drivers } }),
        ]);
        assert_eq!(carry_on(&mut storage, false), Vec::<String>::new());
        let name = "pvc-uid-c";
        let made = ["make pvc-uid-c", "pvc-uid-c Bound", "c pvc-uid-c ", "c pvc-uid-c Bound"];
        assert_eq!(carry_on(&mut storage, true), made);
        let affinity =
            storage.volumes[name].spec.node_affinity.as_ref().and_then(|one| one.required.as_ref());
        let rule = &affinity.expect("it has one").node_selector_terms[0].match_expressions;
        assert_eq!(
            (rule.len(), rule[0].key.as_str(), rule[0].values.as_slice()),
            (1, "zone", &["z1".to_owned()][..])
        );
        storage.claims.clear();
        assert_eq!(carry_on(&mut storage, true), ["pvc-uid-c Released", "delete pvc-uid-c"]);
    }

    #[test]
    fn a_node_that_is_gone_is_selected_no_more_and_a_claim_whose_volume_is_gone_is_lost() {
        let mut storage =
            storage(&[class("later", true), claim("c", "later", &json!({ SELECTED_NODE: "gone" }))]);
        carry_on(&mut storage, true);
        let claim = &storage.claims[&("ns".to_owned(), "c".to_owned())];
        assert!(!claim.metadata.annotations.contains_key(SELECTED_NODE) && storage.volumes.is_empty());
        let mut lost = PersistentVolumeClaim::clone(claim);
        lost.spec.volume_name = "v".to_owned();
        lost.metadata.annotations.insert(BIND_COMPLETED.to_owned(), "yes".to_owned());
        storage.claims.insert(("ns".into(), "c".into()), Arc::new(lost));
        assert_eq!(carry_on(&mut storage, true), ["c v Lost"]);
    }
}
