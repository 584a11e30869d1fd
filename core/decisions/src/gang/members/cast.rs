//! The members of a gang by kind.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::claims::ClaimState;
use model::claim::ClaimId;
use model::identity::NodeName;
use model::pod::{Resources, Shape};
use placement::{Amounts, Axis, Gang, Kind, Unit};
use rustc_hash::FxHashSet;

use crate::cycle::Cycle;
use crate::gang::members::axes::DeviceAxes;
use crate::gang::members::kinds::{bundles, keys_of, kinds};
use crate::gang::members::member::{Bundle, Member, devices_at_least};
use crate::profile::Profile;

/// The members of a gang that want a seat, by kind.
#[derive(Clone, Debug)]
pub(crate) struct Cast {
    pub kinds: Vec<Vec<Bundle>>,
    /// Resources that members ask for besides processor, memory and local storage.
    pub others: Vec<Arc<str>>,
    /// What devices are counted by, once that is known.
    pub axes: DeviceAxes,
    /// Nothing but a node and its devices decides which members it takes, so that its answers hold whatever others take.
    pub is_local: bool,
    /// The labels that some rule looks at, if not all of them count.
    heeded: Option<BTreeSet<Arc<str>>>,
    /// Each member is by itself, wherever the members are that it shares claims with.
    pub is_apart: bool,
}

impl Cast {
    pub fn new(cycle: &Cycle<'_>, members: Vec<Member>, profile: &Profile) -> Cast {
        let is_local = members.iter().all(|member| cycle.is_local(member, profile));
        let heeded = if is_local { Some(BTreeSet::new()) } else { cycle.heeded_labels(&members, profile) };
        let kinds = kinds(bundles(members), heeded.as_ref());
        let members = kinds.iter().flat_map(|kind| &kind[0].members);
        let others: BTreeSet<Arc<str>> =
            members.flat_map(|member| member.pod.shape.requests.others.keys()).cloned().collect();
        let others = others.into_iter().collect();
        Cast { kinds, others, axes: DeviceAxes::default(), is_local, heeded, is_apart: false }
    }

    /// The same cast with each member by itself, wherever the members are that it shares claims with. Such claims are among those
    /// that follow for all of them: the member that is seated first brings the devices.
    pub fn each_apart(&self, cycle: &mut Cycle<'_>) -> Cast {
        let followed: BTreeSet<ClaimId> =
            self.members().flat_map(|member| &member.follows).map(|state| state.wish.id.clone()).collect();
        let alone = |member: &Member| {
            let mut member = member.clone();
            let is_shared = |state: &Arc<ClaimState>| followed.contains(&state.wish.id);
            let (shared, own) = member.claims.open.drain(..).partition(is_shared);
            member.claims.open = own;
            member.follows.extend::<Vec<_>>(shared);
            member.follows.sort_by(|one, other| one.wish.id.cmp(&other.wish.id));
            Bundle { members: vec![member] }
        };
        let kinds = kinds(self.members().map(alone).collect(), self.heeded.as_ref());
        let mut cast = Cast { kinds, is_apart: true, ..self.clone() };
        cast.axes = cycle.device_axes(cast.examples().map(|member| &member.claims));
        if cast.examples().any(|member| cycle.may_share_with_others(member)) {
            // Which nodes could use a counter that is in no slice of one node's own is not told.
            cast.axes = cast.axes.without_counters();
        }
        cast
    }

    /// The same cast with claims that drivers' controllers are to give devices for one node only, for members that have one.
    pub fn staying(&self, node_of: impl Fn(&Member) -> Option<NodeName>) -> Cast {
        let mut cast = self.clone();
        for member in cast.kinds.iter_mut().flatten().flat_map(|bundle| &mut bundle.members) {
            if let Some(node) = node_of(member) {
                member.claims.pending.iter_mut().for_each(|pending| pending.stay_on(&node));
            }
        }
        cast
    }

    /// The same cast with members in another order, or with fewer of them.
    pub fn with_kinds(&self, kinds: Vec<Vec<Bundle>>) -> Cast {
        Cast {
            kinds,
            others: self.others.clone(),
            axes: self.axes.clone(),
            heeded: self.heeded.clone(),
            is_local: self.is_local,
            is_apart: self.is_apart,
        }
    }

    /// The same cast with those members of it alone of which this is so. Each is to be by itself.
    pub fn only(&self, is_in: impl Fn(&Member) -> bool) -> Cast {
        let mut kinds = self.kinds.clone();
        kinds.iter_mut().for_each(|kind| kind.retain(|bundle| bundle.members.iter().all(&is_in)));
        kinds.retain(|kind| !kind.is_empty());
        self.with_kinds(kinds)
    }

    /// The cast, with its devices counted by class and by counter.
    pub fn counted(mut self, cycle: &mut Cycle<'_>) -> Cast {
        if self.is_local {
            self.axes = cycle.device_axes(self.examples().map(|member| &member.claims));
        }
        self
    }

