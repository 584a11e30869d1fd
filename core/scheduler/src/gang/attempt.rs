//! Seats for a cast: in the best domain, with devices from the best sets.

use std::sync::Arc;

use placement::{
    Answer, Budget, Domain, Gang, Placement, PlacementGenerator, Question, ReachGenerator, place,
};

use super::cast::Cast;
use super::ground::Ground;
use super::turn::{Seated, Sought};
use crate::engine::Engine;
use crate::profile::Profile;

/// How many steps a search may take at least for each choice of devices.
const STEPS_MIN: u64 = 10_000;

/// What came closest to seats, and what is missing.
#[derive(Debug)]
pub(super) struct Miss {
    /// For how many members there is room.
    pub room_for: u32,
    pub message: String,
}

/// Seats that were found, and how good they are.
struct Attempt {
    /// How many wishes are given up for them.
    rank: u32,
    score: f64,
    /// What people call the domain.
    domain: Arc<str>,
    seats: Seats,
}

/// How many members are wanted.
struct Sizes {
    /// As a search counts them.
    gang: Gang,
    /// As they are counted one by one.
    each: Gang,
    /// Not all of those have to be seated that share claims.
    may_leave_some: bool,
}

enum Seats {
    /// They have yet to be handed out.
    Found(Placement),
    Given(Seated),
}

impl Engine {
    /// Seats for at least so many members in one of these domains, and its name, or why there are none.
    pub(super) fn find_seats(
        &mut self,
        sought: &Sought,
        domains: &[Domain],
        at_least: u32,
        steps_max: u64,
    ) -> Result<(Arc<str>, Seated), String> {
        let Sought { group, cast, profile, empty_levels, .. } = sought;
        if let (true, Some(level)) = (domains.is_empty(), empty_levels.first()) {
            return Err(format!("no node is in a domain of level {level}"));
        }
        // Members that share claims are one to the search. One by one each of them counts, and some may stay behind.
        let shares = cast.shares_claims();
        let each = if shares { sought.at_least } else { at_least };
        let gang = &Sizes {
            gang: Gang { at_least, ..sought.gang.clone() },
            each: Gang { at_least: each, ..sought.gang.clone() },
            may_leave_some: shares && (sought.at_least as usize) < cast.members().count(),
        };
        let Some(choices) = self.device_sets(group, cast, at_least)? else {
            let found = self.attempt_seats(gang, cast, domains, steps_max, profile);
            return self.settle_seats(cast, found.map_err(|miss| miss.message)?);
        };
        let steps = (steps_max / choices.len() as u64).max(STEPS_MIN);
        let mut best: Option<(Attempt, Cast)> = None;
        let mut nearest: Option<Miss> = None;
        for choice in choices {
            let narrowed = ReachGenerator { name: &choice.name, nodes: &choice.nodes }.generate(domains);
            let cast = choice.restrict(cast);
            match self.attempt_seats(gang, &cast, &narrowed, steps, profile) {
                Ok(found) if best.as_ref().is_none_or(|(best, _)| found.is_better_than(best)) => {
                    best = Some((found, cast));
                }
                Ok(_) => {}
                Err(miss) if nearest.as_ref().is_none_or(|known| known.room_for < miss.room_for) => {
                    nearest = Some(miss);
                }
                Err(_) => {}
            }
        }
        match best {
            Some((found, cast)) => self.settle_seats(&cast, found),
            None => Err(nearest.map_or_else(|| "there is no set of devices".to_owned(), |miss| miss.message)),
        }
    }

    fn attempt_seats(
        &mut self,
        sizes: &Sizes,
        cast: &Cast,
        domains: &[Domain],
        steps: u64,
        profile: &Profile,
    ) -> Result<Attempt, Miss> {
        if !cast.is_local {
            return self.attempt_one_by_one(&sizes.each, cast, domains, profile);
        }
        let found = self.attempt_search(&sizes.gang, cast, domains, steps, profile);
        if !sizes.may_leave_some {
            return found;
        }
        found.or_else(|miss| self.attempt_one_by_one(&sizes.each, cast, domains, profile).map_err(|_| miss))
    }

    fn attempt_one_by_one(
        &mut self,
        gang: &Gang,
        cast: &Cast,
        domains: &[Domain],
        profile: &Profile,
    ) -> Result<Attempt, Miss> {
        let (domain, seated) = self.seat_one_by_one(gang, cast, domains, profile)?;
        let (rank, domain) = (domain.rank, domain.name.clone());
        Ok(Attempt { rank, score: 0.0, domain, seats: Seats::Given(seated) })
    }

    fn attempt_search(
        &mut self,
        gang: &Gang,
        cast: &Cast,
        domains: &[Domain],
        steps: u64,
        profile: &Profile,
    ) -> Result<Attempt, Miss> {
        let scorers = profile.placement.scorers();
        let question = Question { gang, domains, scorers: &scorers };
        let mut ground = Ground::new(self, cast, profile);
        let (refusal, is_open) = match place(question, &mut ground, &mut Budget::new(steps)) {
            Answer::Placed(placement) => {
                let (rank, score, domain) = (placement.rank, placement.score, placement.domain.clone());
                return Ok(Attempt { rank, score, domain, seats: Seats::Found(placement) });
            }
            Answer::Impossible(refusal) => (refusal, false),
            Answer::BudgetSpent(refusal) => (refusal, true),
        };
        let message = if is_open {
            format!("the search for seats met its bound, and this is what came closest: {refusal}")
        } else {
            refusal.to_string()
        };
        Err(Miss { room_for: refusal.nearest.map_or(0, |nearest| nearest.room_for), message })
    }

    fn settle_seats(&mut self, cast: &Cast, found: Attempt) -> Result<(Arc<str>, Seated), String> {
        let seated = match found.seats {
            Seats::Found(placement) => self.hand_out(cast, &placement)?,
            Seats::Given(seated) => seated,
        };
        Ok((found.domain, seated))
    }
}

impl Attempt {
    fn is_better_than(&self, other: &Attempt) -> bool {
        self.rank < other.rank || (self.rank == other.rank && self.score > other.score)
    }
}
