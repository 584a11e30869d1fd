//! Rounds of negotiations about gangs: from the first question until all members have devices, or give back what they have. Those
//! about a single pod end when no node is left, or when it would come to a node for the second time.
//!
//! What drivers say holds for one pod and one moment, so that a gang or a pod may seem to have seats over and over where it has none. A
//! round that failed is followed by a rest, each longer than the one before and none like that of another, so that
//! two that are in each other's way do not meet for ever.
//!
//! A driver may say nothing for ever. A gang that has enough members besides those that wait for it ends the round after a while, and the
//! next one is about these others. Each time it waits twice as long, so that a driver that is merely slow is in time one day.
//!
//! | | Begin | Choose | Leave | Await | Fail |
//! |---|---|---|---|---|---|
//! | Open | Open | Open | Open | Open | Resting |
//! | Resting | Open | Resting | Resting | Resting | Resting |
//!
//! A round that rests begins again when its time is over, and not before. What happens meanwhile is late: a pod is refused again while it
//! rests, or one on a node is told where it is. It neither ends the rest nor makes it longer.

use std::collections::{BTreeMap, BTreeSet};

use cluster::groups::Key;
use model::identity::{NodeName, PodUid};
use model::timestamp::Timestamp;

use crate::settings::Patience;
use crate::values::driver_wait::Wait;
use crate::values::lot::mix;

/// The first rest is this part of the shortest backoff: the next seats may well be the right ones.
const FIRST_REST: i64 = 8;

/// The longest rest is so many times the longest backoff: what no pod can have is not asked for often.
const LAST_REST: i64 = 6;

/// How long drivers may say nothing about members that a gang can do without before the first round ends, in milliseconds.
const FIRST_SILENCE_MS: i64 = 30_000;

/// What drivers are awaited for, member by member.
pub type Awaited = Vec<(PodUid, Wait)>;

/// The rounds of gangs and pods that wait.
#[derive(Clone, Debug, Default)]
pub struct Rounds(BTreeMap<Key, Round>);

#[derive(Clone, Debug)]
struct Round {
    /// How many failed in a row.
    failed: u32,
    /// How many of them because drivers said nothing.
    unanswered: u32,
    /// The members that waited for drivers when the last one failed because these said nothing.
    left_out: BTreeSet<PodUid>,
    stage: RoundStage,
}

#[derive(Clone, Debug)]
enum RoundStage {
    /// It is under way.
    Open {
        /// Nodes that were chosen for a single pod.
        tried: BTreeSet<NodeName>,
        /// The last of them, while it is chosen.
        last: Option<NodeName>,
        /// What drivers are awaited for about a gang, and since when nothing of that has changed.
        silence: Option<(Awaited, Timestamp)>,
    },
    /// It has failed, and the next begins at this time.
    Resting(Timestamp),
}

#[derive(Clone, Debug)]
enum Event {
    Begin,
    Choose(NodeName),
    Leave,
    Await(Awaited, Timestamp),
    Fail { rests_until: Timestamp },
}

impl RoundStage {
    fn begun() -> RoundStage {
        RoundStage::Open { tried: BTreeSet::new(), last: None, silence: None }
    }
}

/// The stage after an event; every event can happen in every stage.
fn step(stage: RoundStage, event: Event) -> RoundStage {
    match (stage, event) {
        (RoundStage::Open { mut tried, silence, .. }, Event::Choose(node)) => {
            tried.insert(node.clone());
            RoundStage::Open { tried, last: Some(node), silence }
        }
        (RoundStage::Open { tried, silence, .. }, Event::Leave) => {
            RoundStage::Open { tried, last: None, silence }
        }
        (RoundStage::Open { tried, last, silence }, Event::Await(awaited, now)) => {
            let silence = silence.filter(|(before, _)| *before == awaited).unwrap_or((awaited, now));
            RoundStage::Open { tried, last, silence: Some(silence) }
        }
        (RoundStage::Open { .. }, Event::Fail { rests_until }) => RoundStage::Resting(rests_until),
        (RoundStage::Resting(_), Event::Begin) => RoundStage::begun(),
        (stage @ RoundStage::Open { .. }, Event::Begin) | (stage @ RoundStage::Resting(_), _) => stage,
    }
}

impl Rounds {
    /// A round begins or goes on, or the time until which the gang rests.
    pub fn begin(&mut self, key: &Key, now: Timestamp) -> Result<(), Timestamp> {
        let first =
            || Round { failed: 0, unanswered: 0, left_out: BTreeSet::new(), stage: RoundStage::begun() };
        let round = self.0.entry(key.clone()).or_insert_with(first);
        match round.stage {
            RoundStage::Resting(until) if now < until => return Err(until),
            RoundStage::Resting(_) | RoundStage::Open { .. } => self.step(key, Event::Begin),
        }
        Ok(())
    }

