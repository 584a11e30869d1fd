//! Small clusters and gangs with all kinds of rules, and whether the gang can be seated, found out by trying everything.
//!
//! Nothing of the engine is used here. Seats are right if there is an order in which every member may come to its node as a
//! single pod may, with those before it on theirs, and if there are devices for all of them at once.

use std::collections::BTreeSet;

use crate::turmoil::Dice;

/// The node labels by which places are told apart.
pub const KEYS: [&str; 3] = ["host", "zone", "row"];

/// A node: its place by each label, if it has the label, and its room.
#[derive(Clone, Debug)]
pub struct Spot {
    pub places: [Option<u64>; 3],
    pub cpu: i64,
    pub gpus: usize,
}

/// A rule: pods of an application, in a place by a label.
pub type Term = (u64, usize);

/// What pods of a kind are like.
#[derive(Clone, Debug, Default)]
pub struct Look {
    pub app: u64,
    pub cpu: i64,
    pub near: Vec<Term>,
    pub apart: Vec<Term>,
    /// By how much places may differ, and over how many at least.
    pub spread: Vec<(i64, i64, Term)>,
    pub port: bool,
    /// The nodes from which its volume can be used, and whether only one pod may use it.
    pub disk: Option<(Vec<usize>, bool)>,
    /// The nodes from which a claim can be used that has devices already.
    pub settled: Option<Vec<usize>>,
    /// How many devices of its node it wants, and how many that several nodes reach.
    pub gpus: usize,
    pub links: usize,
    /// It uses the claim that all such members share.
    pub shares: bool,
}

/// A cluster, a pod here and there, and a gang.
#[derive(Clone, Debug)]
pub struct Instance {
    pub nodes: Vec<Spot>,
    pub placed: Vec<(usize, Look)>,
    /// Devices, each with the nodes that reach it.
    pub links: Vec<BTreeSet<usize>>,
    pub looks: Vec<Look>,
    /// The look of each member.
    pub members: Vec<usize>,
    /// How many devices the shared claim wants, and whether they are those that several nodes reach.
    pub shared: (usize, bool),
    pub at_least: usize,
    /// The label by which the gang is to be in one place.
    pub level: Option<usize>,
}

