//! Objects that writes are made from, of whichever kind, and how they are named and read.

use std::borrow::Cow;
use std::sync::Arc;

use model::claim::ClaimId;
use model::group::GroupId;
use model::pod::PodId;
use model::volume::VolumeClaimId;
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use objects::{Object as Kind, Unreadable, decode};
use serde_json::Value;

/// An object that is to be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ObjectRef {
    /// A claim.
    Claim(ClaimId),
    /// A pod.
    Pod(PodId),
    /// A group of pods.
    Group(GroupId),
    /// What is negotiated about a pod.
    Context(PodId),
    /// A volume.
    Volume(Arc<str>),
    /// A claim for a volume.
    VolumeClaim(VolumeClaimId),
}

impl ObjectRef {
    /// Its kind, its namespace and its name.
    #[must_use]
    pub fn named(&self) -> (&'static str, &str, Cow<'_, str>) {
        match self {
            ObjectRef::Claim(id) => (ResourceClaim::KIND, &id.namespace, Cow::from(&*id.name)),
            ObjectRef::Pod(id) => (Pod::KIND, &id.namespace, Cow::from(&*id.name)),
            ObjectRef::Group(id) => (PodGroup::KIND, &id.namespace, Cow::from(id.name.to_string())),
            ObjectRef::Context(id) => (PodSchedulingContext::KIND, &id.namespace, Cow::from(&*id.name)),
            ObjectRef::Volume(name) => (PersistentVolume::KIND, "", Cow::from(&**name)),
            ObjectRef::VolumeClaim(id) => (PersistentVolumeClaim::KIND, &id.namespace, Cow::from(&*id.name)),
        }
    }
}

/// An object as it was read or answered.
#[derive(Clone, Debug)]
pub enum Object {
    /// A claim.
    Claim(Arc<ResourceClaim>),
    /// A pod.
    Pod(Arc<Pod>),
    /// A group of pods.
    Group(Arc<PodGroup>),
    /// What is negotiated about a pod.
    Context(Arc<PodSchedulingContext>),
    /// A volume.
    Volume(Arc<PersistentVolume>),
    /// A claim for a volume.
    VolumeClaim(Arc<PersistentVolumeClaim>),
}

impl Object {
    /// An object of a kind from what a server answers.
    ///
    /// # Errors
    /// It is not what its kind says, or of a kind that no write is made from.
    pub fn decode(kind: &str, body: &[u8]) -> Result<Object, String> {
        Object::read(kind, body)
    }

    /// An object of a kind from its JSON.
    ///
    /// # Errors
    /// It is not what its kind says, or of a kind that no write is made from.
    pub fn of_value(kind: &str, value: &Value) -> Result<Object, String> {
        Object::read(kind, value)
    }

    fn read(kind: &str, from: &(impl Source + ?Sized)) -> Result<Object, String> {
        Ok(match kind {
            ResourceClaim::KIND => Object::Claim(Arc::new(from.read()?)),
            Pod::KIND => Object::Pod(Arc::new(from.read()?)),
            PodGroup::KIND => Object::Group(Arc::new(from.read()?)),
            PodSchedulingContext::KIND => Object::Context(Arc::new(from.read()?)),
            PersistentVolume::KIND => Object::Volume(Arc::new(from.read()?)),
            PersistentVolumeClaim::KIND => Object::VolumeClaim(Arc::new(from.read()?)),
            other => return Err(format!("no write is made from a {other}")),
        })
    }
}

/// Something that an object can be read from.
trait Source {
    fn read<T: Kind>(&self) -> Result<T, String>;
}

impl Source for [u8] {
    fn read<T: Kind>(&self) -> Result<T, String> {
        decode(self).map_err(|error: Unreadable| error.to_string())
    }
}

impl Source for Value {
    fn read<T: Kind>(&self) -> Result<T, String> {
        T::read_value(self).map_err(|error| error.to_string())
    }
}
