//! Whether the API server answers, as all requests of a program found out together.
//!
//! What is told of it:
//!
//! | from | to |
//! |---|---|
//! | `Fine` | `Suspected`, when a request has no answer or the server says that it cannot |
//! | `Suspected` | `Fine`, when a request is answered, whatever is said; `Told` after a while |
//! | `Told` | `Doubted`, when a request is answered |
//! | `Doubted` | `Told`, when another is not; `Fine` after a while, which is told |
//!
//! Invariant: an outage begins and ends once, however many requests fail meanwhile. So whoever tells people of it tells them
//! once, and not for each kind that is followed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::answer::{Answer, Unavailable};

/// Whether the API server answers. Clones are the same; connections that have the same in their options share it.
#[derive(Clone, Debug)]
pub struct Reach(Arc<watch::Sender<Option<Away>>>);

/// The server does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Away {
    since: Instant,
    why: String,
}

/// A change that is worth telling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outage {
    /// The server has not answered for a while.
    Begun {
        /// What the first request that failed was told.
        why: String,
    },
    /// It answers again.
    Over {
        /// How long it was away.
        lasted: Duration,
    },
}

impl Default for Reach {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl Reach {
    /// Whether the server is away, as far as is known.
    pub fn is_away(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Takes note of what came of a request.
    pub(crate) fn hear<T>(&self, answer: &Answer<T>) {
        let away = match answer {
            // Something was said, though it means nothing.
            Answer::Unavailable(Unavailable::Unreadable(_)) => None,
            Answer::Unavailable(why) => Some(why),
            _ => None,
        };
        self.0.send_if_modified(|known| match (away, known.is_some()) {
            (Some(why), false) => {
                *known = Some(Away { since: Instant::now(), why: why.to_string() });
                true
            }
            (None, true) => {
                *known = None;
                true
            }
            (Some(_), true) | (None, false) => false,
        });
    }

    /// Tells of each outage that lasts longer than `patience` when it has, and when it is over. It never ends by itself.
    pub async fn follow(&self, patience: Duration, mut tell: impl FnMut(Outage)) {
        let mut changes = self.0.subscribe();
        let mut telling = Telling::Fine;
        loop {
            let away = changes.borrow_and_update().clone();
            let (news, wake) = telling.step(Instant::now(), away, patience);
            news.into_iter().for_each(&mut tell);
            tokio::select! {
                changed = changes.changed() => if changed.is_err() {
                    return;
                },
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
        }
    }
}

/// What was told of an outage.
#[derive(Debug)]
enum Telling {
    /// The server answers.
    Fine,
    /// It did not answer a moment ago, which may mean nothing.
    Suspected { since: Instant },
    /// It was told that there is an outage.
    Told { since: Instant },
    /// It has answered a moment ago. Another request may fail at the same moment.
    Doubted { since: Instant, answered: Instant },
}

impl Telling {
    /// What is to be told now, and when to look again if nothing changes before.
    fn step(
        &mut self,
        now: Instant,
        away: Option<Away>,
        patience: Duration,
    ) -> (Option<Outage>, Option<Instant>) {
        let known = std::mem::replace(self, Telling::Fine);
        let (next, news, wake) = match (known, away) {
            (Telling::Fine | Telling::Suspected { .. }, None) => (Telling::Fine, None, None),
            (Telling::Fine, Some(Away { since, .. })) => {
                (Telling::Suspected { since }, None, Some(since + patience))
            }
            (Telling::Suspected { since }, Some(away)) if now < since + patience => {
                // It may have answered between two failures, and then this is the beginning.
                let since = since.max(away.since);
                (Telling::Suspected { since }, None, Some(since + patience))
            }
            (Telling::Suspected { since }, Some(Away { why, .. })) => {
                (Telling::Told { since }, Some(Outage::Begun { why }), None)
            }
            (Telling::Told { since } | Telling::Doubted { since, .. }, Some(_)) => {
                (Telling::Told { since }, None, None)
            }
            (Telling::Told { since }, None) => {
                (Telling::Doubted { since, answered: now }, None, Some(now + patience))
            }
            (Telling::Doubted { since, answered }, None) if now < answered + patience => {
                (Telling::Doubted { since, answered }, None, Some(answered + patience))
            }
            (Telling::Doubted { since, answered }, None) => {
                (Telling::Fine, Some(Outage::Over { lasted: answered - since }), None)
            }
        };
        *self = next;
        (news, wake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(1);

    fn unreachable() -> Answer<()> {
        let (server, why) = ("https://10.0.0.1".to_owned(), "connection refused".to_owned());
        Answer::Unavailable(Unavailable::Unreachable { server, why })
    }

    /// What is told while the server is away and back again, after so many milliseconds each, beginning with away.
    fn told(changes_ms: &[u64]) -> Vec<String> {
        let began = Instant::now();
        let mut telling = Telling::Fine;
        let (mut at, mut away) = (began, None);
        let mut told = Vec::new();
        let mut wake = None;
        let mut tell = |outage| {
            told.push(match outage {
                Outage::Begun { why } => why,
                Outage::Over { lasted } => format!("over after {} ms", lasted.as_millis()),
            });
        };
        for after in changes_ms.iter().chain([&10_000]) {
            let until = at + Duration::from_millis(*after);
            while let Some(time) = wake.filter(|time| *time <= until) {
                let (news, next) = telling.step(time, away.clone(), PATIENCE);
                news.into_iter().for_each(&mut tell);
                wake = next;
            }
            at = until;
            away = match away {
                None => Some(Away { since: at, why: "gone".to_owned() }),
                Some(_) => None,
            };
            let (news, next) = telling.step(at, away.clone(), PATIENCE);
            news.into_iter().for_each(&mut tell);
            wake = next;
        }
        told
    }

    #[test]
    fn an_outage_is_told_once_and_its_end_once() {
        assert_eq!(told(&[0, 30_000]), ["gone", "over after 30000 ms"]);
        assert_eq!(told(&[0, 30_000, 20_000, 5_000]).len(), 4, "two of them");
    }

    #[test]
    fn what_is_over_at_once_is_no_outage() {
        assert!(told(&[0, 900, 3_000, 200]).is_empty());
    }

    #[test]
    fn single_answers_in_the_middle_are_not_its_end() {
        assert_eq!(told(&[0, 5_000, 500, 5_000, 300, 5_000]), ["gone", "over after 15800 ms"]);
    }

    #[test]
    fn requests_that_fail_are_one_outage_until_one_is_answered() {
        let reach = Reach::default();
        let mut changes = reach.0.subscribe();
        for _ in 0..20 {
            reach.hear(&unreachable());
        }
        assert!(changes.has_changed().is_ok_and(|changed| changed) && reach.is_away());
        changes.mark_unchanged();
        reach.hear(&unreachable());
        assert!(changes.has_changed().is_ok_and(|changed| !changed), "nothing new");
        for (answer, is_away) in [
            (Answer::Forbidden("no".to_owned()), false),
            (unreachable(), true),
            (Answer::Unavailable(Unavailable::Unreadable("?".to_owned())), false),
        ] {
            reach.hear(&answer);
            assert_eq!(reach.is_away(), is_away, "{answer:?}");
        }
    }
}
