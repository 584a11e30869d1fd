//! How fast requests may leave: a bucket of tokens that fills at a steady rate.
//!
//! A request takes its token before it waits for it, so requests leave in the order in which they asked.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

/// A limit on requests per second; none at all if there is no rate.
pub(crate) struct Pace {
    bucket: Option<Mutex<Bucket>>,
}

struct Bucket {
    between: Duration,
    burst: u32,
    /// When the bucket would be full again if nobody asked any more.
    full_at: Option<Instant>,
}

impl Pace {
    /// So many requests per second, and so many at once after a pause. A rate of zero is no limit.
    pub(crate) fn new(qps: f32, burst: u32) -> Self {
        let limited = qps.is_finite() && qps > 0.0;
        let bucket = limited.then(|| {
            let between = Duration::from_secs_f32((1.0 / qps).min(3600.0));
            Mutex::new(Bucket { between, burst: burst.max(1), full_at: None })
        });
        Self { bucket }
    }

    /// Waits until a request may leave.
    pub(crate) async fn wait(&self) {
        let Some(bucket) = &self.bucket else { return };
        let leave_at = bucket.lock().take(Instant::now());
        if let Some(leave_at) = leave_at {
            sleep_until(leave_at).await;
        }
    }
}

impl Bucket {
    /// Takes a token, and says when it may be used if that is not now.
    fn take(&mut self, now: Instant) -> Option<Instant> {
        let full_at = self.full_at.map_or(now, |full_at| full_at.max(now)) + self.between;
        self.full_at = Some(full_at);
        let leave_at = full_at.checked_sub(self.between * self.burst)?;
        (leave_at > now).then_some(leave_at)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Bucket, Pace};

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        let mut bucket = Bucket { between: Duration::from_millis(100), burst: 5, full_at: None };
        let start = Instant::now();
        let mut after_ms =
            |now: Instant| bucket.take(now).map_or(0, |leave_at| leave_at.duration_since(now).as_millis());
        let waits: Vec<u128> = (0..8).map(|_| after_ms(start)).collect();
        assert_eq!(waits, [0, 0, 0, 0, 0, 100, 200, 300]);
        let later = start + Duration::from_secs(2);
        let waits: Vec<u128> = (0..6).map(|_| after_ms(later)).collect();
        assert_eq!(waits, [0, 0, 0, 0, 0, 100], "the bucket has filled again");
    }

    #[test]
    fn no_rate_is_no_limit() {
        for qps in [0.0, -1.0, f32::NAN] {
            assert!(Pace::new(qps, 10).bucket.is_none());
        }
    }
}
