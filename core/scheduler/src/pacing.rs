//! When it is worth telling again why something waits: at once if the reason is another, and else seldom, whatever waits.
//!
//! A pod that goes changes the figures in the reasons of all pods and gangs that wait. To write all of them down each time would be a
//! storm of writes that helps no pod. So a reason is told as an event, and noted on each pod that it concerns, when it means something
//! else than before. Its figures are refreshed later, by one write for a pod or a group, and never on each member of a gang.
//!
//! Invariants: how many refreshes there are depends neither on how many pods and groups wait nor on how fast things change: each moment
//! at which something wakes pods pays for one, and there is at most one in [`BETWEEN_MS`]. Whose figures have been old for the longest
//! comes first. What is written differs from what was written before.

use std::collections::{BTreeMap, BTreeSet};

use cluster::groups::Key;
use decisions::meaning::Meaning;
use model::timestamp::Timestamp;

/// How long figures may be old at first, and later, before they are refreshed.
const PAUSE_MS_MIN: i64 = 60_000;
const PAUSE_MS_MAX: i64 = 600_000;

/// How long it is from one refresh to the next, of whichever pod or group.
const BETWEEN_MS: i64 = 2_000;

/// How many refreshes may be saved up for later.
const SAVED_MAX: u32 = 64;

/// What was told last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Told {
    meaning: Meaning,
    at: Timestamp,
    /// How often figures were refreshed, or told again to pods that had not got them.
    repeats: u32,
    /// With these figures.
    message: Box<str>,
    /// The figures now, if they are others.
    newer: Option<String>,
}

impl Told {
    /// Takes note of what there is to tell now, and says whether it means something else than what was told last.
    pub(crate) fn is_news(last: &mut Option<Told>, meaning: Meaning, now: Timestamp) -> bool {
        let is_news = last.as_ref().is_none_or(|told| told.meaning != meaning);
        if is_news {
            *last = Some(Told { meaning, at: now, repeats: 0, message: Box::default(), newer: None });
        }
        is_news
    }

    /// Takes note of the words in which it is told if it is news, and else of those in which it would be told now. Says when these may
    /// be told, if they are others.
    pub(crate) fn words(&mut self, message: &str, is_news: bool) -> Option<Timestamp> {
        if is_news {
            self.message = message.into();
        }
        self.newer = (*self.message != *message).then(|| message.to_owned());
        self.newer.as_ref().map(|_| self.due())
    }

    /// When it may be told again.
    fn due(&self) -> Timestamp {
        let doubled = PAUSE_MS_MIN.checked_shl(self.repeats).unwrap_or(PAUSE_MS_MAX);
        self.at.plus_millis(doubled.min(PAUSE_MS_MAX))
    }

    fn told_again(&mut self, now: Timestamp) {
        self.at = now;
        self.repeats = (self.repeats + 1).min(16);
    }

    /// The words to be told instead of those that were told last.
    pub(crate) fn take_newer(&mut self, now: Timestamp) -> Option<String> {
        let message = self.newer.take()?;
        self.message = message.as_str().into();
        self.told_again(now);
        Some(message)
    }

    /// Whether it may be told again to pods that did not get it; if so, that is taken for done.
    pub(crate) fn may_repeat(&mut self, now: Timestamp) -> bool {
        let is_due = self.due() <= now;
        if is_due {
            self.told_again(now);
        }
        is_due
    }
}

