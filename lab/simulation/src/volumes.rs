//! Volumes in a simulation: joined with their claims, and provisioned for classes that have a provisioner, as a cluster would do it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use controllers::ephemeral_volumes;
use controllers::volumes::{Storage, VolumeStep};
use convert::change;
use objects::Object;
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use scheduler::engine::Input;
use serde_json::json;

use crate::shelf::Key;
use crate::simulation::{PodObject, Simulation, VolumeBinder};

/// The provisioner of classes whose volumes somebody makes by hand.
const BY_HAND: &str = "kubernetes.io/no-provisioner";

/// How many steps are taken at most for each claim and volume: more than one can need.
const STEPS_MAX: usize = 16;

impl Simulation {
    /// Makes the claims for volumes that a pod brings along.
    pub(crate) fn make_volume_claims(&mut self, pod: &PodObject) {
        let namespace = &pod.metadata.namespace;
        let exists =
            |name: &str| self.shelf.get(&Key::of::<PersistentVolumeClaim>(namespace, name)).is_some();
        for claim in ephemeral_volumes::missing(pod, exists) {
            // What cannot be made is told by the pod that waits for it.
            let made = self.shelf.create(json!(claim), Vec::new());
            made.into_iter().for_each(|key| self.tell_of(&key));
        }
    }

    /// Joins claims and volumes, and says whether there was something to do.
    pub(crate) fn bind_volumes(&mut self) -> bool {
        if self.volumes == VolumeBinder::Following && self.has_decided() {
            (self.volumes, self.storage_changed) = (VolumeBinder::Running, true);
        }
        if self.volumes != VolumeBinder::Running || !std::mem::take(&mut self.storage_changed) {
            return false;
        }
        let mut was_busy = false;
        for _ in 0..STEPS_MAX {
            let storage = Storage {
                claims: self.shelf.read_all().map(|(key, claim)| (place(key), Arc::new(claim))).collect(),
                volumes: self.by_name(),
                classes: self.by_name(),
                nodes: self.by_name(),
                storage_nodes: self.by_name(),
                used: BTreeSet::new(),
            };
            let provisions = |provisioner: &str| !provisioner.is_empty() && provisioner != BY_HAND;
            // Each claim sees what those before it took in the next round at the latest: a volume that is taken is not taken again.
            let claims = storage.claims.values().filter_map(|one| storage.step_for_claim(one, provisions));
            let mut steps: Vec<VolumeStep> = claims.collect();
            steps.extend(
                storage.volumes.values().filter_map(|volume| storage.step_for_volume(volume, provisions)),
            );
            if steps.is_empty() {
                break;
            }
            was_busy = true;
            steps.into_iter().for_each(|step| self.take_step(step));
        }
        self.storage_changed = false;
        was_busy
    }

    fn by_name<K: Object>(&self) -> BTreeMap<String, Arc<K>> {
        self.shelf.read_all().map(|(key, object)| (key.name.clone(), Arc::new(object))).collect()
    }

    fn take_step(&mut self, step: VolumeStep) {
        match step {
            VolumeStep::Make(volume) => {
                let made = self.shelf.create(json!(volume), Vec::new());
                made.into_iter().for_each(|key| self.tell_of(&key));
            }
            VolumeStep::Volume(volume) => {
                let key = Key::of::<PersistentVolume>("", &volume.metadata.name);
                // Another claim may have taken it in this round.
                let known = self.shelf.read::<PersistentVolume>("", &volume.metadata.name);
                let is_taken = known
                    .is_none_or(|known| known.metadata.resource_version != volume.metadata.resource_version);
                if !is_taken {
                    self.put(&key, json!(volume), None);
                }
            }
            VolumeStep::VolumeStatus(volume) => {
                let key = Key::of::<PersistentVolume>("", &volume.metadata.name);
                self.put(&key, json!(volume), Some("status"));
            }
            VolumeStep::Claim(claim) => {
                let key = Key::of::<PersistentVolumeClaim>(&claim.metadata.namespace, &claim.metadata.name);
                self.put(&key, json!(claim), None);
            }
            VolumeStep::ClaimStatus(claim) => {
                let key = Key::of::<PersistentVolumeClaim>(&claim.metadata.namespace, &claim.metadata.name);
                self.put(&key, json!(claim), Some("status"));
            }
            VolumeStep::Delete(name) => {
                let key = Key::of::<PersistentVolume>("", &name);
                let Some(object) = self.shelf.get(&key).cloned() else { return };
                self.shelf.delete(&key);
                if let Ok(Some(gone)) = change::gone(&object) {
                    self.tell(Input::Changed(gone));
                }
            }
        }
    }

    fn put(&mut self, key: &Key, object: serde_json::Value, subresource: Option<&str>) {
        // What the API refuses stays as it is, and the pod says what it waits for.
        if self.shelf.replace(key, object, subresource).is_ok() {
            self.tell_of(key);
        }
    }
}

fn place(key: &Key) -> (String, String) {
    (key.namespace.clone(), key.name.clone())
}
