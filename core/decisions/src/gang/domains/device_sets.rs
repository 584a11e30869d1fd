//! Sets of devices from which claims of a gang are met together: those of a pool, or those with one value of an attribute.
//!
//! Each choice of sets is a cast of its own, whose claims are told to stay within; nothing else of a search knows of sets. A set
//! that cannot have enough devices by mere counting is left out before.
//!
//! Invariant: claims that have devices already decide about the set of the others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::nodes::NodeIdx;
use cluster::pools::reaches;
use cluster::published::Published;
use model::claim::{Claim, ClaimId, Constraint, DeviceSet, Rule};
use model::device::{Device, DeviceId, PoolId, Reach};
use model::group::Group;
use model::pod::{ClaimSource, Pod};
use model::workload::{DeviceTerm, TermClaims, Together};

use crate::cycle::Cycle;
use crate::filters;
use crate::gang::members::cast::Cast;
use crate::gang::members::member::{Member, devices_at_least};
use crate::values::gang_reason::{GangReason, SetShortage};
use crate::values::miss::Miss;

/// How many choices of sets are tried for a gang.
const CHOICES_MAX: usize = 10_000;

/// A choice of sets, one for each term.
#[derive(Clone, Debug)]
pub(crate) struct Sets {
    /// What people call them.
    pub name: String,
    /// The nodes that reach all of them.
    pub nodes: BTreeSet<NodeIdx>,
    chosen: Vec<(DeviceTerm, DeviceSet)>,
}

/// A set of devices as it is found in slices.
#[derive(Clone, Debug, Default)]
struct SetOffer {
    nodes: BTreeSet<NodeIdx>,
    /// How many devices are free at the most.
    free: u64,
}

