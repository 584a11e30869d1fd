//! Gangs, as far as their placement cares.

use std::sync::Arc;

use crate::arithmetic::Amounts;
use crate::axis::Axis;
use crate::load::Load;

/// Members that are alike: each can have the seat of any other.
#[derive(Clone, PartialEq, Debug)]
pub struct Kind {
    /// What people call it.
    pub name: Arc<str>,
    /// How many members there are to be seated.
    pub members: u32,
    /// What each of them needs at least, along the axes of its gang.
    pub needs: Amounts,
}

/// Members that are to be seated together.
#[derive(Clone, PartialEq, Debug)]
pub struct Gang {
    /// What is added up by mere arithmetic.
    pub axes: Vec<Axis>,
    /// The members by kind.
    pub kinds: Vec<Kind>,
    /// How many members have to be seated at once, of whatever kinds.
    pub at_least: u32,
}

impl Gang {
    /// How many members there are.
    #[must_use]
    pub fn members(&self) -> u32 {
        self.kinds.iter().map(|kind| kind.members).sum()
    }

    /// All members.
    #[must_use]
    pub fn everybody(&self) -> Load {
        Load::new(self.kinds.iter().map(|kind| kind.members))
    }
}
