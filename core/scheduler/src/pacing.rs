//! When it is worth telling again why something waits: at once if the reason is another, and else ever more seldom.
//!
//! A pod that goes changes the figures in the reasons of all pods and gangs that wait. To write all of them down each time would be a
//! storm of writes that helps no pod. So figures are refreshed after a while, the first time soon. Those of a gang are refreshed on the group,
//! of which there is one, and seldom on its members.
//!
//! Invariant: what was told is told again after [`PAUSE_MS_MAX`] at the latest, if it is looked at then, since a write may have been lost.

use decisions::meaning::Meaning;
use model::timestamp::Timestamp;

/// How long figures may be old at first, and at most.
const PAUSE_MS_MIN: i64 = 60_000;
const PAUSE_MS_MAX: i64 = 600_000;

/// How soon figures are refreshed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Soon at first, and then ever more seldom.
    Soon,
    /// Seldom from the first, as there are many to refresh.
    Seldom,
}

/// What was told last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Told {
    meaning: Meaning,
    at: Timestamp,
    /// How often it was told that it is still so.
    repeats: u32,
}

impl Told {
    /// Takes note of what there is to tell now, and says whether it is to be told.
    pub(crate) fn is_news(last: &mut Option<Told>, meaning: Meaning, pace: Pace, now: Timestamp) -> bool {
        let repeats = match last {
            Some(told) if told.meaning == meaning => {
                let doubled = PAUSE_MS_MIN.checked_shl(told.repeats).unwrap_or(PAUSE_MS_MAX);
                let pause = if pace == Pace::Seldom { PAUSE_MS_MAX } else { doubled.min(PAUSE_MS_MAX) };
                if now < told.at.plus_millis(pause) {
                    return false;
                }
                (told.repeats + 1).min(16)
            }
            _ => 0,
        };
        *last = Some(Told { meaning, at: now, repeats });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_reason_is_told_at_once_and_the_same_ever_more_seldom() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let told = |pace: Pace| {
            let mut last = None;
            let reason = |second: i64| if second == 30 { "devices" } else { "cpu" };
            let is_news = |second: &i64| Told::is_news(&mut last, reason(*second).into(), pace, at(*second));
            (0..2_000).filter(is_news).collect::<Vec<i64>>()
        };
        assert_eq!(told(Pace::Soon), [0, 30, 31, 91, 211, 451, 931, 1531]);
        assert_eq!(told(Pace::Seldom), [0, 30, 31, 631, 1231, 1831]);
    }
}