impl Cycle<'_> {
    /// The choices of sets from which the claims of a gang can be met; nothing if it may have its devices from anywhere.
    ///
    /// # Errors
    /// There is no such set, or there are too many choices to try.
    pub(crate) fn device_sets(
        &self,
        group: &Group,
        cast: &Cast,
        at_least: u32,
    ) -> Result<Option<Vec<Sets>>, Miss> {
        let Some(terms) = self.facts.groups.terms(&group.id) else { return Ok(None) };
        let is_open =
            |term: &&DeviceTerm| cast.members().any(|member| open_of(member, term).next().is_some());
        let mut choices: Option<Vec<Sets>> = None;
        for term in terms.devices.iter().filter(is_open) {
            let offers = self.offers(group, cast, term, at_least).map_err(Miss::proved)?;
            choices = Some(match choices {
                None => offers.into_iter().map(|(set, offer)| first_choice(term, set, offer)).collect(),
                Some(before) => combined(before, term, &offers)?,
            });
        }
        match choices {
            Some(choices) if choices.is_empty() => Err(Miss::proved(GangReason::SetsOutOfReach)),
            choices => Ok(choices),
        }
    }

    /// The sets that may have enough devices for a term.
    fn offers(
        &self,
        group: &Group,
        cast: &Cast,
        term: &DeviceTerm,
        at_least: u32,
    ) -> Result<BTreeMap<DeviceSet, SetOffer>, GangReason> {
        let held = self.held_for(group, cast, term);
        let is_home = |set: &DeviceSet| held.iter().all(|id| self.may_be_in(set, id));
        let mut offers: BTreeMap<DeviceSet, SetOffer> = BTreeMap::new();
        for published in self.facts.slices.iter() {
            for (set, offer) in self.offers_of(published, &term.together) {
                let sum = offers.entry(set).or_default();
                sum.nodes.extend(offer.nodes);
                sum.free = sum.free.saturating_add(offer.free);
            }
        }
        offers.retain(|set, offer| !offer.nodes.is_empty() && is_home(set));
        let needed = needed(cast, term, at_least);
        let largest = offers.iter().max_by_key(|(_, offer)| offer.free);
        let short = match largest {
            None if held.is_empty() => Some(SetShortage::Missing),
            None => Some(SetShortage::Split),
            Some((set, offer)) if offer.free < needed => {
                Some(SetShortage::Short { set: set.clone(), needed, free: offer.free })
            }
            Some(_) => None,
        };
        if let Some(short) = short {
            return Err(GangReason::DeviceSets { together: term.together.clone(), short });
        }
        offers.retain(|_, offer| offer.free >= needed);
        Ok(offers)
    }

    /// What a slice has of each set.
    fn offers_of(&self, published: &Published, together: &Together) -> BTreeMap<DeviceSet, SetOffer> {
        let slice = &published.slice;
        let of_slice = match &slice.reach {
            Reach::PerDevice => BTreeSet::new(),
            reach => self.reached(reach),
        };
        let mut offers: BTreeMap<DeviceSet, SetOffer> = BTreeMap::new();
        for device in &slice.devices {
            let own =
                if slice.reach == Reach::PerDevice { self.reached(&device.reach) } else { BTreeSet::new() };
            for set in sets_of(&slice.pool, device, together) {
                let offer =
                    offers.entry(set).or_insert_with(|| SetOffer { nodes: of_slice.clone(), free: 0 });
                offer.nodes.extend(&own);
                offer.free = offer.free.saturating_add(self.supply(&slice.pool, device));
            }
        }
        offers
    }

    /// For how many claims a device will do at the most.
    fn supply(&self, pool: &PoolId, device: &Device) -> u64 {
        if device.shareable {
            return u64::MAX;
        }
        let id =
            DeviceId { driver: pool.driver.clone(), pool: pool.pool.clone(), device: device.name.clone() };
        u64::from(self.facts.claims.ledger().holdings(&id).is_none())
    }

    fn reached(&self, reach: &Reach) -> BTreeSet<NodeIdx> {
        if let Reach::Node(name) = reach {
            return self.facts.nodes.find(name).into_iter().collect();
        }
        let is_reached = |at: &NodeIdx| {
            let node = filters::node_of(self.facts.nodes.get(*at));
            reaches(reach, node).unwrap_or(false)
        };
        self.facts.nodes.iter().map(|(at, _)| at).filter(is_reached).collect()
    }

    /// Devices that claims of a term have already, of members on their nodes and of those that wait.
    fn held_for(&self, group: &Group, cast: &Cast, term: &DeviceTerm) -> BTreeSet<DeviceId> {
        let seated = self.facts.groups.seated(&group.id).filter_map(|uid| Some(self.facts.nodes.pod(uid)?.1));
        let waiting = cast.members().map(|member| &member.pod);
        let claims = seated.chain(waiting).flat_map(|pod| claims_of(pod, &term.claims));
        let claims: BTreeSet<ClaimId> = claims.collect();
        claims.iter().flat_map(|id| self.facts.claims.held(id)).map(|held| held.device).collect()
    }

    /// Whether a device is in a set, as far as is known: one that is published no more may be.
    fn may_be_in(&self, set: &DeviceSet, id: &DeviceId) -> bool {
        let pool = PoolId { driver: id.driver.clone(), pool: id.pool.clone() };
        match set {
            DeviceSet::Pool(own) => *own == pool,
            DeviceSet::Value { .. } => {
                self.facts.slices.device(id).is_none_or(|device| set.contains(&pool, device))
            }
        }
    }
}

fn first_choice(term: &DeviceTerm, set: DeviceSet, offer: SetOffer) -> Sets {
    Sets { name: set.to_string(), nodes: offer.nodes, chosen: vec![(term.clone(), set)] }
}

/// Choices with one more set each, as far as some node reaches all of them.
fn combined(
    before: Vec<Sets>,
    term: &DeviceTerm,
    offers: &BTreeMap<DeviceSet, SetOffer>,
) -> Result<Vec<Sets>, Miss> {
    let mut by_node: BTreeMap<NodeIdx, Vec<&DeviceSet>> = BTreeMap::new();
    for (set, offer) in offers {
        offer.nodes.iter().for_each(|at| by_node.entry(*at).or_default().push(set));
    }
    let mut choices = Vec::new();
    for choice in before {
        let sets: BTreeSet<&DeviceSet> =
            choice.nodes.iter().filter_map(|at| by_node.get(at)).flatten().copied().collect();
        for set in sets {
            let mut chosen = choice.chosen.clone();
            chosen.push((term.clone(), set.clone()));
            let nodes = choice.nodes.intersection(&offers[set].nodes).copied().collect();
            choices.push(Sets { name: format!("{}, {set}", choice.name), nodes, chosen });
        }
        if choices.len() > CHOICES_MAX {
            return Err(Miss::open(GangReason::TooManySets { choices_max: CHOICES_MAX }));
        }
    }
    Ok(choices)
}

