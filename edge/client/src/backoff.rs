//! How long to wait before trying again: longer each time up to a bound, and never in step with others.

use std::time::Duration;

use crate::answer::Answer;

/// Pauses between attempts.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl Backoff {
    /// The first pause, which doubles with each failure, and the longest.
    #[must_use]
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failures: 0 }
    }

    /// It works again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// How long to wait after an answer that may be another in a while; longer if the server wants so, within the bound.
    pub fn pause_after<T>(&mut self, answer: &Answer<T>) -> Duration {
        let pause = self.pause();
        answer.retry_after().map_or(pause, |asked| pause.max(asked.min(self.longest)))
    }

    /// How long to wait after one more failure.
    pub(crate) fn pause(&mut self) -> Duration {
        let doubled = self.first.saturating_mul(1 << self.failures.min(20)).min(self.longest);
        self.failures = self.failures.saturating_add(1);
        // Between half and all of it: those who failed together do not come back together.
        doubled.mul_f64(0.5 + fraction() / 2.0)
    }
}

/// A random number between zero and one.
pub(crate) fn fraction() -> f64 {
    // Without randomness everybody waits for the same time, which is slower and not wrong.
    f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Backoff;
    use crate::answer::Answer;

    #[test]
    fn a_server_that_wants_more_time_gets_it_up_to_the_bound() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
        let busy = |retry_after: Option<u64>| Answer::<()>::TooManyRequests {
            retry_after: retry_after.map(Duration::from_secs),
        };
        assert_eq!(backoff.pause_after(&busy(Some(7))), Duration::from_secs(7));
        assert_eq!(backoff.pause_after(&busy(Some(700))), Duration::from_secs(10));
        assert!(backoff.pause_after(&busy(None)) <= Duration::from_millis(400));
    }

    #[test]
    fn pauses_double_up_to_a_bound_and_start_over() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        for longest_ms in [100, 200, 400, 800, 1000, 1000] {
            let pause = backoff.pause();
            assert!(pause >= Duration::from_millis(longest_ms / 2), "{pause:?}");
            assert!(pause <= Duration::from_millis(longest_ms), "{pause:?}");
        }
        backoff.reset();
        assert!(backoff.pause() <= Duration::from_millis(100));
    }
}
