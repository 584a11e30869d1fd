//! Rounds of negotiations about gangs: from the first question until all members have devices, or give back what they have. Those
//! about a single pod end when no node is left, or when it would come to a node for the second time.
//!
//! What drivers say holds for one pod and one moment, so that a gang or a pod may seem to have seats over and over where it has none. A
//! round that failed is followed by a rest, each longer than the one before and none like that of another, so that
//! two that are in each other's way do not meet for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::groups::Key;
use model::timestamp::Timestamp;

use crate::settings::Patience;
use crate::values::lot::mix;

/// The first rest is this part of the shortest backoff: the next seats may well be the right ones.
const FIRST_REST: i64 = 8;

/// The longest rest is so many times the longest backoff: what no pod can have is not asked for often.
const LAST_REST: i64 = 6;

/// The rounds of gangs and pods that wait.
#[derive(Debug, Default)]
pub struct Rounds(BTreeMap<Key, Round>);

#[derive(Debug, Default)]
struct Round {
    /// How many failed in a row.
    failed: u32,
    /// One is under way.
    is_open: bool,
    /// Nodes that were chosen for a single pod in it.
    tried: BTreeSet<Arc<str>>,
    /// The last of them.
    last: Option<Arc<str>>,
    rests_until: Option<Timestamp>,
}

impl Rounds {
    /// A round begins or goes on, or the time until which the gang rests.
    pub fn begin(&mut self, key: &Key, now: Timestamp) -> Result<(), Timestamp> {
        let round = self.0.entry(key.clone()).or_default();
        match round.rests_until.filter(|until| !round.is_open && now < *until) {
            Some(until) => Err(until),
            None => {
                round.is_open = true;
                Ok(())
            }
        }
    }

    /// Takes note that a node is chosen for a single pod.
    pub fn choose(&mut self, key: &Key, node: &Arc<str>) {
        if let Some(round) = self.0.get_mut(key) {
            round.tried.insert(node.clone());
            round.last = Some(node.clone());
        }
    }

    /// Nothing is chosen for a single pod any more, and the round goes on.
    pub fn leave(&mut self, key: &Key) {
        if let Some(round) = self.0.get_mut(key) {
            round.last = None;
        }
    }

    /// The nodes that were chosen for a single pod in the round that is under way.
    pub fn tried(&self, key: &Key) -> Option<&BTreeSet<Arc<str>>> {
        self.0.get(key).map(|round| &round.tried)
    }

    /// Whether a node was chosen for a single pod in the round that is under way, and then another.
    pub fn comes_back_to(&self, key: &Key, node: &Arc<str>) -> bool {
        self.0.get(key).is_some_and(|round| round.last.as_ref() != Some(node) && round.tried.contains(node))
    }

    /// A gang has no seats: the round that is under way has failed, if one is.
    pub fn fail(&mut self, key: &Key, now: Timestamp, patience: Patience) {
        let Some(round) = self.0.get_mut(key).filter(|round| round.is_open) else { return };
        round.is_open = false;
        round.tried.clear();
        round.last = None;
        round.failed = round.failed.saturating_add(1);
        round.rests_until = Some(now.plus_millis(rest(key, round.failed, patience)));
    }

    /// How many rounds failed in a row.
    pub fn failed(&self, key: &Key) -> u32 {
        self.0.get(key).map_or(0, |round| round.failed)
    }

    /// The gang is another than it was, or has its seats.
    pub fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }
}

/// How long a gang rests after so many rounds, in milliseconds. Each rest is half as long again as the one before.
fn rest(key: &Key, failed: u32, patience: Patience) -> i64 {
    let Patience { backoff_ms_min, backoff_ms_max, .. } = patience;
    let longest = backoff_ms_max.saturating_mul(LAST_REST);
    let mut rest = (backoff_ms_min / FIRST_REST).max(1);
    for _ in 1..failed {
        rest = rest.saturating_add(rest / 2 + 1);
        if rest >= longest {
            rest = longest;
            break;
        }
    }
    let lot = mix(&[&key.to_string(), &failed.to_string()]) % (rest.unsigned_abs() / 2 + 1);
    rest.saturating_add(i64::try_from(lot).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use model::group::GroupId;

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_micros(1_000_000_000).plus_millis(millis)
    }

    fn gang(name: &str) -> Key {
        Key::Gang(GroupId { namespace: "default".into(), name: name.into() })
    }

    #[test]
    fn rests_grow_up_to_a_bound_and_differ_from_gang_to_gang() {
        let patience = Patience::default();
        let rests: Vec<i64> = (1..40).map(|failed| rest(&gang("gang"), failed, patience)).collect();
        assert!(rests[0] < 200 && rests[6] < rests[12] && rests[12] < rests[18], "{rests:?}");
        assert!(rests.iter().all(|rest| *rest <= 90_000), "{rests:?}");
        let others: Vec<i64> = (1..40).map(|failed| rest(&gang("other"), failed, patience)).collect();
        assert_ne!(rests, others);
    }

    #[test]
    fn a_gang_rests_once_for_every_round_that_failed() {
        let (mut rounds, key, patience) = (Rounds::default(), gang("gang"), Patience::default());
        rounds.fail(&key, at(0), patience);
        assert_eq!(rounds.begin(&key, at(0)), Ok(()), "none was under way");
        assert_eq!(rounds.begin(&key, at(5)), Ok(()), "it goes on");
        rounds.fail(&key, at(10), patience);
        let until = rounds.begin(&key, at(11)).expect_err("it rests");
        rounds.fail(&key, at(12), patience);
        assert_eq!((rounds.begin(&key, at(13)), rounds.failed(&key)), (Err(until), 1));
        assert_eq!(rounds.begin(&key, until), Ok(()));
        rounds.forget(&key);
        assert_eq!(rounds.failed(&key), 0);
    }

    #[test]
    fn a_round_comes_to_each_node_once() {
        let (mut rounds, key, patience) = (Rounds::default(), Key::Pod("pod".into()), Patience::default());
        let (a, b) = (Arc::from("a"), Arc::from("b"));
        assert_eq!(rounds.begin(&key, at(0)), Ok(()));
        rounds.choose(&key, &a);
        assert!(!rounds.comes_back_to(&key, &a), "it stays there");
        rounds.leave(&key);
        assert!(rounds.comes_back_to(&key, &a), "it was given up");
        assert!(!rounds.comes_back_to(&key, &b));
        rounds.choose(&key, &b);
        assert!(rounds.comes_back_to(&key, &a));
        rounds.fail(&key, at(0), patience);
        assert!(!rounds.comes_back_to(&key, &a), "the next round is another");
    }
}
