//! Where in the device a value is read from.
//!
//! The reference keeps a path of names for each node in a growing array that nodes share: extending one path can
//! overwrite the last name of another. That shows in the estimates (the key of a two-variable loop gets the size of the
//! value), so the sharing is reproduced here, capacity for capacity.

use std::cell::RefCell;
use std::rc::Rc;

use super::bounds::Bounds;

/// One name of a path. Names that mean nothing to the size of a value are all `Other`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PathName {
    Device,
    Driver,
    Attributes,
    Capacity,
    Multiple,
    Other,
    /// The elements of a list or the values of a map.
    Elements,
    Keys,
}

impl PathName {
    pub(super) fn named(name: &str) -> PathName {
        match name {
            "device" => PathName::Device,
            "driver" => PathName::Driver,
            "attributes" => PathName::Attributes,
            "capacity" => PathName::Capacity,
            "allowMultipleAllocations" => PathName::Multiple,
            _ => PathName::Other,
        }
    }
}

/// A view of the first names of a shared array.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    names: Rc<RefCell<Vec<PathName>>>,
    length: usize,
    capacity: usize,
}

impl Path {
    /// The path of a variable.
    pub(super) fn root(name: PathName) -> Path {
        Path { names: Rc::new(RefCell::new(vec![name])), length: 1, capacity: 1 }
    }

    /// The path and one more name.
    pub(super) fn then(&self, name: PathName) -> Path {
        let length = self.length + 1;
        if length <= self.capacity {
            let mut names = self.names.borrow_mut();
            match names.get_mut(self.length) {
                Some(place) => *place = name,
                None => names.push(name),
            }
            return Path { names: self.names.clone(), length, capacity: self.capacity };
        }
        let mut names = self.names.borrow()[..self.length].to_vec();
        names.push(name);
        let capacity = (self.capacity * 2).max(1);
        Path { names: Rc::new(RefCell::new(names)), length, capacity }
    }

    /// The bounds of the elements, without touching what is shared.
    pub(super) fn element_size(&self) -> Option<Bounds> {
        let mut names = self.names.borrow()[..self.length].to_vec();
        names.push(PathName::Elements);
        size(&names)
    }

    /// The bounds that the API keeps for a value at this place.
    pub(super) fn size(&self) -> Option<Bounds> {
        size(&self.names.borrow()[..self.length])
    }
}

fn size(names: &[PathName]) -> Option<Bounds> {
    let (root, rest) = names.split_first()?;
    if *root != PathName::Device {
        return None;
    }
    let place = rest.iter().try_fold(Place::Device, |place, name| place.below(*name))?;
    Some(Bounds::between(0, place.max()))
}

#[derive(Clone, Copy)]
enum Place {
    Device,
    Driver,
    Multiple,
    Attributes,
    AttributesOfDomain,
    Attribute,
    Capacities,
    CapacitiesOfDomain,
    Capacity,
    Domain,
    Id,
}

impl Place {
    fn below(self, name: PathName) -> Option<Place> {
        Some(match (self, name) {
            (Place::Device, PathName::Driver) => Place::Driver,
            (Place::Device, PathName::Attributes) => Place::Attributes,
            (Place::Device, PathName::Capacity) => Place::Capacities,
            (Place::Device, PathName::Multiple) => Place::Multiple,
            (Place::Attributes, PathName::Elements) => Place::AttributesOfDomain,
            (Place::Capacities, PathName::Elements) => Place::CapacitiesOfDomain,
            (Place::CapacitiesOfDomain, PathName::Elements) => Place::Capacity,
            (Place::Attributes | Place::Capacities, PathName::Keys) => Place::Domain,
            (Place::AttributesOfDomain | Place::CapacitiesOfDomain, PathName::Keys) => Place::Id,
            (Place::AttributesOfDomain, _) => Place::Attribute,
            _ => return None,
        })
    }

    fn max(self) -> u64 {
        match self {
            Place::Device | Place::Capacity => 0,
            Place::Multiple => 1,
            Place::Attributes | Place::AttributesOfDomain | Place::Capacities | Place::CapacitiesOfDomain => {
                32
            }
            Place::Id => 32,
            Place::Driver | Place::Domain => 63,
            Place::Attribute => 64,
        }
    }
}
