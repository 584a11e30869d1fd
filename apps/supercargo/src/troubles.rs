//! What a command says when its API server cannot be reached or refuses something, so that it says it once.
//!
//! Everything that the command does meets the same trouble, again and again. An outage is told when it begins and when it is
//! over; whatever else comes again is told every ten minutes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::{Outage, Reach};
use parking_lot::Mutex;
use tracing::{info, warn};

/// What is over sooner than this is no outage: servers end connections at any time.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a repeated message is suppressed.
const SILENCE: Duration = Duration::from_secs(600);

/// Number of messages that are remembered.
const TOLD_MAX: usize = 256;

/// Messages that were reported. Clones share their state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Troubles {
    reach: Reach,
    told: Arc<Mutex<BTreeMap<String, Instant>>>,
}

impl Troubles {
    /// Where the connections of the command note whether the server answers.
    pub(crate) fn reach(&self) -> Reach {
        self.reach.clone()
    }

    /// Whether there is an outage, so that failures caused by it are not reported.
    pub(crate) fn is_outage(&self) -> bool {
        self.reach.is_away()
    }

    /// Whether a failure is to be reported: not if it is part of an outage, or was reported recently.
    pub(crate) fn is_news(&self, trouble: &str) -> bool {
        if self.is_outage() && trouble.contains("the API server") {
            return false;
        }
        self.is_news_at(trouble, Instant::now())
    }

    fn is_news_at(&self, trouble: &str, now: Instant) -> bool {
        let mut told = self.told.lock();
        if told.get(trouble).is_some_and(|last| now.duration_since(*last) < SILENCE) {
            return false;
        }
        told.retain(|_, last| now.duration_since(*last) < SILENCE);
        if told.len() < TOLD_MAX {
            told.insert(trouble.to_owned(), now);
        }
        true
    }

    /// Tells of outages in the log. It never ends by itself.
    pub(crate) async fn log_outages(self) {
        let log = |outage| match outage {
            Outage::Begun { why } => {
                warn!(error = why, "the API server is unavailable; retrying");
            }
            Outage::Over { lasted } => {
                let lasted = format!("{:.1}s", lasted.as_secs_f64());
                info!(lasted, "the API server is available again");
            }
        };
        self.reach.follow(PATIENCE, log).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_told_every_ten_minutes() {
        let troubles = Troubles::default();
        let began = Instant::now();
        let at = |minutes: u64| began + Duration::from_secs(60 * minutes);
        assert!(troubles.is_news_at("pods is forbidden", at(0)));
        assert!(!troubles.is_news_at("pods is forbidden", at(1)));
        assert!(troubles.is_news_at("nodes is forbidden", at(1)));
        assert!(!troubles.is_news_at("pods is forbidden", at(9)));
        assert!(troubles.is_news_at("pods is forbidden", at(10)));
        assert!(!troubles.is_news_at("pods is forbidden", at(11)));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let troubles = Troubles::default();
        let now = Instant::now();
        for number in 0..2 * TOLD_MAX {
            assert!(troubles.is_news_at(&format!("trouble {number}"), now));
        }
        assert_eq!(troubles.told.lock().len(), TOLD_MAX);
    }
}
