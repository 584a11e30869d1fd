//! What a consideration learned of nodes, for those that come after it.
//!
//! A consideration begins on a copy of what is known at a moment. What it found out of nodes holds until something changes for them, as
//! it does for what is kept here, so it is kept here from then on. Nodes that changed since that moment are looked at again.
//!
//! Invariant: what is taken over are answers that looking at the nodes anew would give.

use std::sync::Arc;

use cluster::touches::Touches;

use crate::caches::Caches;
use crate::caches::kinds::{KINDS_MAX, PodKind, need_the_same};

/// What was learned of nodes, and when they were so.
#[derive(Debug, Default)]
pub struct Learned {
    kinds: Vec<PodKind>,
    moment: u64,
}

impl Caches {
    /// What was learned of nodes, which were as they were at this moment.
    pub(crate) fn into_learned(self, moment: u64) -> Learned {
        Learned { kinds: self.kinds, moment }
    }

    /// Takes over what was learned of nodes, for each kind of pods of which there is more to be looked at here.
    pub fn adopt(&mut self, learned: Learned, touches: &Touches) {
        let Learned { kinds, moment } = learned;
        for mut kind in kinds {
            kind.seen = kind.seen.map(|seen| seen.min(moment));
            let Some(unknown) = unknown(&kind, touches) else { continue };
            let known = self.kinds.iter_mut().find(|known| is_the_same(known, &kind));
            match known {
                Some(known) if self::unknown(known, touches).is_none_or(|here| here > unknown) => {
                    *known = kind
                }
                Some(_) => {}
                None => {
                    if self.kinds.len() >= KINDS_MAX {
                        self.kinds.remove(0);
                    }
                    self.kinds.push(kind);
                }
            }
        }
    }
}

/// How many nodes have to be looked at again for a kind of pods; nothing if that is all of them.
fn unknown(kind: &PodKind, touches: &Touches) -> Option<usize> {
    Some(touches.since(kind.seen?)?.len() + kind.unseen.len())
}

fn is_the_same(one: &PodKind, other: &PodKind) -> bool {
    let mut wishes = one.wishes.iter().zip(&other.wishes);
    Arc::ptr_eq(&one.profile, &other.profile)
        && one.priority == other.priority
        && one.wishes.len() == other.wishes.len()
        && wishes.all(|(one, other)| one.spec == other.spec)
        && need_the_same(&one.shape, &other.shape)
}
