//! A tree as a list of its parts: what each needs at the least, and which are alike.
//!
//! A part that can never have enough members, or enough parts, is left out: it gets no seats, and what is above it has to do
//! without it.
//!
//! Invariants: a part comes before the parts in it. No choice of seats for a part needs less of anything than is said here.

use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::group::{Composite, Group};
use model::identity::PodUid;
use model::pod::Pod;
use rustc_hash::FxHashMap;

use crate::gang::members::cast::Cast;
use crate::gang::tree::branch::Branch;
use crate::gang::tree::ground::{Counts, Ground};
use crate::gang::tree::map::{DomainMap, LevelsIdx, Pin};
use crate::gang::tree::sought::Tree;

/// A part of a tree, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct PartIdx(pub usize);

/// A group, or a group of groups.
pub(crate) struct Part {
    pub parent: Option<PartIdx>,
    pub levels: LevelsIdx,
    pub pin: Pin,
    /// The number of all parts that are like it.
    pub shape: u32,
    pub content: Content,
    /// What it needs at the least, along all axes, and what it needs if all of its members get seats.
    pub least: Vec<u64>,
    pub most: Vec<u64>,
    /// It needs no more seats.
    pub is_met: bool,
    /// How many of its members wait.
    pub waiting: usize,
}

/// What is in a part.
pub(crate) enum Content {
    Group(GroupPart),
    Groups { composite: Arc<Composite>, at_least: usize, children: Vec<PartIdx> },
}

/// A group with its members that wait.
pub(crate) struct GroupPart {
    pub group: Arc<Group>,
    pub pods: Vec<Arc<Pod>>,
    /// How many of them it needs.
    pub missing: u32,
    /// By kind, which members of the cast they are.
    pub members: Vec<(usize, Vec<usize>)>,
}

impl GroupPart {
    /// How many there are of each kind.
    pub fn everybody(&self) -> Counts {
        self.members.iter().map(|(kind, members)| (*kind, members.len() as u32)).collect()
    }
}

/// What makes parts alike.
#[derive(PartialEq, Eq, Hash)]
enum Shape {
    Group(LevelsIdx, Pin, u32, Counts),
    Groups(LevelsIdx, Pin, usize, Vec<u32>),
}

/// The parts of a tree.
pub(crate) struct Outline {
    pub parts: Vec<Part>,
}

/// All levels of parts in a tree, each list of them once. The first are none.
pub(crate) fn levels_of(tree: &Tree) -> Vec<Vec<Arc<str>>> {
    let mut all: Vec<Vec<Arc<str>>> = vec![Vec::new()];
    let mut left: Vec<&Branch> = tree.branches.iter().collect();
    while let Some(branch) = left.pop() {
        let levels = match branch {
            Branch::Leaf { group, .. } => &group.levels,
            Branch::Inner { composite, branches } => {
                left.extend(branches);
                &composite.levels
            }
        };
        if !all.contains(levels) {
            all.push(levels.clone());
        }
    }
    all
}

impl Outline {
    /// The parts of a tree that can have enough members; nothing if too few of them can.
    pub fn new(ground: &Ground<'_, '_>, cast: &Cast, map: &mut DomainMap, tree: &Tree) -> Option<Outline> {
        let mut of_member = FxHashMap::default();
        for (kind, bundles) in cast.kinds.iter().enumerate() {
            let members = bundles.iter().enumerate();
            of_member.extend(members.map(|(at, bundle)| (bundle.members[0].pod.uid.clone(), (kind, at))));
        }
        let levels = levels_of(tree);
        let (parts, shapes) = Default::default();
        let mut draft = Draft { ground, map, levels, of_member, parts, shapes };
        draft.add_groups((&tree.composite, &tree.branches), &[], None)?;
        Some(Outline { parts: draft.parts })
    }

    pub fn get(&self, PartIdx(at): PartIdx) -> &Part {
        &self.parts[at]
    }

    /// Whether all members have to get seats.
    pub fn needs_everybody(&self) -> bool {
        self.parts.iter().all(|part| match &part.content {
            Content::Group(group) => group.missing as usize == part.waiting,
            Content::Groups { at_least, children, .. } => *at_least == children.len(),
        })
    }

    /// The parts in one, if it is a group of groups.
    pub fn children(&self, at: PartIdx) -> &[PartIdx] {
        match &self.get(at).content {
            Content::Group(_) => &[],
            Content::Groups { children, .. } => children,
        }
    }
}

/// A list of parts that is being made.
struct Draft<'d, 'g, 'c> {
    ground: &'d Ground<'g, 'c>,
    map: &'d mut DomainMap,
    levels: Vec<Vec<Arc<str>>>,
    of_member: FxHashMap<PodUid, (usize, usize)>,
    parts: Vec<Part>,
    shapes: FxHashMap<Shape, u32>,
}

