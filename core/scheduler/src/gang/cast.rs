//! The members of a gang by kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::claims::ClaimState;
use model::claim::{Amount, Ask, ClaimId, Wish};
use model::pod::{Pod, Resources, Shape};
use placement::{Amounts, Gang, Kind};
use rustc_hash::FxHashMap;

use super::axes::DeviceAxes;
use crate::cycle::Claims;
use crate::engine::Engine;
use crate::profile::Profile;

/// A member, and what its claims need.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub pod: Arc<Pod>,
    pub claims: Claims,
    /// Claims that need devices and get them with another member.
    pub follows: Vec<Arc<ClaimState>>,
}

/// Members that share claims which need devices, and so have to be where these are; most are alone.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub members: Vec<Member>,
}

/// The members of a gang that want a seat, by kind.
#[derive(Clone, Debug)]
pub(super) struct Cast {
    pub kinds: Vec<Vec<Unit>>,
    /// Resources that members ask for besides processor, memory and local storage.
    pub others: Vec<Arc<str>>,
    /// What devices are counted by, once that is known.
    pub axes: DeviceAxes,
    /// Nothing but a node and its devices decides which members it takes, so that its answers hold whatever others take.
    pub is_local: bool,
}

impl Cast {
    pub fn new(engine: &Engine, members: Vec<Member>, profile: &Profile) -> Cast {
        let is_local = members.iter().all(|member| engine.is_local(member, profile));
        let mut kinds: Vec<Vec<Unit>> = Vec::new();
        let mut bare: FxHashMap<*const Shape, Arc<Shape>> = FxHashMap::default();
        let mut looks: Vec<Arc<Shape>> = Vec::new();
        for unit in units(members) {
            let shape = &unit.members[0].pod.shape;
            // If no rule looks at labels, numbers of replicas and indexes of jobs make nobody different.
            let without_labels = || Arc::new(Shape { labels: BTreeMap::new(), ..Shape::clone(shape) });
            let look = match is_local {
                true => bare.entry(Arc::as_ptr(shape)).or_insert_with(without_labels).clone(),
                false => shape.clone(),
            };
            let same = |(kind, known): (&Vec<Unit>, &Arc<Shape>)| {
                (Arc::ptr_eq(known, &look) || *known == look) && are_alike(&kind[0], &unit)
            };
            match kinds.iter().zip(&looks).position(same) {
                Some(kind) => kinds[kind].push(unit),
                None => {
                    kinds.push(vec![unit]);
                    looks.push(look);
                }
            }
        }
        let members = kinds.iter().flat_map(|kind| &kind[0].members);
        let others: BTreeSet<Arc<str>> =
            members.flat_map(|member| member.pod.shape.requests.others.keys()).cloned().collect();
        Cast { kinds, others: others.into_iter().collect(), axes: DeviceAxes::default(), is_local }
    }

    /// The cast, with its devices counted by class and by counter.
    pub fn counted(mut self, engine: &mut Engine) -> Cast {
        if self.is_local {
            self.axes = engine.device_axes(&self);
        }
        self
    }

    /// A member of each kind, of which others of the kind differ in nothing that matters.
    pub fn examples(&self) -> impl Iterator<Item = &Member> {
        self.kinds.iter().flat_map(|kind| &kind[0].members)
    }

    /// All members.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.kinds.iter().flatten().flat_map(|unit| &unit.members)
    }

    /// Whether members share claims that need devices.
    pub fn shares_claims(&self) -> bool {
        self.kinds.iter().any(|kind| kind[0].members.len() > 1)
    }

    /// The members as a search sees them. Members that share claims are one to it; all of these are seated if there are any,
    /// as it does not count how many they are.
    pub fn gang(&self, at_least: u32) -> Gang {
        let fixed = ["cpu", "memory", "ephemeral-storage", "pods", "devices"].map(Arc::from);
        let kind = |units: &Vec<Unit>| Kind {
            name: units[0].members[0].pod.id.name.clone(),
            members: units.len() as u32,
            needs: self.needs(&units[0]),
        };
        let is_shared = self.shares_claims();
        let units = self.kinds.iter().map(|kind| kind.len() as u32).sum();
        Gang {
            axes: fixed.into_iter().chain(self.others.iter().cloned()).chain(self.axes.names()).collect(),
            kinds: self.kinds.iter().map(kind).collect(),
            at_least: if is_shared { units } else { at_least },
        }
    }

    fn needs(&self, unit: &Unit) -> Amounts {
        let mut sum = Resources::default();
        let mut devices = 0;
        let mut by_axis = vec![0_u64; self.axes.len()];
        for member in &unit.members {
            sum.add(&member.pod.shape.requests, 1);
            let needs = self.axes.needs(member);
            by_axis.iter_mut().zip(needs).for_each(|(sum, need)| *sum = sum.saturating_add(need));
            devices += member.claims.open.iter().map(|state| devices_at_least(state)).sum::<u64>();
        }
        self.amounts(&sum, unit.members.len() as u64, devices, &by_axis)
    }

    /// Amounts along the axes of the gang; what is negative counts as nothing.
    pub fn amounts(&self, resources: &Resources, pods: u64, devices: u64, by_axis: &[u64]) -> Amounts {
        let positive = |amount: i64| u64::try_from(amount).unwrap_or(0);
        let first = [resources.cpu_milli, resources.memory, resources.ephemeral_storage].map(positive);
        let others = self.others.iter().map(|name| positive(resources.get(name)));
        let by_axis = by_axis.iter().copied();
        Amounts(first.into_iter().chain([pods, devices]).chain(others).chain(by_axis).collect())
    }
}

