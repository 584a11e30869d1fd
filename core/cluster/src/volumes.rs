//! Volumes, claims for them and their classes, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::volume::{StorageClass, Volume, VolumeClaim, VolumeClaimId};

/// All that is known of volumes.
#[derive(Clone, Debug, Default)]
pub struct Volumes {
    /// By namespace and name.
    claims: BTreeMap<Arc<str>, BTreeMap<Arc<str>, VolumeClaim>>,
    volumes: BTreeMap<Arc<str>, Volume>,
    classes: BTreeMap<Arc<str>, StorageClass>,
}

impl Volumes {
    /// Adds or replaces a claim.
    pub fn apply_claim(&mut self, claim: VolumeClaim) {
        let id = claim.id.clone();
        self.claims.entry(id.namespace).or_default().insert(id.name, claim);
    }

    /// Takes a claim away.
    pub fn remove_claim(&mut self, id: &VolumeClaimId) {
        if let Some(claims) = self.claims.get_mut(&id.namespace) {
            claims.remove(&id.name);
            if claims.is_empty() {
                self.claims.remove(&id.namespace);
            }
        }
    }

    /// A claim by name.
    #[must_use]
    pub fn claim(&self, namespace: &str, name: &str) -> Option<&VolumeClaim> {
        self.claims.get(namespace)?.get(name)
    }

    /// Adds or replaces a volume.
    pub fn apply_volume(&mut self, volume: Volume) {
        self.volumes.insert(volume.name.clone(), volume);
    }

    /// Takes a volume away.
    pub fn remove_volume(&mut self, name: &str) {
        self.volumes.remove(name);
    }

    /// A volume by name.
    #[must_use]
    pub fn volume(&self, name: &str) -> Option<&Volume> {
        self.volumes.get(name)
    }

    /// Adds or replaces a class.
    pub fn apply_class(&mut self, class: StorageClass) {
        self.classes.insert(class.name.clone(), class);
    }

    /// Takes a class away.
    pub fn remove_class(&mut self, name: &str) {
        self.classes.remove(name);
    }

    /// A class by name.
    #[must_use]
    pub fn class(&self, name: &str) -> Option<&StorageClass> {
        self.classes.get(name)
    }
}