impl Instance {
    pub fn random(seed: u64, nodes_max: u64, members_max: u64) -> Instance {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed);
        let dice = &mut dice;
        let count = 2 + dice.below(nodes_max - 1) as usize;
        let zones = 1 + dice.below(3);
        let spot = |at: usize, dice: &mut Dice| Spot {
            places: [
                Some(at as u64),
                (dice.below(8) > 0).then(|| dice.below(zones)),
                (dice.below(6) > 0).then(|| dice.below(2)),
            ],
            cpu: 1 + dice.below(4) as i64,
            gpus: dice.below(3) as usize,
        };
        let nodes: Vec<Spot> = (0..count).map(|at| spot(at, dice)).collect();
        // Some instances have devices, some have rules, and some have both.
        let (devices, rules) =
            [(true, false), (false, true), (false, true), (true, true)][dice.below(4) as usize];
        let links = if devices { dice.below(5) } else { 0 };
        let link = |dice: &mut Dice| (0..count).filter(|_| dice.below(2) == 0).collect();
        let links = (0..links).map(|_| link(dice)).collect();
        let looks: Vec<Look> = (0..1 + dice.below(3)).map(|_| look(dice, count, devices, rules)).collect();
        let wanted = 1 + dice.below(members_max) as usize;
        let members: Vec<usize> = (0..wanted).map(|_| dice.below(looks.len() as u64) as usize).collect();
        let placed = (0..dice.below(3)).map(|_| {
            let apart = if rules && dice.below(3) == 0 { vec![term(dice)] } else { Vec::new() };
            let look = Look { app: dice.below(3), cpu: 1, apart, ..Look::default() };
            (dice.below(count as u64) as usize, look)
        });
        let placed = placed.collect();
        let at_least = if dice.below(3) == 0 { 1 + dice.below(wanted as u64) as usize } else { wanted };
        let shared = (1 + dice.below(2) as usize, dice.below(4) > 0);
        let level = (dice.below(4) == 0).then(|| 1 + dice.below(2) as usize);
        Instance { nodes, placed, links, looks, members, shared, at_least, level }
    }

    /// Whether enough of the gang can be seated, in one place of its level.
    pub fn is_possible(&self) -> bool {
        let everywhere: Vec<usize> = (0..self.nodes.len()).collect();
        let Some(level) = self.level else { return self.is_possible_in(&everywhere) };
        let places: BTreeSet<u64> = self.nodes.iter().filter_map(|spot| spot.places[level]).collect();
        places.into_iter().any(|place| {
            let here = |at: &usize| self.nodes[*at].places[level] == Some(place);
            self.is_possible_in(&everywhere.iter().copied().filter(here).collect::<Vec<_>>())
        })
    }

    fn is_possible_in(&self, nodes: &[usize]) -> bool {
        self.seat(nodes, &mut Vec::new())
    }

    /// Gives the next member each seat in turn, or none if not all have to be seated.
    fn seat(&self, nodes: &[usize], seats: &mut Vec<Option<usize>>) -> bool {
        let without = seats.iter().filter(|seat| seat.is_none()).count();
        if without > self.members.len() - self.at_least {
            return false;
        }
        if seats.len() == self.members.len() {
            return self.are_right(seats);
        }
        // Members that are alike are interchangeable: each has its seat at or after that of the one before it.
        let look = self.members[seats.len()];
        let least = (0..seats.len()).rev().find(|one| self.members[*one] == look).map(|one| seats[one]);
        let choices = nodes.iter().map(|at| Some(*at)).chain([None]);
        for seat in choices.filter(|seat| least.is_none_or(|least| rank(least) <= rank(*seat))) {
            seats.push(seat);
            let fits = (seat.is_none() || self.has_room(seats)) && self.seat(nodes, seats);
            seats.pop();
            if fits {
                return true;
            }
        }
        false
    }

    /// Whether these seats are right, of those members that have one.
    pub fn are_right(&self, seats: &[Option<usize>]) -> bool {
        self.has_room(seats) && self.has_devices(seats) && self.has_order(seats)
    }

    fn seated<'i>(&'i self, seats: &'i [Option<usize>]) -> impl Iterator<Item = (usize, &'i Look)> + Clone {
        seats.iter().enumerate().filter_map(|(member, at)| Some(((*at)?, &self.looks[self.members[member]])))
    }

    /// What holds however members come: processor, ports, volumes, claims, and which members must be apart.
    fn has_room(&self, seats: &[Option<usize>]) -> bool {
        let members: Vec<(usize, &Look)> = self.seated(seats).collect();
        let all = || self.placed.iter().map(|(at, look)| (*at, look)).chain(members.iter().copied());
        let fits = |at: usize| {
            let here = || all().filter(|(on, _)| *on == at);
            // A member that asks for nothing comes whether or not there is too little already.
            let asks = members.iter().any(|(on, look)| *on == at && look.cpu > 0);
            (!asks || here().map(|(_, look)| look.cpu).sum::<i64>() <= self.nodes[at].cpu)
                && here().filter(|(_, look)| look.port).count() <= 1
        };
        let users = members.iter().filter(|(_, look)| matches!(look.disk, Some((_, true))));
        let parted = |(one, (at, look)): (usize, &(usize, &Look))| {
            let olds = self.placed.iter().map(|(on, other)| (*on, other));
            let others =
                members.iter().enumerate().filter(|(other, _)| *other != one).map(|(_, other)| *other);
            olds.chain(others).all(|(on, other)| {
                let parts = |terms: &[Term], app: u64| {
                    terms.iter().any(|(named, key)| *named == app && self.is_one_place(*at, on, *key))
                };
                !parts(&look.apart, other.app) && !parts(&other.apart, look.app)
            })
        };
        let reached = |(at, look): &(usize, &Look)| {
            look.disk.as_ref().is_none_or(|(nodes, _)| nodes.contains(at))
                && look.settled.as_ref().is_none_or(|nodes| nodes.contains(at))
        };
        let nodes: BTreeSet<usize> = members.iter().map(|(at, _)| *at).collect();
        // Each kind has a volume of its own.
        let exclusive = (0..self.looks.len()).all(|look| {
            let is_user = |one: &&(usize, &Look)| std::ptr::eq(one.1, &self.looks[look]);
            users.clone().filter(is_user).count() <= 1
        });
        nodes.into_iter().all(fits)
            && exclusive
            && members.iter().all(reached)
            && members.iter().enumerate().all(parted)
    }

    fn is_one_place(&self, one: usize, other: usize, key: usize) -> bool {
        let place = self.nodes[one].places[key];
        place.is_some() && place == self.nodes[other].places[key]
    }

    /// Whether there are devices for all claims at once.
    fn has_devices(&self, seats: &[Option<usize>]) -> bool {
        let (shared, links) = self.shared;
        let sharers: BTreeSet<usize> =
            self.seated(seats).filter(|(_, look)| look.shares).map(|(at, _)| at).collect();
        let on_node = |at: usize| -> usize {
            let own: usize = self.seated(seats).filter(|(on, _)| *on == at).map(|(_, look)| look.gpus).sum();
            own + if !links && sharers.contains(&at) { shared } else { 0 }
        };
        if (0..self.nodes.len()).any(|at| on_node(at) > self.nodes[at].gpus) || (!links && sharers.len() > 1)
        {
            return false;
        }
        let mut wanted: Vec<BTreeSet<usize>> = Vec::new();
        if links && !sharers.is_empty() {
            wanted.extend(vec![sharers; shared]);
        }
        for (at, look) in self.seated(seats) {
            wanted.extend(vec![BTreeSet::from([at]); look.links]);
        }
        self.gives(&wanted, &mut vec![false; self.links.len()])
    }

    fn gives(&self, wanted: &[BTreeSet<usize>], taken: &mut Vec<bool>) -> bool {
        let Some((first, rest)) = wanted.split_first() else { return true };
        (0..self.links.len()).any(|link| {
            if taken[link] || !first.is_subset(&self.links[link]) {
                return false;
            }
            taken[link] = true;
            let fits = self.gives(rest, taken);
            taken[link] = false;
            fits
        })
    }

    /// Whether members can come one after the other.
    fn has_order(&self, seats: &[Option<usize>]) -> bool {
        let members: Vec<(usize, &Look)> = self.seated(seats).collect();
        self.can_follow(&members, 0, &mut BTreeSet::new())
    }

    fn can_follow(&self, members: &[(usize, &Look)], come: u32, failed: &mut BTreeSet<u32>) -> bool {
        if come.count_ones() as usize == members.len() {
            return true;
        }
        if failed.contains(&come) {
            return false;
        }
        let there: Vec<(usize, &Look)> = self
            .placed
            .iter()
            .map(|(at, look)| (*at, look))
            .chain(members.iter().enumerate().filter(|(one, _)| come & 1 << one != 0).map(|(_, one)| *one))
            .collect();
        let comes = |one: usize| {
            let (at, look) = members[one];
            come & 1 << one == 0 && self.is_near(at, look, &there) && self.is_even(at, look, &there)
        };
        for one in (0..members.len()).filter(|one| comes(*one)).collect::<Vec<_>>() {
            if self.can_follow(members, come | 1 << one, failed) {
                return true;
            }
        }
        failed.insert(come);
        false
    }

    fn is_near(&self, at: usize, look: &Look, there: &[(usize, &Look)]) -> bool {
        if look.near.iter().any(|(_, key)| self.nodes[at].places[*key].is_none()) {
            return false;
        }
        let meant = |other: &Look| look.near.iter().all(|(app, _)| *app == other.app);
        let is_there = |(_, key): &Term| {
            there.iter().any(|(on, other)| meant(other) && self.is_one_place(at, *on, *key))
        };
        let is_anywhere = |(_, key): &Term| {
            there.iter().any(|(on, other)| meant(other) && self.nodes[*on].places[*key].is_some())
        };
        look.near.iter().all(is_there) || (meant(look) && !look.near.iter().any(is_anywhere))
    }

    fn is_even(&self, at: usize, look: &Look, there: &[(usize, &Look)]) -> bool {
        let counts =
            |on: usize| look.spread.iter().all(|(_, _, (_, key))| self.nodes[on].places[*key].is_some());
        look.spread.iter().all(|(skew, places_min, (app, key))| {
            let Some(place) = self.nodes[at].places[*key] else { return false };
            let nodes = || (0..self.nodes.len()).filter(|on| counts(*on));
            let places: BTreeSet<u64> = nodes().filter_map(|on| self.nodes[on].places[*key]).collect();
            let pods = |place: u64| {
                let here = |on: usize| counts(on) && self.nodes[on].places[*key] == Some(place);
                there.iter().filter(|(on, other)| here(*on) && other.app == *app).count() as i64
            };
            let least = places.iter().map(|place| pods(*place)).min();
            let least = match least {
                _ if (places.len() as i64) < *places_min => 0,
                None => i64::from(i32::MAX),
                Some(least) => least,
            };
            pods(place) + i64::from(look.app == *app) - least <= *skew
        })
    }
}