    fn step(&mut self, key: &Key, event: Event) {
        if let Some(round) = self.0.get_mut(key) {
            let was_open = matches!(round.stage, RoundStage::Open { .. });
            round.stage = step(std::mem::replace(&mut round.stage, RoundStage::begun()), event);
            if was_open && matches!(round.stage, RoundStage::Resting(_)) {
                round.failed = round.failed.saturating_add(1);
                round.left_out = BTreeSet::new();
            }
        }
    }

    /// Takes note that a node is chosen for a single pod.
    pub fn choose(&mut self, key: &Key, node: &NodeName) {
        self.step(key, Event::Choose(node.clone()));
    }

    /// Nothing is chosen for a single pod any more, and the round goes on.
    pub fn leave(&mut self, key: &Key) {
        self.step(key, Event::Leave);
    }

    /// The nodes that were chosen for a single pod in the round that is under way.
    pub fn tried(&self, key: &Key) -> Option<&BTreeSet<NodeName>> {
        match &self.0.get(key)?.stage {
            RoundStage::Open { tried, .. } => Some(tried),
            RoundStage::Resting(_) => None,
        }
    }

    /// Whether a node was chosen for a single pod in the round that is under way, and then another.
    pub fn comes_back_to(&self, key: &Key, node: &NodeName) -> bool {
        match self.0.get(key).map(|round| &round.stage) {
            Some(RoundStage::Open { tried, last, .. }) => last.as_ref() != Some(node) && tried.contains(node),
            Some(RoundStage::Resting(_)) | None => false,
        }
    }

    /// A gang has no seats: the round that is under way has failed, if one is.
    pub fn fail(&mut self, key: &Key, now: Timestamp, patience: Patience) {
        let failed = self.failed(key).saturating_add(1);
        let rests_until = now.plus_millis(rest(key, failed, patience));
        self.step(key, Event::Fail { rests_until });
    }

    /// Takes note of what drivers are awaited for about a gang. Tells until when they may say nothing of all this, if the gang can do
    /// without the members that wait for them.
    pub fn awaits(&mut self, key: &Key, awaited: Awaited, now: Timestamp) -> Option<Timestamp> {
        self.step(key, Event::Await(awaited, now));
        let round = self.0.get(key)?;
        let RoundStage::Open { silence: Some((_, since)), .. } = &round.stage else { return None };
        Some(since.plus_millis(FIRST_SILENCE_MS.saturating_mul(1 << round.unanswered.min(20))))
    }

    /// Drivers said nothing about these members for too long: the round has failed, and the next one is about others.
    pub fn fail_unanswered(
        &mut self,
        key: &Key,
        now: Timestamp,
        patience: Patience,
        members: BTreeSet<PodUid>,
    ) {
        self.fail(key, now, patience);
        if let Some(round) = self.0.get_mut(key) {
            round.unanswered = round.unanswered.saturating_add(1);
            round.left_out = members;
        }
    }

    /// Whether a member is left out of the round that is under way or comes next.
    pub fn is_left_out(&self, key: &Key, member: &PodUid) -> bool {
        self.0.get(key).is_some_and(|round| round.left_out.contains(member))
    }

    /// How many rounds failed in a row.
    pub fn failed(&self, key: &Key) -> u32 {
        self.0.get(key).map_or(0, |round| round.failed)
    }

    /// How often something else than what is best was tried before in rounds about a gang, if that is done in the round that is under way. What is
    /// best is tried at first, and after every third round: others may have been in the way.
    pub fn draws(&self, key: &Key) -> Option<u32> {
        let failed = Some(self.failed(key)).filter(|failed| failed % 3 > 0)?;
        Some(failed - failed / 3 - 1)
    }

