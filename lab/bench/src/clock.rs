//! How long this thread has worked.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Time on a processor, so that a busy machine does not spoil a measurement.
pub(crate) fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// How long work takes that is done in so many lanes: with several of them the time on a processor would be that of one thread.
pub(crate) fn clock(lanes: u32) -> fn() -> Duration {
    if lanes > 1 { passed } else { worked }
}

/// The time on the wall.
fn passed() -> Duration {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::worked;

    #[test]
    fn work_takes_time() {
        let before = worked();
        let sum: u64 = (0..3_000_000_u64).map(black_box).sum();
        assert!(worked() > before, "{sum}");
    }
}
