//! What claims could get: devices that several nodes reach, or devices that take of what their node has.
//!
//! Both make it harder to find a place, as what is decided for one node matters to others, or to other resources. So it is asked
//! for each claim, and not of the cluster: a pool of another driver changes nothing for a claim that can have none of its devices.
//!
//! Invariant: a claim that is said to be able to get no such device gets none. What was not found out counts as if it could.

use std::collections::BTreeSet;
use std::sync::Arc;

use allocation::Expressions;
use cluster::facts::Facts;
use cluster::published::Published;
use cluster::users::asks;
use model::claim::{Amount, Ask, Claim, Class};
use model::device::PoolId;
use model::pod::Pod;

use crate::caches::Caches;
use crate::caches::scopes::{Scope, Selector};
use crate::cycle::Cycle;
use crate::values::pod_claims::PodClaims;

impl Cycle<'_> {
    /// Finds out what the claims of a pod could get, so that it is known while a place for it is looked for.
    pub fn learn_scopes(&mut self, pod: &Pod) {
        if !self.facts.slices.has_shared() && !self.facts.slices.has_parts() {
            return;
        }
        let wishes: Vec<Arc<Claim>> =
            pod.claim_ids().filter_map(|id| Some(self.facts.claims.get(&id)?.wish.clone())).collect();
        let named: Vec<Arc<str>> = self.facts.resources.classes_of(&pod.shape).cloned().collect();
        let asked = wishes.iter().flat_map(|wish| asks(wish)).map(|ask| (&ask.class, &ask.selectors[..]));
        for (class, selectors) in asked.chain(named.iter().map(|class| (class, &[][..]))) {
            if self.caches.scopes.get(class, selectors).is_none() {
                let scope = self.find_scope(class, selectors);
                self.caches.scopes.insert(class, selectors, scope);
            }
        }
    }

    /// Whether claims could get devices that several nodes reach.
    pub(crate) fn may_share_devices(&self, claims: &PodClaims) -> bool {
        if !claims.need_devices() || !self.facts.slices.has_shared() {
            return false;
        }
        let of_named = |class: &Arc<str>| self.scope(class, &[]).shared;
        let named = claims.named.as_ref();
        claims.open.iter().any(|state| self.may_share(&state.wish))
            || named.is_some_and(|shape| self.facts.resources.classes_of(shape).any(of_named))
    }

    /// Whether a claim could get devices that several nodes reach.
    pub(crate) fn may_share(&self, wish: &Claim) -> bool {
        // A request for all devices waits for pools that are not whole yet, of any driver.
        let wants_all = |ask: &Ask| matches!(ask.amount, Amount::All | Amount::Unknown(_));
        self.facts.slices.has_shared()
            && asks(wish).any(|ask| wants_all(ask) || self.scope(&ask.class, &ask.selectors).shared)
    }

    /// Whether a claim could get devices that take of what their node has, or has some.
    pub(crate) fn may_take_of_node(&self, pod: &Pod) -> bool {
        if !self.facts.slices.has_parts() {
            return false;
        }
        pod.claim_ids().any(|id| {
            let Some(state) = self.assumed.get(&id).or_else(|| self.facts.claims.get(&id)) else {
                return true;
            };
            let mut held = state.allocation.iter().flat_map(|allocated| &allocated.held);
            let takes = |known: Option<&model::device::Device>| {
                known.is_some_and(|device| !device.node_resources.is_empty())
            };
            held.any(|held| takes(self.facts.slices.device(&held.device)))
                || asks(&state.wish).any(|ask| self.scope(&ask.class, &ask.selectors).takes_of_node)
        })
    }

    fn scope(&self, class: &Arc<str>, selectors: &[Selector]) -> Scope {
        let unknown =
            Scope { shared: self.facts.slices.has_shared(), takes_of_node: self.facts.slices.has_parts() };
        self.caches.scopes.get(class, selectors).unwrap_or(unknown)
    }

    fn find_scope(&mut self, class: &Arc<str>, selectors: &[Selector]) -> Scope {
        let (Facts { slices, classes, .. }, Caches { expressions, .. }) = (&*self.facts, &mut *self.caches);
        // A request for a class that does not exist gets nothing.
        let Some(class) = classes.get(class) else { return Scope::default() };
        let pools: BTreeSet<&PoolId> = slices.shared().map(|published| &published.slice.pool).collect();
        let shared = pools.into_iter().flat_map(|pool| slices.of_pool(pool)).any(|published| {
            rows(class, selectors, published, expressions).is_none_or(|rows| !rows.is_empty())
        });
        let takes_of_node = slices.with_parts().any(|published| {
            let takes = |row: &usize| !published.slice.devices[*row].node_resources.is_empty();
            rows(class, selectors, published, expressions).is_none_or(|rows| rows.iter().any(takes))
        });
        Scope { shared, takes_of_node }
    }
}

/// The devices of a slice that a class and selectors pick, unless that cannot be judged.
fn rows(
    class: &Class,
    selectors: &[Selector],
    published: &Published,
    expressions: &mut Expressions,
) -> Option<Vec<usize>> {
    let mut rows: Vec<usize> = (0..published.slice.devices.len()).collect();
    for selector in class.selectors.iter().chain(selectors) {
        if rows.iter().any(|row| published.unreadable.iter().any(|(unreadable, _)| unreadable == row)) {
            return None;
        }
        let matches = expressions.matches(selector.as_ref()?, published).ok()?;
        if matches.failures.iter().any(|(row, _)| rows.contains(row)) {
            return None;
        }
        rows.retain(|row| matches.matching.contains(*row));
    }
    Some(rows)
}
