//! Seats for a gang: in the best domain, with devices from the best sets.

use std::sync::Arc;

use model::group::Group;
use model::pod::Pod;
use placement::{Domain, DomainName, Gang, Placement, PlacementAnswer, PlacementGenerator, ReachGenerator};

use crate::cycle::Cycle;
use crate::gang::answer::seats::Seated;
use crate::gang::members::cast::Cast;
use crate::gang::members::member::Member;
use crate::gang::seats::sought::SeatsWanted;
use crate::profile::Profile;
use crate::values::certainty::Certainty;
use crate::values::gang_reason::GangReason;
use crate::values::miss::{Miss, nearer};
use crate::values::work;

/// How many steps a search may take at least for each choice of devices.
const STEPS_MIN: u64 = 10_000;

/// Seats that were found.
struct FoundSeats {
    placement: Placement,
    /// The cast in which each member counts by itself, if the seats are for that.
    apart: Option<Cast>,
}

/// How many members are wanted.
struct Sizes {
    /// As a search counts them.
    gang: Gang,
    /// If each member counts, though it shares claims with others.
    each: Gang,
    /// Not all members that share claims have to be seated.
    may_leave_some: bool,
}

impl Cycle<'_> {
    /// Seats for at least so many members in one of these domains, and its name, or why there are none.
    pub(crate) fn find_seats(
        &mut self,
        wanted: SeatsWanted<'_>,
        domains: &[Domain],
        at_least: u32,
        steps_max: u64,
    ) -> Result<(DomainName, Seated), Miss> {
        let SeatsWanted { group, cast, profile, empty_levels, .. } = wanted;
        if let (true, Some(level)) = (domains.is_empty(), empty_levels.first()) {
            return Err(Miss::proved(GangReason::EmptyLevel { level: level.clone() }));
        }
        // Members that share claims on a node are one to the search. By themselves each of them counts, and some may stay behind.
        let shares = cast.shares_claims();
        let each = if shares { wanted.at_least } else { at_least };
        let gang = &Sizes {
            gang: Gang { at_least, ..wanted.gang.clone() },
            each: Gang { at_least: each, ..wanted.gang.clone() },
            may_leave_some: shares && (wanted.at_least as usize) < cast.members().count(),
        };
        let choices = match group {
            Some(group) => self.device_sets(group, cast, at_least)?,
            None => None,
        };
        let Some(choices) = choices else {
            let found = self.search_seats(gang, cast, domains, steps_max, profile)?;
            return self.settle_seats(cast, found);
        };
        let steps = (steps_max / choices.len() as u64).max(STEPS_MIN);
        let mut best: Option<(FoundSeats, Cast)> = None;
        let mut nearest: Option<Miss> = None;
        for choice in choices {
            let narrowed = ReachGenerator { name: &choice.name, nodes: &choice.nodes }.generate(domains);
            let cast = choice.restrict(cast);
            match self.search_seats(gang, &cast, &narrowed, steps, profile) {
                Ok(found) if best.as_ref().is_none_or(|(best, _)| found.is_better_than(best)) => {
                    best = Some((found, cast));
                }
                Ok(_) => {}
                Err(miss) => nearest = Some(nearer(nearest, miss)),
            }
        }
        match best {
            Some((found, cast)) => self.settle_seats(&cast, found),
            None => Err(nearest.unwrap_or_else(|| Miss::proved(GangReason::NoDeviceSet))),
        }
    }

    fn search_seats(
        &mut self,
        sizes: &Sizes,
        cast: &Cast,
        domains: &[Domain],
        steps: u64,
        profile: &Profile,
    ) -> Result<FoundSeats, Miss> {
        if !cast.is_local {
            return self.search_apart(&sizes.each, cast, domains, steps, profile);
        }
        let found = self.search_once(&sizes.gang, cast, domains, steps, profile);
        if !sizes.may_leave_some {
            return found;
        }
        found.or_else(|miss| {
            let apart = self.search_apart(&sizes.each, cast, domains, steps, profile);
            apart.map_err(|other| Miss { certainty: miss.certainty.and(other.certainty), ..miss })
        })
    }

    /// Seats for members of which each counts by itself.
    fn search_apart(
        &mut self,
        gang: &Gang,
        cast: &Cast,
        domains: &[Domain],
        steps: u64,
        profile: &Profile,
    ) -> Result<FoundSeats, Miss> {
        let apart = cast.each_apart(self);
        let gang = apart.gang(gang.at_least);
        if apart.members().any(|member| !member.claims.pending.is_empty()) {
            return self.search_negotiated(&gang, &apart, domains, steps, profile);
        }
        let found = self.search_once(&gang, &apart, domains, steps, profile)?;
        Ok(FoundSeats { apart: Some(apart), ..found })
    }

    /// Seats for members that drivers are asked about, one domain after the other. A node that was chosen stays so while it
    /// will do.
    fn search_negotiated(
        &mut self,
        gang: &Gang,
        apart: &Cast,
        domains: &[Domain],
        steps: u64,
        profile: &Profile,
    ) -> Result<FoundSeats, Miss> {
        let settled = apart.staying(|member| self.selected_for(&member.pod).cloned());
        let pods: Vec<&Arc<Pod>> = apart.members().map(|member| &member.pod).collect();
        let domains: Vec<Domain> = self.in_turn(&pods, domains).into_iter().cloned().collect();
        let lots = self.lots(&pods, domains.len());
        let fewer = self.needed_in_turn(apart, gang.at_least);
        let steps = (steps / (4 * domains.len().max(1) as u64)).max(STEPS_MIN);
        let mut nearest: Option<Miss> = None;
        for domain in &domains {
            let lot = |member: &Member| self.by_lot(lots.as_ref()?, member, domain);
            let drawn = |cast: &Cast| {
                let stays = |member: &Member| self.selected_for(&member.pod).cloned().or_else(|| lot(member));
                cast.members().any(|member| lot(member).is_some()).then(|| cast.staying(stays))
            };
            let (fewer, drawn) = (fewer.as_ref().and_then(drawn), drawn(apart));
            for cast in fewer.iter().chain(&drawn).chain([&settled, apart]) {
                let gang = cast.gang(gang.at_least);
                match self.search_once(&gang, cast, std::slice::from_ref(domain), steps, profile) {
                    Ok(found) => return Ok(FoundSeats { apart: Some(cast.clone()), ..found }),
                    Err(miss) => nearest = Some(nearer(nearest, miss)),
                }
            }
        }
        let none = GangReason::NoDomain { members: gang.at_least };
        Err(nearest.unwrap_or_else(|| Miss::proved(none)))
    }

    fn search_once(
        &mut self,
        gang: &Gang,
        cast: &Cast,
        domains: &[Domain],
        steps: u64,
        profile: &Profile,
    ) -> Result<FoundSeats, Miss> {
        let (refusal, certainty) = match self.place_within(gang, cast, domains, steps, profile) {
            PlacementAnswer::Placed(placement) => return Ok(FoundSeats { placement, apart: None }),
            PlacementAnswer::Impossible(refusal) => (refusal, Certainty::Proved),
            PlacementAnswer::BudgetSpent(refusal) => (refusal, Certainty::LimitReached),
        };
        let room_for = refusal.nearest.as_ref().map_or(0, |nearest| nearest.room_for);
        Err(Miss { room_for, certainty, ..Miss::proved(GangReason::NoRoom(Box::new(refusal))) })
    }

    fn settle_seats(&mut self, cast: &Cast, found: FoundSeats) -> Result<(DomainName, Seated), Miss> {
        let FoundSeats { placement, apart } = found;
        let seated = match apart {
            Some(apart) => self.hand_out_apart(&apart, &placement),
            None => self.hand_out(cast, &placement),
        };
        // That devices are none for members like those they were found for says nothing about other seats.
        Ok((placement.domain, seated.map_err(Miss::open)?))
    }
}

impl FoundSeats {
    fn is_better_than(&self, other: &FoundSeats) -> bool {
        let (own, other) = (&self.placement, &other.placement);
        own.rank < other.rank || (own.rank == other.rank && own.score > other.score)
    }
}

impl Cycle<'_> {
    /// Seats for as many members as have to be seated at once, at least, in given domains.
    pub(crate) fn seat_gang_in(
        &mut self,
        group: &Arc<Group>,
        pods: &[Arc<Pod>],
        within: &[Domain],
        steps_max: u64,
    ) -> Result<Seated, Miss> {
        self.spend_on_seats(pods, within);
        let sought = self.seek(group, pods, Some(within)).map_err(|refusal| refusal.miss)?;
        let found = self.find_seats(sought.seats(), within, sought.gang.at_least, steps_max);
        found.map(|(_, seated)| seated)
    }

    fn spend_on_seats(&mut self, pods: &[Arc<Pod>], within: &[Domain]) {
        let nodes: usize = within.iter().map(|domain| domain.nodes.len()).sum();
        self.caches.work.spend(nodes as u64 * work::NODE + pods.len() as u64 * work::MEMBER);
    }
}
