//! Small clusters and trees of pod groups, made from seeds.
//!
//! Nodes have processors, cards, and a place at each of three levels, or none. A group, or a group of groups, may have to be in one
//! place of some levels, and needs a number of members, or of groups that have enough. Some members run already. In some instances
//! nodes have taints, which some members tolerate, and members are of several priorities.

use crate::turmoil::Dice;

/// The node labels by which places are told apart.
pub const LEVELS: [&str; 3] = ["rack", "row", "zone"];

/// The number of the level by which each node is a place of its own.
pub const HOST: usize = LEVELS.len();

/// A node: its place at each level, its processors and its cards.
#[derive(Clone, Debug)]
pub struct Spot {
    pub places: [Option<u64>; 3],
    pub cpu: i64,
    pub cards: i64,
    /// Only members that tolerate it may come.
    pub tainted: bool,
}

/// A member: what it wants, and the node on which it runs already.
#[derive(Clone, Debug)]
pub struct Member {
    pub cpu: i64,
    pub cards: i64,
    pub tolerates: bool,
    pub priority: i32,
    pub runs_on: Option<usize>,
}

/// A part of a tree.
#[derive(Clone, Debug)]
pub enum Part {
    /// A group: how many members it needs, and the level by which no two of them may be in one place.
    Leaf { at_least: usize, levels: Vec<usize>, members: Vec<Member>, apart: Option<usize> },
    /// A group of groups: how many of them it needs.
    Inner { at_least: usize, levels: Vec<usize>, parts: Vec<Part> },
}

/// A cluster and a tree.
#[derive(Clone, Debug)]
pub struct Instance {
    pub nodes: Vec<Spot>,
    pub tree: Part,
}

/// What instances look like.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub nodes_max: u64,
    pub members_max: usize,
    /// How many members a group has at the most.
    pub in_group_max: u64,
    /// How many groups of groups are above one another at the most.
    pub depth_max: usize,
    /// How many parts a group of groups has at the most.
    pub parts_max: u64,
    /// All members of a tree are alike.
    pub are_alike: bool,
    /// Members of some groups must be apart.
    pub are_apart: bool,
    /// Some nodes are tainted, some members tolerate that, and some are more important than others.
    are_mixed: bool,
}

impl Sizes {
    pub const SMALL: Sizes = Sizes {
        nodes_max: 4,
        members_max: 6,
        in_group_max: 3,
        depth_max: 2,
        parts_max: 3,
        are_alike: false,
        are_apart: false,
        are_mixed: false,
    };
    pub const LARGE: Sizes = Sizes {
        nodes_max: 12,
        members_max: 16,
        in_group_max: 5,
        depth_max: 4,
        parts_max: 4,
        are_alike: false,
        are_apart: false,
        are_mixed: false,
    };
    /// One group after the other, each in the last.
    pub const CHAIN: Sizes = Sizes { parts_max: 2, in_group_max: 6, ..Sizes::LARGE };
    /// Many groups that differ in nothing.
    pub const ALIKE: Sizes =
        Sizes { parts_max: 8, in_group_max: 2, depth_max: 2, are_alike: true, ..Sizes::LARGE };
    /// Members of several priorities, some of which tolerate taints that nodes have.
    pub const MIXED: Sizes = Sizes { are_mixed: true, ..Sizes::LARGE };
    /// Members that are in each other's way, on one node or on several.
    pub const APART: Sizes = Sizes { members_max: 10, nodes_max: 8, are_apart: true, ..Sizes::LARGE };
}

