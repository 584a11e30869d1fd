//! The time, as those are told it who decide.
//!
//! Invariant: it never goes back, whatever is done to the machine's clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use model::timestamp::Timestamp;

/// A clock that goes on from the machine's time at the start.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Instant,
    began_micros: i64,
}

impl Clock {
    /// Starts it.
    pub fn start() -> Clock {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let began_micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        Clock { began: Instant::now(), began_micros }
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        let since = i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_micros(self.began_micros.saturating_add(since))
    }

    /// When a time will be; now if it is past.
    pub fn instant(&self, time: Timestamp) -> tokio::time::Instant {
        let left = time.micros().saturating_sub(self.now().micros());
        let left = std::time::Duration::from_micros(u64::try_from(left).unwrap_or(0));
        tokio::time::Instant::now() + left
    }
}
