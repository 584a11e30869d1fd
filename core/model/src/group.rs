//! Groups of pods that are placed together.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::identity::GroupUid;
use crate::timestamp::Timestamp;
use crate::workload::Replica;

/// A group by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct GroupId {
    /// Its namespace, which is that of its pods.
    pub namespace: Arc<str>,
    /// Its name there.
    pub name: GroupName,
}

impl fmt::Display for GroupId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.namespace, self.name)
    }
}

/// What a group is called in its namespace. Names are in the order of their texts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum GroupName {
    /// As the object is that describes it.
    Object(Arc<str>),
    /// As a part of the workload that describes it.
    Replica(Arc<Replica>),
}

impl GroupName {
    /// The replica of a workload's group that it names, if it does.
    #[must_use]
    pub fn replica(&self) -> Option<&Replica> {
        match self {
            GroupName::Object(_) => None,
            GroupName::Replica(replica) => Some(replica),
        }
    }
}

impl Default for GroupName {
    fn default() -> GroupName {
        GroupName::Object(Arc::default())
    }
}

impl From<Arc<str>> for GroupName {
    /// The name of an object.
    fn from(name: Arc<str>) -> GroupName {
        GroupName::Object(name)
    }
}

impl From<&str> for GroupName {
    /// The name of an object.
    fn from(name: &str) -> GroupName {
        GroupName::Object(name.into())
    }
}

impl From<String> for GroupName {
    /// The name of an object.
    fn from(name: String) -> GroupName {
        GroupName::Object(name.into())
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupName::Object(name) => out.write_str(name),
            GroupName::Replica(replica) => replica.fmt(out),
        }
    }
}

impl Ord for GroupName {
    fn cmp(&self, other: &GroupName) -> Ordering {
        // An object and a replica are never the same, whatever their texts.
        match (self, other) {
            (GroupName::Object(one), GroupName::Object(other)) => one.cmp(other),
            (GroupName::Replica(one), GroupName::Replica(other)) => one.cmp(other),
            (GroupName::Object(one), GroupName::Replica(other)) => {
                one.bytes().cmp(other.bytes()).then(Ordering::Less)
            }
            (GroupName::Replica(one), GroupName::Object(other)) => {
                one.bytes().cmp(other.bytes()).then(Ordering::Greater)
            }
        }
    }
}

impl PartialOrd for GroupName {
    fn partial_cmp(&self, other: &GroupName) -> Option<Ordering> {
        Some(self.cmp(other))
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

/// What becomes of a gang if a member cannot be bound after others were, and they are too few without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BindingFailure {
    /// The others stay, and the member gets another place beside them.
    #[default]
    Replace,
    /// The others are let go as well, and the gang is placed anew as a whole.
    Release,
}

/// How pods of a group are placed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Group {
    /// Which group it is.
    pub id: GroupId,
    /// Tells it from others that had or will have its name.
    pub uid: GroupUid,
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
    /// Claims that it names and uses in its members' stead, by the entry under which members know them.
    pub claims: BTreeMap<Arc<str>, Arc<str>>,
    /// The group of groups that it belongs to, by name.
    pub parent: Option<Arc<str>>,
    /// When it was made, which is the order in which groups of one parent are placed.
    pub created: Option<Timestamp>,
    /// The API has it that enough of its pods were placed once.
    pub was_placed: bool,
    /// What becomes of it if a member cannot be bound; nothing if that is left to the scheduler.
    pub binding_failure: Option<BindingFailure>,
}

/// How groups that belong together are placed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Composite {
    /// Which it is.
    pub id: GroupId,
    /// Tells it from others that had or will have its name.
    pub uid: GroupUid,
    /// How many of the groups in it have to be placed at once.
    pub at_least: u32,
    /// All pods of its groups are in one domain of each of these levels; a level is the key of a node label.
    pub levels: Vec<Arc<str>>,
    /// More important ones come first.
    pub priority: i32,
    /// How its groups may be taken away for more important ones: all pods below it at once, or as each group says.
    pub disruption: Disruption,
    /// Less important pods may have to go for it.
    pub preempts: bool,
    /// The one that it belongs to itself, by name.
    pub parent: Option<Arc<str>>,
    /// When it was made.
    pub created: Option<Timestamp>,
}

/// A group of pods, or a group of groups.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Grouping {
    /// Of pods.
    Pods(Arc<Group>),
    /// Of groups.
    Groups(Arc<Composite>),
}

impl Grouping {
    /// Which it is.
    #[must_use]
    pub fn id(&self) -> &GroupId {
        match self {
            Grouping::Pods(group) => &group.id,
            Grouping::Groups(composite) => &composite.id,
        }
    }

    /// Tells it from others that had or will have its name.
    #[must_use]
    pub fn uid(&self) -> &GroupUid {
        match self {
            Grouping::Pods(group) => &group.uid,
            Grouping::Groups(composite) => &composite.uid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_in_the_order_of_their_texts() {
        let replica = |workload: &str, group: &str, number: &str| {
            let (workload, group, number) = (workload.into(), group.into(), number.into());
            GroupName::from(Replica { workload, group, number })
        };
        let mut names: Vec<GroupName> = ["w", "w-a", "w.a", "wa", "v", "w0"].map(GroupName::from).into();
        for workload in ["w", "w-a", "w.a", "wa", "w0"] {
            for group in ["g", "g-a", "g0", "ga"] {
                names.extend(["", "0", "1", "10", "2"].map(|number| replica(workload, group, number)));
            }
        }
        for one in &names {
            for other in &names {
                assert_eq!(one.cmp(other), one.to_string().cmp(&other.to_string()), "{one} and {other}");
            }
        }
        assert_eq!(replica("w", "g", "0").to_string(), "w/g/0");
        assert!(replica("w", "g", "0") != GroupName::from("w/g/0"));
    }
}