    /// A member of each kind, of which others of the kind differ in nothing that matters.
    pub fn examples(&self) -> impl Iterator<Item = &Member> {
        self.kinds.iter().flat_map(|kind| &kind[0].members)
    }

    /// All members.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.kinds.iter().flatten().flat_map(|bundle| &bundle.members)
    }

    /// Whether members share claims that need devices.
    pub fn shares_claims(&self) -> bool {
        self.kinds.iter().any(|kind| kind[0].members.len() > 1)
    }

    /// The members as a search sees them. Members that share claims are one to it; all of these are seated if there are any,
    /// as it does not count how many they are.
    pub fn gang(&self, at_least: u32) -> Gang {
        let axis = |name: &str, unit: Unit| Axis { name: name.into(), unit };
        let fixed = [
            axis("cpu", Unit::MilliCores),
            axis("memory", Unit::Bytes),
            axis("ephemeral-storage", Unit::Bytes),
            axis("pods", Unit::Count),
            axis("devices", Unit::Count),
        ];
        // Huge pages are bytes, and most others are counted.
        let others = self.others.iter().map(|name| axis(name, Unit::Quantity));
        let kind = |bundles: &Vec<Bundle>| Kind {
            name: bundles[0].members[0].pod.id.name.clone(),
            members: bundles.len() as u32,
            needs: self.needs(&bundles[0]),
        };
        let is_shared = self.shares_claims();
        let bundles = self.kinds.iter().map(|kind| kind.len() as u32).sum();
        Gang {
            axes: fixed.into_iter().chain(others).chain(self.axes.axes()).collect(),
            kinds: self.kinds.iter().map(kind).collect(),
            at_least: if is_shared { bundles } else { at_least },
        }
    }

    fn needs(&self, bundle: &Bundle) -> Amounts {
        let mut sum = Resources::default();
        let mut devices = 0;
        let mut by_axis = vec![0_u64; self.axes.len()];
        for member in &bundle.members {
            sum.add(&member.pod.shape.requests, 1);
            let needs = self.axes.needs(&member.claims);
            by_axis.iter_mut().zip(needs).for_each(|(sum, need)| *sum = sum.saturating_add(need));
            if !self.is_apart || !self.axes.is_empty() {
                devices += member.claims.open.iter().map(|state| devices_at_least(state)).sum::<u64>();
            }
        }
        self.amounts(&sum, bundle.members.len() as u64, devices, &by_axis)
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

impl Cycle<'_> {
    /// The labels of members that some rule looks at; nothing if that cannot be told.
    fn heeded_labels(&self, members: &[Member], profile: &Profile) -> Option<BTreeSet<Arc<str>>> {
        let has_companions = |member: &Member| self.companions_of(&member.pod.shape, profile).is_some();
        if self.plans.nominations.have_rules() || members.iter().any(has_companions) {
            return None;
        }
        let mut heeded: BTreeSet<Arc<str>> = BTreeSet::new();
        let mut looked_at: FxHashSet<*const Shape> = FxHashSet::default();
        let with_rules = self.facts.nodes.iter().filter(|(_, state)| state.pods_with_rules > 0);
        let others = with_rules.flat_map(|(_, state)| state.pods.values()).flat_map(|pod| &pod.shape.apart);
        heeded.extend(others.flat_map(|term| keys_of(&term.selector)).cloned());
        for member in members {
            let shape = &member.pod.shape;
            if looked_at.insert(Arc::as_ptr(shape)) {
                let terms = shape.near.iter().chain(&shape.apart).map(|term| &term.selector);
                let selectors = terms.chain(shape.spread.iter().map(|rule| &rule.selector));
                heeded.extend(selectors.flat_map(keys_of).cloned());
            }
        }
        Some(heeded)
    }

    /// Whether a member could get devices that several nodes reach, by its own claims or by those that follow others.
    pub(crate) fn may_share_with_others(&self, member: &Member) -> bool {
        let Member { claims, follows, .. } = member;
        self.may_share_devices(claims) || follows.iter().any(|state| self.may_share(&state.wish))
    }

    /// Whether nothing but a node and its devices decides if the member can be there.
    fn is_local(&self, member: &Member, profile: &Profile) -> bool {
        let Member { pod, claims, .. } = member;
        let shape = &pod.shape;
        claims.settled.is_empty()
            && claims.pending.is_empty()
            && claims.footing.is_none()
            && !self.may_share_devices(claims)
            && shape.spread.is_empty()
            && shape.near.is_empty()
            && shape.apart.is_empty()
            && !shape.has_volumes()
            && self.facts.nodes.pods_with_rules() == 0
            && self.companions_of(shape, profile).is_none()
            && !self.plans.nominations.have_rules()
    }
}