impl Instance {
    pub fn random(seed: u64, sizes: Sizes) -> Instance {
        let dice = &mut Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x7ee5);
        let racks = 1 + dice.below(4);
        let (misses_labels, strays) = (dice.below(4) == 0, dice.below(6) == 0);
        let (cpu_max, cards_max) = (2 + dice.below(7), dice.below(4));
        let spot = |dice: &mut Dice| {
            let rack = dice.below(racks);
            // A row that does not go by racks is a mistake that people make.
            let row = if strays { dice.below(2) } else { rack / 2 };
            let mut label = |place: u64| (!misses_labels || dice.below(6) > 0).then_some(place);
            let places = [label(rack), label(row), label(rack / 3)];
            let (cpu, cards) = (1 + dice.below(cpu_max) as i64, dice.below(cards_max + 1) as i64);
            Spot { places, cpu, cards, tainted: sizes.are_mixed && dice.below(3) == 0 }
        };
        let nodes: Vec<Spot> = (0..1 + dice.below(sizes.nodes_max)).map(|_| spot(dice)).collect();
        let one = member(dice, sizes, cards_max > 0);
        let mut draft = Draft { sizes, left: sizes.members_max, with_cards: cards_max > 0, one };
        let mut instance = Instance { tree: draft.inner(dice, 1), nodes };
        if dice.below(4) == 0 {
            instance.let_some_run(dice);
        }
        instance
    }

    /// Some members run already, where there is room.
    fn let_some_run(&mut self, dice: &mut Dice) {
        let Instance { nodes, tree } = self;
        let mut free: Vec<i64> = nodes.iter().map(|spot| spot.cpu).collect();
        let home = dice.below(nodes.len() as u64) as usize;
        tree.for_each_member(&mut |member| {
            // Mostly all of them are on one node, as they have to be near each other.
            let at = if dice.below(4) > 0 { home } else { dice.below(nodes.len() as u64) as usize };
            if dice.below(4) == 0 && free[at] >= member.cpu {
                free[at] -= member.cpu;
                (member.cards, member.runs_on) = (0, Some(at));
            }
        });
        for (spot, free) in nodes.iter_mut().zip(free) {
            spot.cpu = free;
        }
    }
}

impl Part {
    /// The groups of it, in order.
    pub fn leaves(&self) -> Vec<&Part> {
        match self {
            Part::Leaf { .. } => vec![self],
            Part::Inner { parts, .. } => parts.iter().flat_map(Part::leaves).collect(),
        }
    }

    fn for_each_member(&mut self, each: &mut dyn FnMut(&mut Member)) {
        match self {
            Part::Leaf { members, .. } => members.iter_mut().for_each(each),
            Part::Inner { parts, .. } => parts.iter_mut().for_each(|part| part.for_each_member(each)),
        }
    }
}

/// A tree that is being made.
struct Draft {
    sizes: Sizes,
    left: usize,
    with_cards: bool,
    /// What all members are like, if they are alike.
    one: Member,
}

impl Draft {
    fn inner(&mut self, dice: &mut Dice, depth: usize) -> Part {
        let levels = levels(dice);
        let mut parts = Vec::new();
        for _ in 0..1 + dice.below(self.sizes.parts_max) {
            if self.left == 0 {
                break;
            }
            let is_inner = depth < self.sizes.depth_max && dice.below(3) == 0;
            parts.push(if is_inner { self.inner(dice, depth + 1) } else { self.leaf(dice) });
        }
        Part::Inner { at_least: enough(dice, parts.len()), levels, parts }
    }

    fn leaf(&mut self, dice: &mut Dice) -> Part {
        let count = (1 + dice.below(self.sizes.in_group_max) as usize).min(self.left);
        self.left -= count;
        let of = |dice: &mut Dice| match self.sizes.are_alike {
            true => self.one.clone(),
            false => member(dice, self.sizes, self.with_cards),
        };
        let members: Vec<Member> = (0..count).map(|_| of(dice)).collect();
        let apart =
            [None, Some(0), Some(HOST), Some(HOST)][dice.below(4) as usize].filter(|_| self.sizes.are_apart);
        Part::Leaf { at_least: enough(dice, count), levels: levels(dice), members, apart }
    }
}

fn member(dice: &mut Dice, sizes: Sizes, with_cards: bool) -> Member {
    let cards = if with_cards && dice.below(2) == 0 { 1 + dice.below(2) as i64 } else { 0 };
    let cpu = 1 + dice.below(4) as i64;
    let tolerates = sizes.are_mixed && dice.below(2) == 0;
    let priority = if sizes.are_mixed { dice.below(3) as i32 } else { 0 };
    Member { cpu, cards, tolerates, priority, runs_on: None }
}

/// At least so many of a number: mostly all.
fn enough(dice: &mut Dice, of: usize) -> usize {
    if dice.below(3) == 0 { 1 + dice.below(of as u64) as usize } else { of }
}

fn levels(dice: &mut Dice) -> Vec<usize> {
    [vec![], vec![], vec![0], vec![0], vec![1], vec![2], vec![2, 0]][dice.below(7) as usize].clone()
}
