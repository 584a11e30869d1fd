//! What is wrong with the volumes of a pod.

use std::fmt;
use std::fmt::Display;

use super::Out;
use crate::values::reason::VolumeRefusal;

impl Display for VolumeRefusal {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            VolumeRefusal::NoClaim { claim } => write!(out, "persistentvolumeclaim \"{claim}\" not found"),
            VolumeRefusal::NotMade { claim } => write!(
                out,
                "waiting for ephemeral volume controller to create the persistentvolumeclaim \"{claim}\""
            ),
            VolumeRefusal::NotOwn { namespace, claim, pod } => write!(
                out,
                "PVC {namespace}/{claim} was not created for pod {namespace}/{pod} (pod is not owner)"
            ),
            VolumeRefusal::Lost { claim, volume } => write!(
                out,
                "persistentvolumeclaim \"{claim}\" bound to non-existent persistentvolume \"{volume}\""
            ),
            VolumeRefusal::Deleting { claim } => {
                write!(out, "persistentvolumeclaim \"{claim}\" is being deleted")
            }
            VolumeRefusal::Unbound { .. } => write!(out, "pod has unbound immediate PersistentVolumeClaims"),
            VolumeRefusal::NoVolume { volume } => write!(out, "persistentvolume \"{volume}\" not found"),
        }
    }
}