    /// Members of a gang in the order in which drivers are asked for them in the round that is under way, if only some are to be
    /// asked at first. After a round that failed no more are asked for than the gang needs, others each time: what drivers give to a
    /// member that the gang can do without may be what the others lack. At times all are asked for again, as others may have been
    /// in the way.
    pub fn first_asked(&self, key: &Key, members: &[PodUid]) -> Option<Vec<PodUid>> {
        let times = self.draws(key)? as usize;
        let mut ordered = members.to_vec();
        let cycle = (times / members.len().max(1)).to_string();
        ordered.sort_by_cached_key(|uid| mix(&[&**uid, &*cycle]));
        ordered.rotate_left(times % members.len().max(1));
        Some(ordered)
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
    use crate::values::driver_wait::Await;

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
        rounds.choose(&key, &"a".into());
        rounds.leave(&key);
        assert_eq!((rounds.begin(&key, at(13)), rounds.failed(&key)), (Err(until), 1), "it rests as long");
        assert_eq!(rounds.begin(&key, until), Ok(()));
        rounds.forget(&key);
        assert_eq!(rounds.failed(&key), 0);
    }

    #[test]
    fn after_a_round_that_failed_each_pair_of_three_members_comes_first_before_long() {
        let (mut rounds, key, patience) = (Rounds::default(), gang("gang"), Patience::default());
        let members: Vec<PodUid> = ["x", "y", "z"].map(PodUid::from).to_vec();
        assert_eq!(rounds.first_asked(&key, &members), None, "all are asked for at first");
        let mut pairs = BTreeSet::new();
        for round in 1..6 {
            assert_eq!(rounds.begin(&key, at(round * 100_000)), Ok(()));
            rounds.fail(&key, at(round * 100_000), patience);
            if let Some(mut ordered) = rounds.first_asked(&key, &members) {
                assert_eq!(ordered.len(), 3);
                ordered.truncate(2);
                ordered.sort();
                pairs.insert(ordered);
            } else {
                assert_eq!(round, 3, "and after every third round");
            }
        }
        assert_eq!(pairs.len(), 3, "{pairs:?}");
        assert_eq!(rounds.first_asked(&key, &[]), Some(Vec::new()));
    }

    #[test]
    fn the_table_in_the_header_is_what_the_code_does() {
        let name = |stage: &RoundStage| match stage {
            RoundStage::Open { .. } => "Open",
            RoundStage::Resting(_) => "Resting",
        };
        let fail = Event::Fail { rests_until: at(9) };
        let awaits = Event::Await(Awaited::new(), at(1));
        let events = [Event::Begin, Event::Choose("a".into()), Event::Leave, awaits, fail];
        let rows = include_str!("rounds.rs").lines().filter_map(|line| line.strip_prefix("//! | "));
        let rows: Vec<Vec<&str>> =
            rows.map(|row| row.trim_matches(['|', ' ']).split(" | ").collect()).collect();
        for (stage, row) in [RoundStage::begun(), RoundStage::Resting(at(5))].iter().zip(&rows[1..]) {
            let after = |event: &Event| name(&step(stage.clone(), event.clone()));
            let cells: Vec<&str> = std::iter::once(name(stage)).chain(events.iter().map(after)).collect();
            assert_eq!(row[..], cells[..]);
        }
        assert_eq!(rows.len(), 3);
    }

    #[test]
    fn a_round_about_which_drivers_say_nothing_ends_and_each_lasts_twice_as_long() {
        let (mut rounds, key, patience) = (Rounds::default(), gang("gang"), Patience::default());
        let awaited = |node: &str| {
            let wait = Wait { what: Await::Allocation, node: Some(node.into()), claims: Vec::new() };
            vec![(PodUid::from("x"), wait)]
        };
        assert_eq!(rounds.awaits(&key, awaited("a"), at(0)), None, "none is under way");
        assert_eq!(rounds.begin(&key, at(0)), Ok(()));
        assert_eq!(rounds.awaits(&key, awaited("a"), at(0)), Some(at(30_000)));
        assert_eq!(rounds.awaits(&key, awaited("a"), at(9)), Some(at(30_000)), "nothing has changed");
        assert_eq!(rounds.awaits(&key, awaited("b"), at(10)), Some(at(30_010)), "something has");
        let x = PodUid::from("x");
        rounds.fail_unanswered(&key, at(40_000), patience, [x.clone()].into());
        assert!(rounds.is_left_out(&key, &x));
        assert_eq!(rounds.begin(&key, at(50_000)), Ok(()));
        assert!(rounds.is_left_out(&key, &x), "of the next one");
        assert_eq!(rounds.awaits(&key, awaited("b"), at(50_000)), Some(at(110_000)));
        rounds.fail(&key, at(60_000), patience);
        assert!(!rounds.is_left_out(&key, &x), "and of no other");
    }

    #[test]
    fn a_round_comes_to_each_node_once() {
        let (mut rounds, key, patience) = (Rounds::default(), Key::Pod("pod".into()), Patience::default());
        let (a, b) = (NodeName::from("a"), NodeName::from("b"));
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
