//! How long this thread has worked.

use std::fs;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Time on a processor, where the system tells it, so that a busy machine does not spoil a measurement; otherwise the
/// time on the wall.
pub(crate) fn worked() -> Duration {
    on_processor().unwrap_or_else(passed)
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

fn on_processor() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
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
