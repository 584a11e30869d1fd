//! Facts about volumes.

use cluster::change::StorageChange;

use crate::engine::Engine;
use crate::wake::{Wake, Wakes};

impl Engine {
    /// Takes note of a fact about volumes, and says whom it could help. What goes helps nobody.
    pub(crate) fn fold_storage(&mut self, change: StorageChange) -> Wakes {
        match change {
            StorageChange::VolumeApplied(volume) => {
                self.volumes.apply_volume(volume);
                Wake::Volume.into()
            }
            StorageChange::VolumeGone(name) => {
                self.volumes.remove_volume(&name);
                Wakes::NONE
            }
            StorageChange::VolumeClaimApplied(claim) => {
                self.volumes.apply_claim(claim);
                Wake::VolumeClaim.into()
            }
            StorageChange::VolumeClaimGone(id) => {
                self.volumes.remove_claim(&id);
                Wakes::NONE
            }
            StorageChange::StorageClassApplied(class) => {
                self.volumes.apply_class(class);
                Wake::StorageClass.into()
            }
            StorageChange::StorageClassGone(name) => {
                self.volumes.remove_class(&name);
                Wakes::NONE
            }
        }
    }
}