impl Sets {
    /// The cast with claims that stay within the sets.
    pub fn restrict(&self, cast: &Cast) -> Cast {
        let mut cast = cast.clone();
        for member in cast.kinds.iter_mut().flatten().flat_map(|bundle| &mut bundle.members) {
            for (term, set) in &self.chosen {
                let names: BTreeSet<ClaimId> = claims_of(&member.pod, &term.claims).collect();
                let claims = member.claims.open.iter_mut().chain(&mut member.follows);
                for state in claims.filter(|state| names.contains(&state.wish.id)) {
                    *state = within(state, set);
                }
            }
        }
        cast
    }
}

/// The claim, if all of its devices have to be in a set.
fn within(state: &ClaimState, set: &DeviceSet) -> Arc<ClaimState> {
    let mut wish = Claim::clone(&state.wish);
    wish.spec.constraints.push(Constraint { requests: Vec::new(), rule: Rule::Within(set.clone()) });
    Arc::new(ClaimState { wish: Arc::new(wish), ..state.clone() })
}

/// The sets that a device is in.
fn sets_of(pool: &PoolId, device: &Device, together: &Together) -> Vec<DeviceSet> {
    match together {
        Together::Pool => vec![DeviceSet::Pool(pool.clone())],
        Together::Attribute(attribute) => {
            let values = device.attribute(&pool.driver, attribute).into_iter();
            let set = |value| DeviceSet::Value { attribute: attribute.clone(), value };
            values.flat_map(|value| value.scalars().map(set).collect::<Vec<_>>()).collect()
        }
    }
}

/// The claims of a pod that are meant.
fn claims_of<'p>(pod: &'p Pod, meant: &'p TermClaims) -> impl Iterator<Item = ClaimId> + 'p {
    let meant = pod.claims.iter().enumerate().filter_map(move |(at, claim)| match (meant, &claim.source) {
        (TermClaims::Named(meant), ClaimSource::Named(name)) if meant == name => Some(name),
        (TermClaims::Template(template), ClaimSource::Generated(name)) => {
            let made_from = pod.shape.claim_templates.get(at).and_then(Option::as_ref);
            (made_from == Some(template)).then_some(name)
        }
        _ => None,
    });
    meant.map(|name| ClaimId { namespace: pod.id.namespace.clone(), name: name.clone() })
}

/// The claims of a member that are meant, and that it brings the devices of.
fn open_of<'m>(member: &'m Member, term: &'m DeviceTerm) -> impl Iterator<Item = &'m Arc<ClaimState>> {
    let names: BTreeSet<ClaimId> = claims_of(&member.pod, &term.claims).collect();
    member.claims.open.iter().filter(move |state| names.contains(&state.wish.id))
}

/// How many devices so many members need at the least.
fn needed(cast: &Cast, term: &DeviceTerm, at_least: u32) -> u64 {
    let need = |member: &Member| open_of(member, term).map(|state| devices_at_least(state)).sum::<u64>();
    let mut needs: Vec<u64> = cast.members().map(need).collect();
    needs.sort_unstable();
    needs.iter().take(at_least as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certainty::Certainty;

    fn pools(count: usize, nodes: &BTreeSet<NodeIdx>) -> BTreeMap<DeviceSet, SetOffer> {
        let pool = |at: usize| PoolId { driver: "gpu.example.com".into(), pool: format!("{at}").into() };
        let offer = || SetOffer { nodes: nodes.clone(), free: 1 };
        (0..count).map(|at| (DeviceSet::Pool(pool(at)), offer())).collect()
    }

    #[test]
    fn more_choices_than_are_tried_prove_nothing() {
        let nodes = BTreeSet::from([NodeIdx(0)]);
        let term = DeviceTerm { claims: TermClaims::Named("claim".into()), together: Together::Pool };
        let choices = |count: usize| -> Vec<Sets> {
            pools(count, &nodes).into_iter().map(|(set, offer)| first_choice(&term, set, offer)).collect()
        };
        let few = combined(choices(100), &term, &pools(100, &nodes)).expect("all of them are tried");
        assert_eq!(few.len(), CHOICES_MAX);
        let miss = combined(choices(101), &term, &pools(100, &nodes)).expect_err("not all of them are tried");
        assert_eq!(miss.certainty, Certainty::LimitReached);
    }
}