/// Whose figures are old, and when some may be refreshed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refreshes {
    /// Pods, and groups under the key of a gang, with the time from which on they may be refreshed.
    old: BTreeMap<Key, Timestamp>,
    due: BTreeSet<(Timestamp, Key)>,
    /// How many refreshes are paid for, and since when no other was.
    saved: u32,
    paid_at: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Refreshes {
    /// Something woke pods, which pays for a refresh, if the last payment is long enough ago.
    pub(crate) fn pay(&mut self, now: Timestamp) {
        if self.paid_at.is_none_or(|at| at.plus_millis(BETWEEN_MS) <= now) {
            self.paid_at = Some(now);
            self.saved = (self.saved + 1).min(SAVED_MAX);
        }
    }

    /// The figures of a pod or a group are old, and may be refreshed from this time on; or they are not old any more.
    pub(crate) fn note(&mut self, key: &Key, due: Option<Timestamp>) {
        if let Some(known) = self.old.remove(key) {
            self.due.remove(&(known, key.clone()));
        }
        if let Some(due) = due {
            self.old.insert(key.clone(), due);
            self.due.insert((due, key.clone()));
        }
    }

    /// When figures may be refreshed.
    pub(crate) fn next_time(&self) -> Option<Timestamp> {
        let (due, _) = self.due.first().filter(|_| self.saved > 0)?;
        Some(self.last.map_or(*due, |last| last.plus_millis(BETWEEN_MS).max(*due)))
    }

    /// Whose figures may be refreshed now: those that have been old for the longest. [`Refreshes::spend`] says that it was done.
    pub(crate) fn next(&mut self, now: Timestamp) -> Option<Key> {
        self.next_time().filter(|at| *at <= now)?;
        let (_, key) = self.due.pop_first()?;
        self.old.remove(&key);
        Some(key)
    }

    /// Figures were refreshed.
    pub(crate) fn spend(&mut self, now: Timestamp) {
        self.saved = self.saved.saturating_sub(1);
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn another_reason_is_told_at_once_and_other_figures_ever_more_seldom() {
        let (mut last, mut refreshes) = (None, Refreshes::default());
        let key = Key::Pod("a".into());
        let (mut news, mut refreshed) = (Vec::new(), Vec::new());
        for second in 0..2_000 {
            let reason = if second == 30 { "devices" } else { "cpu" };
            let is_news = Told::is_news(&mut last, reason.into(), at(second));
            let told = last.as_mut().expect("it was told");
            // It is the same for some minutes.
            let message = format!("{reason} {}", if second > 1_000 { 0 } else { second });
            refreshes.note(&key, told.words(&message, is_news));
            refreshes.pay(at(second));
            if is_news {
                news.push(second);
            }
            if refreshes.next(at(second)).is_some() && told.take_newer(at(second)).is_some() {
                refreshes.spend(at(second));
                refreshed.push(second);
            }
        }
        assert_eq!(news, [0, 30, 31]);
        assert_eq!(refreshed, [91, 211, 451, 931, 1531]);
    }

    /// How often the figures of each of so many were refreshed, if something happens every so many seconds that makes all of them old.
    fn refreshed(count: usize, every: i64, changes: i64) -> Vec<usize> {
        let mut refreshes = Refreshes::default();
        let mut all: Vec<Option<Told>> = vec![None; count];
        let mut times = vec![0; count];
        for second in 0..=every * changes {
            if second % every == 0 {
                for (number, last) in all.iter_mut().enumerate() {
                    let is_news = Told::is_news(last, "cpu".into(), at(second));
                    let due = last.as_mut().and_then(|told| told.words(&second.to_string(), is_news));
                    refreshes.note(&Key::Pod(number.to_string().as_str().into()), due);
                }
                refreshes.pay(at(second));
            }
            while let Some(Key::Pod(uid)) = refreshes.next(at(second)) {
                let number: usize = uid.parse().expect("a number");
                if all[number].as_mut().and_then(|told| told.take_newer(at(second))).is_some() {
                    refreshes.spend(at(second));
                    times[number] += 1;
                }
            }
        }
        times
    }

    #[test]
    fn at_any_pace_there_are_no_more_refreshes_than_changes() {
        for every in [1, 2, 5, 10, 60, 600, 3_600] {
            let times = refreshed(50, every, 100);
            let all: usize = times.iter().sum();
            assert!(all <= 101, "every {every} s: {all}");
        }
    }

    #[test]
    fn figures_of_all_are_refreshed_in_turn() {
        let times = refreshed(50, 5, 1_000);
        let (least, most) = (times.iter().min(), times.iter().max());
        assert!(*least.unwrap() >= 8 && most.unwrap() - least.unwrap() <= 2, "{times:?}");
    }
}
