//! Every choice of domains for the parts of a tree, depth first, with seats for all members at once.
//!
//! Parts get their domains one after the other, what is above before what is in it. A choice is given up only by a proof:
//! - what its groups need at the least is more than there is in a domain, by mere sums;
//! - there are no seats for the groups that have a domain, and others would only take more room;
//! - the same was chosen before for other parts that are alike, in vain: what is left to place and where the others are to be is all that counts;
//! - a domain that is like it, and in which no group is yet, was tried for the same part.
//!
//! Bounds: steps and work. What is not found out by then is left open.
//!
//! Invariant: what is chosen is in the frames, and is taken back with them. A state is remembered as failed only if everything
//! below it was refused by a proof.

use placement::Verdict;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::gang::tree::across::{Across, Chosen};
use crate::gang::tree::build::{Extent, sum};
use crate::gang::tree::ground::Ground;
use crate::gang::tree::joint::{Demands, Joint, JointSeat};
use crate::gang::tree::map::{DomainIdx, DomainMap};
use crate::gang::tree::outline::{Content, Outline, PartIdx};
use crate::gang::tree::wishes::{Wishes, wishes};
use crate::values::work;

/// What may become of a part.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// It gets no seats.
    Skip,
    /// It has enough without more seats.
    Met,
    /// A group of groups is in a domain.
    Take(DomainIdx),
    /// A group is in a domain, with members of one of the wishes.
    Seat(DomainIdx, usize),
}

/// A part, and what was chosen for it.
struct Frame {
    place: usize,
    choices: Vec<Choice>,
    next: usize,
    made: Option<Choice>,
    state: Vec<u64>,
    /// What was known of the rest of the search.
    was_open: bool,
}

/// Where the search goes from a place.
enum Move {
    Down,
    Back,
    Done,
    Spent,
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Found,
    Impossible,
    Open,
}

/// What is searched for.
#[derive(Clone, Copy)]
pub(crate) struct Errand<'e> {
    pub outline: &'e Outline,
    pub extent: Extent,
    /// Nothing that is in the way of some members goes away if there are more.
    pub is_monotone: bool,
    /// A group that has to get seats.
    pub forced: Option<PartIdx>,
}

/// A search for domains.
pub(crate) struct Choices<'s, 'g, 'c> {
    ground: &'s mut Ground<'g, 'c>,
    map: &'s mut DomainMap,
    errand: Errand<'s>,
    root: DomainIdx,
    /// Parts in the order in which they are decided, and for each place the first that is not in its part.
    order: Vec<PartIdx>,
    end: Vec<usize>,
    /// Of each part how many there are after it of those that are beside it, and what these need with it.
    after: Vec<usize>,
    needed: Vec<Vec<u64>>,
    /// The part before it, if it is like it.
    like: Vec<Option<PartIdx>>,
    must: Vec<bool>,
    pub domains: Vec<Option<DomainIdx>>,
    skipped: Vec<bool>,
    taken: Vec<usize>,
    demands: Demands,
    pub chosen: Vec<Chosen>,
    /// So many of these are known to have seats.
    checked: usize,
    frames: Vec<Frame>,
    failed: FxHashSet<Vec<u64>>,
    wishes: FxHashMap<(u32, bool), Wishes>,
    is_open: bool,
    joint: Joint,
    pub across: Across,
}

