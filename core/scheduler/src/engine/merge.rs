//! Writes about one claim that are asked for at once are one write: members of a gang that share a claim get it together, and
//! let it go together. Written one by one, each would make the others' version of the claim an old one.
//!
//! Invariant: a write that is carried out with another is settled with it. Who asked for it does not know the difference.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::claim::ClaimId;

use super::{Effect, Engine};
use crate::write::{Consumer, Write};

/// Writes that can be one: all of them about the same claim.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    /// They give it devices, or reserve it.
    Taking,
    /// They take reservations back that are of no use on a node.
    Letting(Option<Arc<str>>),
}

/// What a write can be one with: its kind, the claim and the claim's uid.
fn key_of(effect: &Effect) -> Option<(Kind, ClaimId, Arc<str>)> {
    let Effect::Submit(_, write) = effect else { return None };
    match write {
        Write::Allocate { claim, uid, .. } | Write::Reserve { claim, uid, .. } => {
            Some((Kind::Taking, claim.clone(), uid.clone()))
        }
        Write::Release { claim, uid, node, .. } => {
            Some((Kind::Letting(node.clone()), claim.clone(), uid.clone()))
        }
        _ => None,
    }
}

fn consumers_of(write: &mut Write) -> Option<&mut Vec<Consumer>> {
    match write {
        Write::Allocate { consumers, .. }
        | Write::Reserve { consumers, .. }
        | Write::Release { consumers, .. } => Some(consumers),
        _ => None,
    }
}

impl Engine {
    /// Makes one write of those that are asked for at once and can be one. It has the place of the first.
    pub(super) fn merge_writes(&mut self) {
        if self.effects.iter().filter_map(key_of).nth(1).is_none() {
            return;
        }
        let mut first: BTreeMap<(Kind, ClaimId, Arc<str>), usize> = BTreeMap::new();
        let mut kept: Vec<Effect> = Vec::with_capacity(self.effects.len());
        for effect in std::mem::take(&mut self.effects) {
            match key_of(&effect).map(|key| *first.entry(key).or_insert(kept.len())) {
                Some(at) if at < kept.len() => self.merge(&mut kept[at], effect),
                _ => kept.push(effect),
            }
        }
        self.effects = kept;
    }

    /// Has a write carried out with another.
    fn merge(&mut self, into: &mut Effect, mut other: Effect) {
        if matches!(other, Effect::Submit(_, Write::Allocate { .. })) {
            // Who brings the devices reserves them for the others.
            std::mem::swap(into, &mut other);
        }
        let (Effect::Submit(id, write), Effect::Submit(merged, mut other)) = (into, other) else { return };
        let others = consumers_of(&mut other).map(std::mem::take).unwrap_or_default();
        if let Some(consumers) = consumers_of(write) {
            // A group that uses the claim in its members' stead is one user.
            for consumer in others {
                if consumers.iter().all(|known| known.user() != consumer.user()) {
                    consumers.push(consumer);
                }
            }
        }
        let with = self.merged.remove(&merged).unwrap_or_default();
        self.merged.entry(*id).or_default().extend([merged].into_iter().chain(with));
    }
}
