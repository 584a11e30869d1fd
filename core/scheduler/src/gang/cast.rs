//! The members of a gang by kind.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::claims::ClaimState;
use model::claim::{Amount, Ask, ClaimId, Wish};
use model::pod::{Pod, Resources};
use placement::{Amounts, Gang, Kind};

use crate::cycle::Claims;
use crate::engine::Engine;
use crate::profile::Profile;

/// A member, and what its claims need.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub pod: Arc<Pod>,
    pub claims: Claims,
}

/// The members of a gang that want a seat, by kind.
#[derive(Debug)]
pub(super) struct Cast {
    pub kinds: Vec<Vec<Member>>,
    /// Resources that members ask for besides processor, memory and local storage.
    pub others: Vec<Arc<str>>,
    /// Nothing but a node and its devices decides which members it takes, so that its answers hold whatever others take.
    pub is_local: bool,
}

impl Cast {
    pub fn new(engine: &Engine, members: Vec<Member>, profile: &Profile) -> Cast {
        let mut is_local = true;
        let mut claims: BTreeSet<ClaimId> = BTreeSet::new();
        let mut kinds: Vec<Vec<Member>> = Vec::new();
        for member in members {
            is_local &= engine.is_local(&member, profile);
            is_local &= member.claims.open.iter().all(|state| claims.insert(state.wish.id.clone()));
            match kinds.iter_mut().find(|kind| are_alike(&kind[0], &member)) {
                Some(kind) => kind.push(member),
                None => kinds.push(vec![member]),
            }
        }
        let requests = kinds.iter().flat_map(|kind| kind[0].pod.shape.requests.others.keys());
        let others: BTreeSet<Arc<str>> = requests.cloned().collect();
        Cast { kinds, others: others.into_iter().collect(), is_local }
    }

    /// The members as a search sees them.
    pub fn gang(&self, at_least: u32) -> Gang {
        let fixed = ["cpu", "memory", "ephemeral-storage", "pods", "devices"].map(Arc::from);
        let kind = |members: &Vec<Member>| Kind {
            name: members[0].pod.id.name.clone(),
            members: members.len() as u32,
            needs: self.needs(&members[0]),
        };
        Gang {
            axes: fixed.into_iter().chain(self.others.iter().cloned()).collect(),
            kinds: self.kinds.iter().map(kind).collect(),
            at_least,
        }
    }

    fn needs(&self, member: &Member) -> Amounts {
        let devices = member.claims.open.iter().map(|state| devices_at_least(state)).sum();
        self.amounts(&member.pod.shape.requests, 1, devices)
    }

    /// Amounts along the axes of the gang; what is negative counts as nothing.
    pub fn amounts(&self, resources: &Resources, pods: u64, devices: u64) -> Amounts {
        let positive = |amount: i64| u64::try_from(amount).unwrap_or(0);
        let first = [resources.cpu_milli, resources.memory, resources.ephemeral_storage].map(positive);
        let others = self.others.iter().map(|name| positive(resources.get(name)));
        Amounts(first.into_iter().chain([pods, devices]).chain(others).collect())
    }
}

impl Engine {
    /// Whether nothing but a node and its devices decides if the member can be there.
    fn is_local(&self, member: &Member, profile: &Profile) -> bool {
        let Member { pod, claims } = member;
        let shape = &pod.shape;
        let shares_devices = claims.need_devices() && self.slices.has_shared();
        claims.settled.is_empty()
            && claims.footing.is_none()
            && !shares_devices
            && !self.has_shunned(pod)
            && shape.spread.is_empty()
            && shape.near.is_empty()
            && shape.apart.is_empty()
            && shape.volume_claims.is_empty()
            && self.nodes.pods_with_rules() == 0
            && self.companions_of(shape, profile).is_none()
            && !self.preempting.nominations.have_rules()
    }
}

/// Whether two members can have each other's seats.
fn are_alike(one: &Member, other: &Member) -> bool {
    let is_unbound = |member: &Member| member.claims.settled.is_empty() && member.claims.footing.is_none();
    let same_wish = |(one, other): (&Arc<ClaimState>, &Arc<ClaimState>)| {
        let (one, other) = (&one.wish, &other.wish);
        one.requests == other.requests && one.constraints == other.constraints && one.configs == other.configs
    };
    let (claims, others) = (&one.claims.open, &other.claims.open);
    let same_shape = Arc::ptr_eq(&one.pod.shape, &other.pod.shape) || one.pod.shape == other.pod.shape;
    same_shape
        && one.pod.priority == other.pod.priority
        && is_unbound(one)
        && is_unbound(other)
        && claims.len() == others.len()
        && claims.iter().zip(others).all(same_wish)
}

/// How many devices a claim has for itself at the least.
fn devices_at_least(state: &ClaimState) -> u64 {
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
