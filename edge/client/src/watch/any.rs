//! Objects of any kind, for what is the same for all of them: listing and watching is compiled once and not for each kind.

use std::any::Any;
use std::fmt;

use objects::meta::ObjectMeta;
use objects::{List, Object};

use super::Event;

/// An object whose kind is known only to those who asked for it.
pub trait AnyObject: Any + Send {
    /// Its metadata.
    fn metadata(&self) -> &ObjectMeta;
}

impl<K: Object + Send + 'static> AnyObject for K {
    fn metadata(&self) -> &ObjectMeta {
        Object::metadata(self)
    }
}

/// An object of some kind.
pub type SomeObject = Box<dyn AnyObject>;

impl fmt::Debug for dyn AnyObject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.metadata().namespace, self.metadata().name)
    }
}

/// How objects of a kind are read.
#[derive(Clone, Copy, Debug)]
pub struct Readers {
    pub(crate) read: fn(&[u8]) -> Result<SomeObject, serde_json::Error>,
    pub(crate) read_list: fn(&[u8]) -> Result<List<SomeObject>, serde_json::Error>,
}

impl Readers {
    /// Those of a kind.
    #[must_use]
    pub const fn of<K: Object + Send + 'static>() -> Readers {
        Readers { read: read::<K>, read_list: read_list::<K> }
    }
}

fn read<K: Object + Send + 'static>(json: &[u8]) -> Result<SomeObject, serde_json::Error> {
    Ok(Box::new(K::read(json)?))
}

fn read_list<K: Object + Send + 'static>(json: &[u8]) -> Result<List<SomeObject>, serde_json::Error> {
    let List { metadata, items } = K::read_list(json)?;
    Ok(List { metadata, items: items.into_iter().map(|object| Box::new(object) as _).collect() })
}

impl Event<SomeObject> {
    /// The event as one of a kind.
    ///
    /// # Panics
    /// If its object was not read as one of this kind.
    #[must_use]
    pub fn of<K: Object + Send + 'static>(self) -> Event<K> {
        let typed = |object: SomeObject| {
            let object: Box<dyn Any> = object;
            *object.downcast().expect("an object is of the kind as which it was read")
        };
        match self {
            Event::Applied(object) => Event::Applied(typed(object)),
            Event::Deleted(object) => Event::Deleted(typed(object)),
            Event::Vanished(gone) => Event::Vanished(gone),
            Event::Synced { resource_version } => Event::Synced { resource_version },
            Event::Progressed { resource_version } => Event::Progressed { resource_version },
            Event::Unreadable { object, why } => Event::Unreadable { object, why },
            Event::Interrupted { why, retry_in } => Event::Interrupted { why, retry_in },
        }
    }
}
