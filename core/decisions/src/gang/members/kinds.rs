//! Members by kind: those of a kind can have each other's seats.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::claims::ClaimState;
use model::claim::ClaimId;
use model::pod::{LabelSelector, Shape};
use rustc_hash::FxHashMap;

use crate::gang::members::member::{Bundle, Member};

/// The keys that a selector looks at.
pub(crate) fn keys_of(selector: &LabelSelector) -> impl Iterator<Item = &Arc<str>> {
    let requirements = match selector {
        LabelSelector::Nothing => &[][..],
        LabelSelector::All(requirements) => requirements,
    };
    requirements.iter().map(|requirement| &requirement.key)
}

/// Units by kind. Labels count as far as they are heeded.
pub(crate) fn kinds(bundles: Vec<Bundle>, heeded: Option<&BTreeSet<Arc<str>>>) -> Vec<Vec<Bundle>> {
    let mut kinds: Vec<Vec<Bundle>> = Vec::new();
    let mut bare: FxHashMap<*const Shape, Arc<Shape>> = FxHashMap::default();
    let mut looks: Vec<Arc<Shape>> = Vec::new();
    for bundle in bundles {
        let shape = &bundle.members[0].pod.shape;
        // If no rule looks at them, numbers of replicas and indexes of jobs make no member different.
        let without_labels = |heeded: &BTreeSet<Arc<str>>| {
            let labels = shape.labels.iter().filter(|(key, _)| heeded.contains(*key));
            let labels = labels.map(|(key, value)| (key.clone(), value.clone())).collect();
            Arc::new(Shape { labels, ..Shape::clone(shape) })
        };
        let look = match heeded {
            Some(heeded) => bare.entry(Arc::as_ptr(shape)).or_insert_with(|| without_labels(heeded)).clone(),
            None => shape.clone(),
        };
        let same = |(kind, known): (&Vec<Bundle>, &Arc<Shape>)| {
            (Arc::ptr_eq(known, &look) || *known == look) && are_alike(&kind[0], &bundle)
        };
        match kinds.iter().zip(&looks).position(same) {
            Some(kind) => kinds[kind].push(bundle),
            None => {
                kinds.push(vec![bundle]);
                looks.push(look);
            }
        }
    }
    kinds
}

/// Members in bundles: one that shares a claim that needs devices with another is with it. In each bundle the first that names a claim
/// brings its devices.
pub(crate) fn bundles(members: Vec<Member>) -> Vec<Bundle> {
    let mut bundle_of: BTreeMap<ClaimId, usize> = BTreeMap::new();
    let mut bundles: Vec<Option<Bundle>> = Vec::new();
    for mut member in members {
        let open = || member.claims.open.iter().map(|state| state.wish.id.clone());
        let shared: BTreeSet<usize> = open().filter_map(|id| bundle_of.get(&id).copied()).collect();
        let own: Vec<ClaimId> = open().collect();
        let is_known = |state: &Arc<ClaimState>| bundle_of.contains_key(&state.wish.id);
        (member.follows, member.claims.open) = member.claims.open.drain(..).partition(is_known);
        let mut joined: Vec<Member> = Vec::new();
        for at in &shared {
            joined.extend(bundles[*at].take().into_iter().flat_map(|bundle| bundle.members));
        }
        joined.push(member);
        let at = bundles.len();
        bundle_of.values_mut().filter(|bundle| shared.contains(bundle)).for_each(|bundle| *bundle = at);
        bundle_of.extend(own.into_iter().map(|id| (id, at)));
        bundles.push(Some(Bundle { members: joined }));
    }
    bundles.into_iter().flatten().collect()
}

/// Whether two bundles of one shape can have each other's seats. Those that share claims are like no other.
fn are_alike(one: &Bundle, other: &Bundle) -> bool {
    let ([one], [other]) = (&*one.members, &*other.members) else { return false };
    let ids = |claims: &[Arc<ClaimState>]| -> Vec<ClaimId> {
        claims.iter().map(|state| state.wish.id.clone()).collect()
    };
    let same_wish = |(one, other): (&Arc<ClaimState>, &Arc<ClaimState>)| {
        let (one, other) = (&one.wish, &other.wish);
        one.spec == other.spec
    };
    let (claims, others) = (&one.claims.open, &other.claims.open);
    one.pod.priority == other.pod.priority
        && one.within == other.within
        && one.claims.pending.is_empty()
        && other.claims.pending.is_empty()
        && ids(&one.claims.settled) == ids(&other.claims.settled)
        && ids(&one.follows) == ids(&other.follows)
        && claims.len() == others.len()
        && claims.iter().zip(others).all(same_wish)
}