impl Draft<'_, '_, '_> {
    fn add(&mut self, branch: &Branch, parent: PartIdx) -> Option<PartIdx> {
        match branch {
            Branch::Leaf { group, pods } => self.add_group(group, pods, parent),
            Branch::Inner { composite, branches } => {
                let pins = self.ground.view.cycle.pins(branches);
                self.add_groups((composite, branches), &pins, Some(parent))
            }
        }
    }

    /// Adds a group, if enough members wait.
    fn add_group(&mut self, group: &Arc<Group>, pods: &[Arc<Pod>], parent: PartIdx) -> Option<PartIdx> {
        let cycle = &*self.ground.view.cycle;
        let seated = cycle.facts.groups.seated(&group.id).count() as u32;
        let missing = group.at_least.saturating_sub(seated);
        let mut members: Vec<(usize, Vec<usize>)> = Vec::new();
        for (kind, at) in pods.iter().filter_map(|pod| self.of_member.get(&pod.uid)) {
            match members.iter_mut().find(|(known, _)| known == kind) {
                Some((_, known)) => known.push(*at),
                None => members.push((*kind, vec![*at])),
            }
        }
        members.sort_unstable();
        let waiting: usize = members.iter().map(|(_, members)| members.len()).sum();
        if waiting < missing as usize {
            return None;
        }
        let (levels, pin) = self.place(&group.levels, &cycle.pins_of(&group.id).collect::<Vec<_>>());
        let group = GroupPart { group: group.clone(), pods: pods.to_vec(), missing, members };
        let everybody = group.everybody();
        let along = |axis: usize, count: u32| {
            let mut needs: Vec<(u64, u32)> =
                everybody.iter().map(|(kind, count)| (self.ground.needs_of(*kind)[axis], *count)).collect();
            needs.sort_unstable();
            let mut left = count;
            let mut sum = 0_u64;
            for (need, count) in needs {
                let count = count.min(left);
                left -= count;
                sum = sum.saturating_add(need.saturating_mul(u64::from(count)));
            }
            sum
        };
        let axes = 0..self.ground.axes;
        let least = axes.clone().map(|axis| along(axis, missing)).collect();
        let most = axes.map(|axis| along(axis, u32::MAX)).collect();
        let shape = self.shape(Shape::Group(levels, pin, missing, everybody));
        let (parent, is_met, content) = (Some(parent), missing == 0, Content::Group(group));
        self.parts.push(Part { parent, levels, pin, shape, content, least, most, is_met, waiting });
        Some(PartIdx(self.parts.len() - 1))
    }

    /// Adds a group of groups with all that is in it, if enough of that can have enough.
    fn add_groups(
        &mut self,
        (composite, branches): (&Arc<Composite>, &[Branch]),
        pins: &[NodeIdx],
        parent: Option<PartIdx>,
    ) -> Option<PartIdx> {
        // The domains of the whole tree are given.
        let own = if parent.is_some() { &composite.levels[..] } else { &[] };
        let (levels, pin) = self.place(own, pins);
        let at = PartIdx(self.parts.len());
        let content = Content::Groups { composite: composite.clone(), at_least: 0, children: Vec::new() };
        let (least, most) = Default::default();
        self.parts.push(Part {
            parent,
            levels,
            pin,
            shape: 0,
            content,
            least,
            most,
            is_met: false,
            waiting: 0,
        });
        let children: Vec<PartIdx> = branches.iter().filter_map(|branch| self.add(branch, at)).collect();
        let at_least = composite.at_least as usize;
        if children.len() < at_least {
            self.parts.truncate(at.0);
            return None;
        }
        let of = |child: &PartIdx| &self.parts[child.0];
        let axes = 0..self.ground.axes;
        let least = axes.clone().map(|axis| {
            let mut each: Vec<u64> = children.iter().map(|child| of(child).least[axis]).collect();
            each.sort_unstable();
            each[..at_least].iter().copied().fold(0, u64::saturating_add)
        });
        let least = least.collect();
        let most =
            axes.map(|axis| children.iter().map(|child| of(child).most[axis]).fold(0, u64::saturating_add));
        let most = most.collect();
        let is_met = children.iter().filter(|child| of(child).is_met).count() >= at_least;
        let waiting = children.iter().map(|child| of(child).waiting).sum();
        let mut shapes: Vec<u32> = children.iter().map(|child| of(child).shape).collect();
        shapes.sort_unstable();
        let shape = self.shape(Shape::Groups(levels, pin, at_least, shapes));
        let content = Content::Groups { composite: composite.clone(), at_least, children };
        self.parts[at.0] = Part { parent, levels, pin, shape, content, least, most, is_met, waiting };
        Some(at)
    }

    fn place(&mut self, levels: &[Arc<str>], pins: &[NodeIdx]) -> (LevelsIdx, Pin) {
        let at = self.levels.iter().position(|known| *known == levels).expect("all levels were collected");
        let levels = LevelsIdx(at);
        (levels, self.map.pin(self.ground.view.cycle, levels, pins))
    }

    fn shape(&mut self, shape: Shape) -> u32 {
        let next = self.shapes.len() as u32;
        *self.shapes.entry(shape).or_insert(next)
    }
}