impl Engine {
    /// Whether nothing but a node and its devices decides if the member can be there.
    fn is_local(&self, member: &Member, profile: &Profile) -> bool {
        let Member { pod, claims, .. } = member;
        let shape = &pod.shape;
        let shares_devices = claims.need_devices() && self.slices.has_shared();
        claims.settled.is_empty()
            && claims.pending.is_empty()
            && claims.footing.is_none()
            && !shares_devices
            && shape.spread.is_empty()
            && shape.near.is_empty()
            && shape.apart.is_empty()
            && shape.volume_claims.is_empty()
            && self.nodes.pods_with_rules() == 0
            && self.companions_of(shape, profile).is_none()
            && !self.preempting.nominations.have_rules()
    }
}

/// Members in units: who shares a claim that needs devices with another is with it. In each unit the first that names a claim
/// brings its devices.
fn units(members: Vec<Member>) -> Vec<Unit> {
    let mut unit_of: BTreeMap<ClaimId, usize> = BTreeMap::new();
    let mut units: Vec<Option<Unit>> = Vec::new();
    for mut member in members {
        let open = || member.claims.open.iter().map(|state| state.wish.id.clone());
        let shared: BTreeSet<usize> = open().filter_map(|id| unit_of.get(&id).copied()).collect();
        let own: Vec<ClaimId> = open().collect();
        let is_known = |state: &Arc<ClaimState>| unit_of.contains_key(&state.wish.id);
        (member.follows, member.claims.open) = member.claims.open.drain(..).partition(is_known);
        let mut joined: Vec<Member> = Vec::new();
        for at in &shared {
            joined.extend(units[*at].take().into_iter().flat_map(|unit| unit.members));
        }
        joined.push(member);
        let at = units.len();
        unit_of.values_mut().filter(|unit| shared.contains(unit)).for_each(|unit| *unit = at);
        unit_of.extend(own.into_iter().map(|id| (id, at)));
        units.push(Some(Unit { members: joined }));
    }
    units.into_iter().flatten().collect()
}

/// Whether two units of one shape can have each other's seats. Those that share claims are like no other.
fn are_alike(one: &Unit, other: &Unit) -> bool {
    let ([one], [other]) = (&*one.members, &*other.members) else { return false };
    let is_unbound = |member: &Member| member.claims.settled.is_empty() && member.claims.footing.is_none();
    let same_wish = |(one, other): (&Arc<ClaimState>, &Arc<ClaimState>)| {
        let (one, other) = (&one.wish, &other.wish);
        one.requests == other.requests && one.constraints == other.constraints && one.configs == other.configs
    };
    let (claims, others) = (&one.claims.open, &other.claims.open);
    one.pod.priority == other.pod.priority
        && is_unbound(one)
        && is_unbound(other)
        && claims.len() == others.len()
        && claims.iter().zip(others).all(same_wish)
}

/// How many devices a claim has for itself at the least.
pub(super) fn devices_at_least(state: &ClaimState) -> u64 {
    let of_ask = |ask: &Ask| match ask.amount {
        _ if ask.is_admin() => 0,
        Amount::Exactly(count) => u64::try_from(count).unwrap_or(0),
        Amount::All => 1,
        Amount::Unknown(_) => 0,
    };
    let of_wish = |wish: &Wish| match wish {
        Wish::Exactly(ask) => of_ask(ask),
        Wish::FirstAvailable(asks) => asks.iter().map(|(_, ask)| of_ask(ask)).min().unwrap_or(0),
    };
    state.wish.requests.iter().map(|request| of_wish(&request.wish)).sum()
}
