//! Who has to go so that a whole gang fits: the units whose going does the least harm, found by trying.
//!
//! First the gang is seated as if everybody were gone who is less important than it, domain by domain. That is a proof that
//! it can be helped there, or that it cannot. Then as many as possible may stay after all, the most important first and
//! before all others those that a disruption budget would keep: they are thought back, and the gang is searched seats for
//! again. Many are thought back at once, and only if that fails in halves, so that the number of searches grows with the
//! number of those who have to go and not with the number of those who could.
//!
//! Domains in which more wishes are given up are no worse if less harm is done there; the fewest wishes are given up where as much is.
//!
//! Bounds: a search takes at most [`STEPS_MAX`] steps; it is found out who may stay in at most [`DOMAINS_MAX`] domains, those
//! that look best after the first step, by at most [`TRIALS_MAX`] searches in all, and by fewer for large ones. What is left
//! open then is decided by the seats that were found last: who is not in their way stays. So the bound can cost somebody a place who might have kept it,
//! but it never lets anybody go for nothing.
//!
//! Invariant: whoever is named here goes only together with seats for the gang that were found with all of them gone.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::claim::ClaimId;
use model::timestamp::Timestamp;
use placement::Domain;

use super::ground::{Devices, Ground};
use super::party::Party;
use super::seek::{Seated, seat};
use crate::cycle::Cycle;
use crate::filters;
use crate::preempt::{Absence, Harm, Unit, broken, harm, pods_of};

/// How many steps a search for seats may take, while it is tried who has to go.
const STEPS_MAX: u64 = 200_000;

/// In how many domains it is found out who may stay.
const DOMAINS_MAX: usize = 8;

/// By how many searches in all.
const TRIALS_MAX: usize = 256;

/// By how many if members are in each other's way, or groups are seated one after the other, which takes longer.
const TRIALS_MAX_LONG: usize = 64;

/// By how many at the least, however large domain and gang are.
const TRIALS_MIN: usize = 16;

/// How many nodes and members may be looked at by these searches: the larger they are, the fewer searches there are.
const LOOKS_MAX: usize = 100_000;

/// The harm that is done, with how many wishes are given up.
type Cost = (usize, i32, usize, i64, usize, u32, Reverse<Timestamp>);

/// Seats for a gang once others are gone.
#[derive(Debug)]
pub struct GangCandidate {
    /// What people call the domain; nothing if it is the whole cluster.
    pub domain: Arc<str>,
    /// Members and their seats.
    pub seated: Seated,
    /// Those who have to go, the most important first.
    pub victims: Vec<Unit>,
    /// All who are gone then, by uid.
    pub gone: BTreeSet<Arc<str>>,
    /// The claims that give devices back, with their uids.
    pub freeing: Vec<(ClaimId, Arc<str>)>,
}

/// Who is going already, whoever for.
#[derive(Debug, Default)]
pub(super) struct Going {
    /// Those that are still there.
    pub units: Vec<Unit>,
    /// Those that are gone, and whose claims have yet to give devices back.
    pub gone: Vec<Arc<str>>,
    /// Those claims.
    pub claims: Vec<ClaimId>,
}

/// Why nobody's going would help.
#[derive(Debug)]
pub(super) enum Helpless {
    /// There is nobody who could go.
    NoVictims,
    /// It would not be enough.
    Lacks(String),
}

/// A domain in which a gang fits if all go that could.
struct Hopeful<'s> {
    /// What it would cost if all went who are where the gang would be.
    cost: Cost,
    domain: &'s Domain,
    /// How many members are to have seats: all, unless only as many fit as have to.
    at_least: u32,
    /// The units whose going is tried there.
    concerned: Vec<usize>,
}

/// A domain in which it is found out who may stay.
struct Attempt<'a> {
    party: Party<'a>,
    domain: &'a Domain,
    at_least: u32,
    absence: Absence,
    /// Seats that there are as things are thought to be.
    seated: Seated,
    /// How many more searches there may be.
    trials: usize,
    /// Those who cannot stay.
    victims: Vec<Unit>,
    /// What was not found out.
    open: Vec<Unit>,
}

