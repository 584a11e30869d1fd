//! Lists: of values, of a device's native values, joined without copying, or still growing.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::constant::Constant;
use super::{Fault, Shared, Text, Value};
use crate::library::semver::Semver;

/// A list.
#[derive(Clone, Debug)]
pub(crate) enum List<'a> {
    Plain(Rc<[Value<'a>]>),
    /// Two lists after each other. Joining costs nothing, so it must not copy.
    Joined(Rc<Joined<'a>>),
    /// The accumulator of a loop: adding to it changes it, also for all others that hold it.
    Growing(Rc<RefCell<Vec<Value<'a>>>>),
    Constants(&'a [Constant]),
    Ints(&'a [i64]),
    Bools(&'a [bool]),
    Strings(&'a [Box<str>]),
    Versions(&'a [Semver]),
}

/// Two lists after each other.
#[derive(Debug)]
pub(crate) struct Joined<'a> {
    left: List<'a>,
    right: List<'a>,
    left_length: usize,
    length: usize,
    depth: u32,
    /// How many more elements may be walked over, shared by all lists joined from this one.
    left_to_walk: Rc<Cell<usize>>,
}

/// How deep joins may nest before they are copied, so that reading them does not recurse without bound.
const DEPTH_MAX: u32 = 64;
/// How many elements of lists that were joined may be walked over. Joining is free, so a few joins make a list that no
/// one could ever walk over; everything else that makes a list costs something for each element.
const WALK_MAX: usize = 10_000_000;
/// The longest list that is copied to make a join shallow.
const COPY_MAX: usize = 1 << 20;

impl<'a> List<'a> {
    pub(crate) fn growing() -> List<'a> {
        List::Growing(Rc::default())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            List::Plain(elements) => elements.len(),
            List::Joined(joined) => joined.length,
            List::Growing(elements) => elements.borrow().len(),
            List::Constants(elements) => elements.len(),
            List::Ints(elements) => elements.len(),
            List::Bools(elements) => elements.len(),
            List::Strings(elements) => elements.len(),
            List::Versions(elements) => elements.len(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            List::Plain(elements) => elements.get(index).cloned(),
            List::Joined(joined) if index < joined.left_length => joined.left.get(index),
            List::Joined(joined) => joined.right.get(index - joined.left_length),
            List::Growing(elements) => elements.borrow().get(index).cloned(),
            List::Constants(elements) => elements.get(index).map(Constant::value),
            List::Ints(elements) => elements.get(index).copied().map(Value::Int),
            List::Bools(elements) => elements.get(index).copied().map(Value::Bool),
            List::Strings(elements) => elements.get(index).map(|text| Value::String(Text::Borrowed(text))),
            List::Versions(elements) => {
                elements.get(index).map(|version| Value::Semver(Shared::Borrowed(version)))
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).map_while(|index| self.get(index))
    }

    pub(crate) fn is_joined(&self) -> bool {
        matches!(self, List::Joined(_))
    }

    fn left_to_walk(&self) -> Option<Rc<Cell<usize>>> {
        match self {
            List::Joined(joined) => Some(joined.left_to_walk.clone()),
            _ => None,
        }
    }

    /// Asks before walking over all elements; refused when the lists joined here have been walked over too much.
    pub(crate) fn walk<'f>(&self) -> Result<(), Fault<'f>> {
        let List::Joined(joined) = self else { return Ok(()) };
        let left = joined.left_to_walk.get().checked_sub(joined.length).ok_or(Fault::COST_LIMIT)?;
        joined.left_to_walk.set(left);
        Ok(())
    }

    fn depth(&self) -> u32 {
        match self {
            List::Joined(joined) => joined.depth,
            _ => 0,
        }
    }

    /// This list and then the other; `None` if the result cannot be counted.
    pub(crate) fn plus(&self, other: &List<'a>) -> Option<List<'a>> {
        if let List::Growing(elements) = self {
            let added: Vec<Value<'a>> = other.iter().collect();
            elements.borrow_mut().extend(added);
            return Some(self.clone());
        }
        let (left_length, right_length) = (self.len(), other.len());
        if left_length == 0 {
            return Some(other.clone());
        }
        if right_length == 0 {
            return Some(self.clone());
        }
        let length = left_length.checked_add(right_length)?;
        let joined = Joined {
            left: self.shallow()?,
            right: other.shallow()?,
            left_length,
            length,
            depth: 1 + self.depth().max(other.depth()),
            left_to_walk: self
                .left_to_walk()
                .or_else(|| other.left_to_walk())
                .unwrap_or_else(|| Rc::new(Cell::new(WALK_MAX))),
        };
        Some(List::Joined(Rc::new(joined)))
    }

    /// The list as it is now: what grows is copied, and so is what nests too deeply.
    fn shallow(&self) -> Option<List<'a>> {
        match self {
            List::Growing(_) => Some(self.settled()),
            list if list.depth() < DEPTH_MAX => Some(list.clone()),
            list if list.len() <= COPY_MAX => Some(List::Plain(list.iter().collect())),
            _ => None,
        }
    }

    /// The list with nothing left to grow.
    pub(crate) fn settled(&self) -> List<'a> {
        match self {
            List::Growing(_) => List::Plain(self.iter().collect()),
            other => other.clone(),
        }
    }
}