impl<'s, 'g, 'c> Choices<'s, 'g, 'c> {
    /// A search within a domain that decides about parts in an order that `sorted` gives for those in a group of groups.
    pub fn new(
        ground: &'s mut Ground<'g, 'c>,
        map: &'s mut DomainMap,
        errand: Errand<'s>,
        root: DomainIdx,
        sorted: impl Fn(PartIdx) -> Vec<PartIdx>,
    ) -> Choices<'s, 'g, 'c> {
        let Errand { outline, extent, forced, .. } = errand;
        let parts = outline.parts.len();
        let mut search = Choices {
            ground,
            map,
            errand,
            root,
            order: Vec::new(),
            end: Vec::new(),
            after: vec![0; parts],
            needed: vec![Vec::new(); parts],
            like: vec![None; parts],
            must: vec![false; parts],
            domains: vec![None; parts],
            skipped: vec![false; parts],
            taken: vec![0; parts],
            demands: Demands::new(),
            chosen: Vec::new(),
            checked: 0,
            frames: Vec::new(),
            failed: FxHashSet::default(),
            wishes: FxHashMap::default(),
            is_open: false,
            joint: Joint::default(),
            across: Across::default(),
        };
        let mut above = forced;
        while let Some(at) = above {
            search.must[at.0] = true;
            above = outline.get(at).parent;
        }
        search.lay_out(PartIdx(0), extent, &sorted);
        search
    }

    /// Adds a part and those in it to the order. This goes as deep as the tree.
    fn lay_out(&mut self, at: PartIdx, extent: Extent, sorted: &dyn Fn(PartIdx) -> Vec<PartIdx>) {
        let outline = self.errand.outline;
        let place = self.order.len();
        self.order.push(at);
        self.end.push(0);
        let children = sorted(at);
        let mut needed = vec![0_u64; self.ground.axes];
        for (after, child) in children.iter().rev().enumerate() {
            let part = outline.get(*child);
            let own = if extent == Extent::Everybody { &part.most } else { &part.least };
            needed.iter_mut().zip(own).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
            self.needed[child.0] = needed.clone();
            self.after[child.0] = after;
        }
        for pair in children.windows(2) {
            let is_alike = outline.get(pair[0]).shape == outline.get(pair[1]).shape;
            self.like[pair[1].0] = Some(pair[0]).filter(|_| is_alike);
        }
        children.into_iter().for_each(|child| self.lay_out(child, extent, sorted));
        self.end[place] = self.order.len();
    }

    /// Looks for domains for all parts.
    pub fn run(&mut self) -> Outcome {
        self.domains[0] = Some(self.root);
        let mut next = self.enter(1);
        loop {
            next = match next {
                Move::Done => return Outcome::Found,
                Move::Spent => return Outcome::Open,
                Move::Back if self.frames.is_empty() => {
                    return if self.is_open { Outcome::Open } else { Outcome::Impossible };
                }
                Move::Down | Move::Back => self.advance(),
            }
        }
    }

    /// The seats that were found, if members on one node are in the way of no others.
    pub fn joint_seats(&mut self) -> Option<Vec<JointSeat>> {
        if self.ground.crosses { None } else { self.joint.seats(self.ground, self.map, &self.demands) }
    }

    /// Looks at what is left to decide, and says whether it is worth going on.
    fn enter(&mut self, place: usize) -> Move {
        let nanos = work::STATE + (self.demands.len() * self.ground.axes) as u64 * work::GLANCE;
        self.ground.spend(nanos);
        if !self.ground.budget.spend(1) || self.ground.is_spent() {
            return Move::Spent;
        }
        if place == self.order.len() {
            return match self.check() {
                Verdict::Yes => Move::Done,
                Verdict::No => Move::Back,
                Verdict::Unknown => {
                    self.is_open = true;
                    Move::Back
                }
            };
        }
        let state = self.state(place);
        if self.failed.contains(&state) || !self.has_enough(self.order[place]) {
            return Move::Back;
        }
        let was_open = std::mem::replace(&mut self.is_open, false);
        let choices = self.choices(place);
        // Where there is nothing to choose, seats are looked for further down.
        if choices.len() > 1 && self.errand.is_monotone && self.checked < self.chosen.len() {
            match self.check() {
                Verdict::Yes => {}
                Verdict::No => {
                    self.is_open = was_open;
                    return Move::Back;
                }
                Verdict::Unknown => self.is_open = true,
            }
        }
        self.frames.push(Frame { place, choices, next: 0, made: None, state, was_open });
        Move::Down
    }

    /// Chooses what comes next for the last part, or leaves it.
    fn advance(&mut self) -> Move {
        self.take_back();
        let frame = self.frames.last_mut().expect("there is a part to decide about");
        let Some(choice) = frame.choices.get(frame.next).copied() else {
            let frame = self.frames.pop().expect("there is a part to decide about");
            if !self.is_open {
                self.failed.insert(frame.state);
            }
            self.is_open |= frame.was_open;
            return Move::Back;
        };
        frame.next += 1;
        frame.made = Some(choice);
        let place = frame.place;
        let at = self.order[place];
        let parent = self.errand.outline.get(at).parent.expect("the whole tree is decided about before");
        let next = match choice {
            Choice::Skip => {
                self.skipped[at.0] = true;
                self.end[place]
            }
            Choice::Met => {
                self.taken[parent.0] += 1;
                self.end[place]
            }
            Choice::Take(domain) => {
                self.taken[parent.0] += 1;
                self.domains[at.0] = Some(domain);
                place + 1
            }
            Choice::Seat(domain, wish) => {
                self.taken[parent.0] += 1;
                let members = self.wishes_of(at).choices[wish].clone();
                for (kind, count) in &members {
                    *self.demands.entry((domain, *kind)).or_default() += count;
                }
                self.chosen.push(Chosen { part: at, domain, members });
                place + 1
            }
        };
        self.enter(next)
    }

    /// Takes back what was chosen for the last part.
    fn take_back(&mut self) {
        let frame = self.frames.last_mut().expect("there is a part to decide about");
        let at = self.order[frame.place];
        let parent = self.errand.outline.get(at).parent.expect("the whole tree is decided about before");
        match frame.made.take() {
            None => {}
            Some(Choice::Skip) => self.skipped[at.0] = false,
            Some(Choice::Met) => self.taken[parent.0] -= 1,
            Some(Choice::Take(_)) => {
                self.taken[parent.0] -= 1;
                self.taken[at.0] = 0;
                self.domains[at.0] = None;
            }
            Some(Choice::Seat(..)) => {
                self.taken[parent.0] -= 1;
                let Chosen { domain, members, .. } = self.chosen.pop().expect("a group was given a domain");
                for (kind, count) in members {
                    let here = self.demands.entry((domain, kind)).or_default();
                    *here -= count;
                    if *here == 0 {
                        self.demands.remove(&(domain, kind));
                    }
                }
                self.checked = self.checked.min(self.chosen.len());
            }
        }
    }

    /// Whether there are seats for all groups that have a domain.
    fn check(&mut self) -> Verdict {
        let verdict = if self.ground.crosses {
            let within = (&*self.map, self.errand.outline);
            self.across.check(self.ground, within, (self.root, &self.chosen))
        } else {
            self.joint.check(self.ground, self.map, &self.demands)
        };
        if verdict == Verdict::Yes {
            self.checked = self.chosen.len();
        }
        verdict
    }

    /// All that counts for what is left to decide.
    fn state(&self, place: usize) -> Vec<u64> {
        let at = self.order[place];
        let is_like_skipped = self.like[at.0].is_some_and(|before| self.skipped[before.0]);
        let mut state = vec![place as u64, u64::from(is_like_skipped)];
        let mut above = self.errand.outline.get(at).parent;
        while let Some(at) = above {
            state.extend(self.domains[at.0].map(|domain| domain.0 as u64));
            state.push(self.taken[at.0] as u64);
            above = self.errand.outline.get(at).parent;
        }
        for ((domain, kind), count) in &self.demands {
            state.extend([domain.0 as u64, *kind as u64, u64::from(*count)]);
        }
        state
    }

    /// Whether each domain that was chosen has enough for what still has to be in it, by mere sums.
    fn has_enough(&self, at: PartIdx) -> bool {
        let outline = self.errand.outline;
        let mut needed = vec![0_u64; self.ground.axes];
        let (mut child, mut is_decided) = (at, false);
        while let Some(parent) = outline.get(child).parent {
            let Content::Groups { at_least, .. } = &outline.get(parent).content else { break };
            let after = self.after[child.0] + usize::from(!is_decided);
            let is_all = self.errand.extent == Extent::Everybody || self.taken[parent.0] + after <= *at_least;
            if is_all {
                let all = self.needed[child.0].iter();
                let part = outline.get(child);
                let own = if self.errand.extent == Extent::Everybody { &part.most } else { &part.least };
                for (axis, sum) in all.enumerate() {
                    let own = if is_decided { own[axis] } else { 0 };
                    needed[axis] = needed[axis].saturating_add(sum.saturating_sub(own));
                }
            }
            let domain = self.domains[parent.0].expect("what is above has its domain");
            if self.left_in(domain).iter().zip(&needed).any(|(left, need)| left < need) {
                return false;
            }
            (child, is_decided) = (parent, true);
        }
        true
    }

    /// What is left in a domain by groups that have to be in it.
    fn left_in(&self, domain: DomainIdx) -> Vec<u64> {
        let mut left = self.map.get(domain).free.clone();
        for ((inner, kind), count) in &self.demands {
            if self.map.is_within(*inner, domain) {
                let needs = self.ground.needs_of(*kind).iter();
                left.iter_mut().zip(needs).for_each(|(left, need)| {
                    *left = left.saturating_sub(need.saturating_mul(u64::from(*count)));
                });
            }
        }
        left
    }
}