impl Cycle<'_> {
    /// Seats for a gang once those are gone that go anyway, if that is enough.
    pub(super) fn seats_to_come(&mut self, party: Party<'_>, going: &Going) -> Option<GangCandidate> {
        let absence = self.without(party, going);
        let found = self.find_party_seats(party, party.domains(), party.at_least(), STEPS_MAX);
        let (gone, freeing) = (absence.gone(), absence.freeing());
        self.end_absence(&absence);
        let (domain, seated) = found.ok()?;
        Some(GangCandidate { domain, seated, victims: Vec::new(), gone, freeing })
    }

    /// The units whose going does the least harm and lets the gang in, with the seats that it then has.
    pub(super) fn find_gang_victims(
        &mut self,
        now: Timestamp,
        party: Party<'_>,
        units: &[Unit],
        going: &Going,
    ) -> Result<GangCandidate, Helpless> {
        if units.is_empty() {
            return Err(Helpless::NoVictims);
        }
        let hopeful = self.hopeful_domains(now, party, units, going)?;
        let shares = hopeful.len();
        let mut best: Option<(Cost, GangCandidate)> = None;
        for Hopeful { domain, at_least, concerned, .. } in hopeful {
            let units: Vec<Unit> = concerned.into_iter().map(|at| units[at].clone()).collect();
            let Some((cost, candidate)) = self.reprieve_in(
                now,
                (party, domain, at_least),
                units,
                (going, trials(party, domain) / shares),
            ) else {
                continue;
            };
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, candidate));
            }
        }
        let spent = || Helpless::Lacks("the search for pods to preempt reached its limit".to_owned());
        best.map(|(_, candidate)| candidate).ok_or_else(spent)
    }

    /// The domains in which the gang fits if all go that could, those first where the least harm seems to be done.
    fn hopeful_domains<'s>(
        &mut self,
        now: Timestamp,
        party: Party<'s>,
        units: &[Unit],
        going: &Going,
    ) -> Result<Vec<Hopeful<'s>>, Helpless> {
        let mut on_node: BTreeMap<NodeIdx, BTreeSet<usize>> = BTreeMap::new();
        for (at, unit) in units.iter().enumerate() {
            for pod in &unit.pods {
                if let Some((node, _)) = self.facts.nodes.pod(&pod.uid) {
                    on_node.entry(node).or_default().insert(at);
                }
            }
        }
        let mut hopeful = Vec::new();
        let mut why = None;
        let mut is_empty = true;
        for domain in party.domains() {
            let concerned: Vec<usize> = if party.cast().is_local {
                let here = domain.nodes.iter().filter_map(|node| on_node.get(node)).flatten();
                here.copied().collect::<BTreeSet<_>>().into_iter().collect()
            } else {
                // Rules about pods and devices that several nodes reach know no domains.
                (0..units.len()).collect()
            };
            if concerned.is_empty() {
                continue;
            }
            is_empty = false;
            let mut absence = self.without(party, going);
            concerned.iter().for_each(|at| self.depart(&mut absence, &units[*at]));
            let alone = std::slice::from_ref(domain);
            let found = self.find_party_seats(party, alone, party.at_least(), STEPS_MAX);
            self.end_absence(&absence);
            match found {
                Ok((_, seated)) => {
                    let in_the_way: BTreeSet<usize> = seated
                        .iter()
                        .filter_map(|(_, choice)| on_node.get(&self.facts.nodes.find(&choice.node)?))
                        .flatten()
                        .copied()
                        .collect();
                    let pods: Vec<_> = pods_of(in_the_way.iter().map(|at| &units[*at])).cloned().collect();
                    let cost = cost(harm(&pods, (0, 0), now), domain);
                    let is_everybody = seated.len() == party.cast().members().count();
                    let at_least = if is_everybody { party.everybody() } else { party.at_least() };
                    hopeful.push(Hopeful { cost, domain, at_least, concerned });
                }
                Err(lack) => why = why.or_else(|| Some(lack.told())),
            }
        }
        if hopeful.is_empty() {
            return Err(match why.filter(|_| !is_empty) {
                Some(why) => Helpless::Lacks(format!("even without those that could go, {why}")),
                None => Helpless::NoVictims,
            });
        }
        hopeful.sort_by_key(|one| one.cost);
        // The best of each rank is among those that are looked at.
        let mut ranks = BTreeSet::new();
        let (mut chosen, others): (Vec<_>, Vec<_>) =
            hopeful.into_iter().partition(|one| ranks.insert(one.domain.rank));
        chosen.extend(others);
        chosen.truncate(DOMAINS_MAX);
        Ok(chosen)
    }

    /// Lets as many stay as can in one domain.
    fn reprieve_in(
        &mut self,
        now: Timestamp,
        (party, domain, at_least): (Party<'_>, &Domain, u32),
        units: Vec<Unit>,
        (going, trials): (&Going, usize),
    ) -> Option<(Cost, GangCandidate)> {
        let mut absence = self.without(party, going);
        units.iter().for_each(|unit| self.depart(&mut absence, unit));
        let seated = self.find_party_seats(party, std::slice::from_ref(domain), at_least, STEPS_MAX);
        let Ok((_, seated)) = seated else {
            self.end_absence(&absence);
            return None;
        };
        let mut attempt = Attempt {
            party,
            domain,
            at_least,
            absence,
            seated,
            trials,
            victims: Vec::new(),
            open: Vec::new(),
        };
        let (kept, others): (Vec<_>, Vec<_>) =
            self.with_violations(units).into_iter().partition(|(_, violations)| *violations > 0);
        let against: BTreeMap<Arc<str>, usize> =
            kept.iter().map(|(unit, count)| (unit.pods[0].uid.clone(), *count)).collect();
        let order: Vec<Unit> = kept.into_iter().chain(others).map(|(unit, _)| unit).collect();
        // With all of them there the gang was refused a moment ago.
        self.spare(&mut attempt, order, true);
        let is_decided = self.decide_by_seats(&mut attempt);
        let Attempt { absence, seated, mut victims, .. } = attempt;
        let (gone, freeing) = (absence.gone(), absence.freeing());
        self.end_absence(&absence);
        if !is_decided {
            return None;
        }
        victims.sort_by_key(|unit| Reverse(unit.importance));
        let violations = victims.iter().filter_map(|unit| against.get(&unit.pods[0].uid)).sum();
        let pods: Vec<_> = pods_of(&victims).cloned().collect();
        let cost = cost(harm(&pods, (violations, broken(&victims)), now), domain);
        Some((cost, GangCandidate { domain: domain.name.clone(), seated, victims, gone, freeing }))
    }

    /// Thinks units back, all at once if the gang has seats then, and otherwise one half after the other.
    fn spare(&mut self, attempt: &mut Attempt<'_>, mut units: Vec<Unit>, is_too_many: bool) {
        if units.is_empty() {
            return;
        }
        if !is_too_many || units.len() == 1 {
            if attempt.trials == 0 {
                attempt.open.append(&mut units);
                return;
            }
            attempt.trials -= 1;
            units.iter().for_each(|unit| self.come_back(&mut attempt.absence, unit));
            let alone = std::slice::from_ref(attempt.domain);
            let found = self.find_party_seats(attempt.party, alone, attempt.at_least, STEPS_MAX);
            if let Ok((_, seated)) = found {
                attempt.seated = seated;
                return;
            }
            units.iter().for_each(|unit| self.depart(&mut attempt.absence, unit));
            if units.len() == 1 {
                attempt.victims.append(&mut units);
                return;
            }
        }
        let rest = units.split_off(units.len() / 2);
        let before = attempt.victims.len() + attempt.open.len();
        self.spare(attempt, units, false);
        // If all of the first half stay, the second is too many as both were.
        let is_too_many = attempt.victims.len() + attempt.open.len() == before;
        self.spare(attempt, rest, is_too_many);
    }

    /// Lets those stay of whom it was not found out, if they are not in the way of the seats that were found last; says
    /// whether that could be decided.
    fn decide_by_seats(&mut self, attempt: &mut Attempt<'_>) -> bool {
        let open = std::mem::take(&mut attempt.open);
        if open.is_empty() {
            return true;
        }
        let mut seats: BTreeMap<NodeIdx, BTreeSet<Arc<str>>> = BTreeMap::new();
        for (pod, choice) in &attempt.seated {
            if let Some(at) = self.facts.nodes.find(&choice.node) {
                seats.entry(at).or_default().insert(pod.uid.clone());
            }
        }
        let place = |cycle: &Cycle<'_>, unit: &Unit| -> BTreeSet<NodeIdx> {
            unit.pods.iter().filter_map(|pod| cycle.places_before(&attempt.absence, &pod.uid)).collect()
        };
        let (beside, elsewhere): (Vec<_>, Vec<_>) = open
            .into_iter()
            .map(|unit| (place(self, &unit), unit))
            .partition(|(places, _)| places.iter().any(|at| seats.contains_key(at)));
        elsewhere.iter().for_each(|(_, unit)| self.come_back(&mut attempt.absence, unit));
        if !attempt.party.cast().is_local {
            attempt.victims.extend(beside.into_iter().map(|(_, unit)| unit));
            let alone = std::slice::from_ref(attempt.domain);
            let found = self.find_party_seats(attempt.party, alone, attempt.at_least, STEPS_MAX);
            return found.map(|(_, seated)| attempt.seated = seated).is_ok();
        }
        for (places, unit) in beside {
            self.come_back(&mut attempt.absence, &unit);
            let holds = |at: &NodeIdx| {
                let here = seats.get(at);
                here.is_none_or(|here| self.reseat(attempt.party, *at, here).is_some())
            };
            if !places.iter().all(holds) {
                self.depart(&mut attempt.absence, &unit);
                attempt.victims.push(unit);
            }
        }
        // With who is back, other devices may be those that fit.
        let again: Option<Vec<Seated>> =
            seats.iter().map(|(at, here)| self.reseat(attempt.party, *at, here)).collect();
        again.map(|again| attempt.seated = again.into_iter().flatten().collect()).is_some()
    }

    /// Devices for members on a node that has room for them, as things are thought to be.
    fn reseat(&mut self, party: Party<'_>, at: NodeIdx, uids: &BTreeSet<Arc<str>>) -> Option<Seated> {
        let members: Vec<_> =
            party.cast().members().filter(|member| uids.contains(&member.pod.uid)).collect();
        if !Ground::new(self, party.cast(), party.profile()).has_room(at, &members) {
            return None;
        }
        let Devices::Found(found, _) = self.devices_for(at, &members) else { return None };
        let node = filters::node_of(self.facts.nodes.get(at)).clone();
        let seats = members.into_iter().zip(found);
        Some(seats.map(|(member, devices)| (member.pod.clone(), seat(member, &node, devices))).collect())
    }

    /// The cluster without those that go anyway.
    fn without(&mut self, party: Party<'_>, going: &Going) -> Absence {
        let claims = party.cast().members().map(|member| &member.claims);
        let own = claims.flat_map(|claims| claims.settled.iter().chain(&claims.open));
        let followed = party.cast().members().flat_map(|member| &member.follows);
        let own = own.chain(followed).map(|state| state.wish.id.clone()).collect();
        let mut absence = Absence::new(own, self.facts.mark());
        going.units.iter().for_each(|unit| self.depart(&mut absence, unit));
        self.depart_for_good(&mut absence, going.gone.iter().cloned(), going.claims.iter().cloned());
        absence
    }
}

/// What is compared of domains; less is better. Wishes that are given up count for less than any harm, but for more than since when
/// pods run.
fn cost((violations, highest, broken, sum, count, since): Harm, domain: &Domain) -> Cost {
    (violations, highest, broken, sum, count, domain.rank, since)
}

/// By how many searches it is found out who may stay, if only in this domain.
fn trials(party: Party<'_>, domain: &Domain) -> usize {
    let is_one_search = party.cast().is_local && matches!(party, Party::Gang(_));
    let most = if is_one_search { TRIALS_MAX } else { TRIALS_MAX_LONG };
    let looks = domain.nodes.len() + party.everybody() as usize;
    (LOOKS_MAX / looks.max(1)).clamp(TRIALS_MIN, most)
}