fn rank(seat: Option<usize>) -> usize {
    seat.unwrap_or(usize::MAX)
}

fn term(dice: &mut Dice) -> Term {
    (dice.below(3), dice.below(3) as usize)
}

fn terms(dice: &mut Dice, one_in: u64) -> Vec<Term> {
    let count = if dice.below(one_in) == 0 { 1 + dice.below(2) } else { 0 };
    (0..count).map(|_| term(dice)).collect()
}

fn look(dice: &mut Dice, nodes: usize, devices: bool, rules: bool) -> Look {
    let some = |dice: &mut Dice| (0..nodes).filter(|_| dice.below(3) > 0).collect::<Vec<_>>();
    let mut look = Look { app: dice.below(3), cpu: dice.below(3) as i64, ..Look::default() };
    if rules {
        look.near = terms(dice, 3);
        look.apart = terms(dice, 3);
        let rule =
            |(app, key), dice: &mut Dice| (1 + dice.below(2) as i64, 1 + dice.below(3) as i64, (app, key));
        look.spread = terms(dice, 3).into_iter().map(|term| rule(term, dice)).collect();
        // A rule is listed once for each label.
        look.spread.sort_by_key(|(_, _, term)| *term);
        look.spread.dedup_by_key(|(_, _, term)| *term);
    }
    look.port = dice.below(6) == 0;
    if dice.below(5) == 0 {
        look.disk = Some((some(dice), dice.below(3) == 0));
    }
    if devices {
        look.gpus = dice.below(2) as usize;
        look.links = dice.below(3) as usize;
        look.shares = dice.below(3) == 0;
        if dice.below(5) == 0 {
            look.settled = Some(some(dice));
        }
    }
    look
}
