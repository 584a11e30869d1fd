//! Groups of pods that are placed together.

use std::fmt;
use std::sync::Arc;

/// A group by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GroupId {
    /// Its namespace, which is that of its pods.
    pub namespace: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
}

impl fmt::Display for GroupId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.namespace, self.name)
    }
}

/// How pods of a group may be taken away for more important ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Disruption {
    /// One by one.
    #[default]
    Single,
    /// All at once, or none.
    Whole,
}

/// How pods of a group are placed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Which group it is.
    pub id: GroupId,
    /// Tells it from others that had or will have its name.
    pub uid: Arc<str>,
    /// How many pods have to be placed at once.
    pub at_least: u32,
    /// Its pods are in one domain of each of these levels; a level is the key of a node label.
    pub levels: Vec<Arc<str>>,
    /// More important groups come first.
    pub priority: i32,
    /// How its pods may be taken away for more important ones.
    pub disruption: Disruption,
    /// Less important pods may have to go for it.
    pub preempts: bool,
}
