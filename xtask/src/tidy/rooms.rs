//! The rooms of the workspace and who may depend on whom.
//!
//! Dependencies point one way: apps, then edge and lab, then api, then core. xtask stands outside and uses none of our
//! crates, so that it still builds, and can still complain, when they do not.

use std::fmt;

/// A top-level folder that says what the code below it may do.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Room {
    Core,
    Api,
    Edge,
    Lab,
    Apps,
    Xtask,
}

impl Room {
    pub(crate) const ALL: [Self; 6] = [Self::Core, Self::Api, Self::Edge, Self::Lab, Self::Apps, Self::Xtask];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Api => "api",
            Self::Edge => "edge",
            Self::Lab => "lab",
            Self::Apps => "apps",
            Self::Xtask => "xtask",
        }
    }

    /// The room that a path from the workspace root lies in.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let first = path.split('/').next()?;
        Self::ALL.into_iter().find(|room| room.name() == first)
    }

    /// The rooms whose crates this room may use in shipped code, itself included.
    pub(crate) fn may_use(self) -> &'static [Self] {
        match self {
            Self::Core => &[Self::Core],
            Self::Api => &[Self::Core, Self::Api],
            Self::Edge => &[Self::Core, Self::Api, Self::Edge],
            Self::Lab => &[Self::Core, Self::Api, Self::Edge, Self::Lab],
            Self::Apps => &[Self::Core, Self::Api, Self::Edge, Self::Lab, Self::Apps],
            Self::Xtask => &[Self::Xtask],
        }
    }
}

impl fmt::Display for Room {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Room;

    #[test]
    fn the_first_folder_of_a_path_is_its_room() {
        assert_eq!(Room::of("core/model/src/lib.rs"), Some(Room::Core));
        assert_eq!(Room::of("docs/core/notes.md"), None);
    }

    #[test]
    fn no_room_may_use_one_that_may_use_it_back() {
        for room in Room::ALL {
            for used in room.may_use() {
                assert!(*used == room || !used.may_use().contains(&room), "{room} and {used} use each other");
            }
        }
    }
}