impl Choices<'_, '_, '_> {
    /// What may become of a part, the most promising first.
    fn choices(&mut self, place: usize) -> Vec<Choice> {
        let Errand { outline, extent, is_monotone, .. } = self.errand;
        let at = self.order[place];
        let part = outline.get(at);
        let parent = part.parent.expect("the whole tree is decided about before");
        let Content::Groups { at_least, .. } = outline.get(parent).content else { return Vec::new() };
        let (taken, must) = (self.taken[parent.0], self.must[at.0]);
        let may_skip = extent != Extent::Everybody && !must && taken + self.after[at.0] >= at_least;
        if may_skip {
            let is_like_skipped = self.like[at.0].is_some_and(|before| self.skipped[before.0]);
            if is_like_skipped || (is_monotone && taken >= at_least) {
                return vec![Choice::Skip];
            }
        }
        let is_enough = !must && part.is_met && extent != Extent::Everybody;
        let mut choices: Vec<Choice> = Vec::new();
        if part.waiting == 0 || is_enough {
            choices.push(Choice::Met);
            if is_monotone || part.waiting == 0 {
                return choices;
            }
        }
        let within = self.domains[parent.0].expect("what is above has its domain");
        let domains = self.map.within(self.ground, within, part.levels, part.pin);
        let domains = self.distinct(&domains, within);
        match &part.content {
            Content::Groups { .. } => {
                let needed = if extent == Extent::Everybody { &part.most } else { &part.least };
                let open = self.with_enough(domains, needed);
                choices.extend(open.into_iter().map(Choice::Take));
            }
            Content::Group(_) => {
                let Wishes { choices: wishes, are_cut } = self.wishes_of(at);
                self.is_open |= are_cut;
                for (number, wish) in wishes.iter().enumerate() {
                    let needed = sum(self.ground, wish);
                    let open = self.with_enough(domains.clone(), &needed);
                    choices.extend(open.into_iter().map(|domain| Choice::Seat(domain, number)));
                }
            }
        }
        if may_skip {
            choices.push(Choice::Skip);
        }
        choices
    }

    /// The members of a group that may get seats.
    fn wishes_of(&mut self, at: PartIdx) -> Wishes {
        let Errand { outline, extent, is_monotone, .. } = self.errand;
        let part = outline.get(at);
        let Content::Group(group) = &part.content else { unreachable!("only groups have members") };
        let Choices { wishes: known, ground, must, .. } = self;
        let must = must[at.0];
        let found = known.entry((part.shape, must)).or_insert_with(|| match extent {
            Extent::Everybody => Wishes { choices: vec![group.everybody()], are_cut: false },
            Extent::Enough | Extent::Least => {
                wishes(ground, group, group.missing.max(u32::from(must)), is_monotone)
            }
        });
        found.clone()
    }

    /// Domains without those that are like another in which there is no group yet either.
    fn distinct(&self, domains: &[DomainIdx], within: DomainIdx) -> Vec<DomainIdx> {
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        let is_fresh = |domain: DomainIdx| {
            let known = self.demands.keys().map(|(known, _)| *known);
            let mut others = known.filter(|known| self.map.overlap(*known, domain));
            others.all(|known| self.map.is_within(within, known))
        };
        let is_distinct = |domain: &DomainIdx| match self.map.get(*domain).look {
            Some(look) if is_fresh(*domain) => seen.insert(look),
            _ => true,
        };
        domains.iter().copied().filter(is_distinct).collect()
    }

    /// Domains in which so much is left by mere sums, those with the least room first.
    fn with_enough(&self, domains: Vec<DomainIdx>, needed: &[u64]) -> Vec<DomainIdx> {
        let mut open: Vec<(Vec<u64>, DomainIdx)> = Vec::new();
        for domain in domains {
            let left = self.left_in(domain);
            if left.iter().zip(needed).all(|(left, need)| left >= need) {
                open.push((left, domain));
            }
        }
        open.sort();
        open.into_iter().map(|(_, domain)| domain).collect()
    }
}
