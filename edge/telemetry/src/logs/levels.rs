//! Which events are shown at which verbosity. Crates from outside speak about their insides, so they are shown later.

use tracing::Level;
use tracing::level_filters::LevelFilter;

/// Crates from outside that emit events, by the beginning of their targets.
const OUTSIDE: [&str; 8] =
    ["h2", "hyper", "hyper_util", "kube", "kube_client", "kube_core", "rustls", "tower"];

/// Says at each handshake that certificates are not verified. Whoever connects says so once.
const REPETITIVE: &str = "kube_client::client::tls";

#[derive(Clone, Copy, Debug)]
pub(super) struct Levels {
    ours: LevelFilter,
    outside: LevelFilter,
}

impl Levels {
    /// Kubernetes is often run with `-v=2`, and calls 4 the level for debugging.
    pub(super) fn of(verbosity: u8) -> Self {
        let (ours, outside) = match verbosity {
            0..=3 => (LevelFilter::INFO, LevelFilter::WARN),
            4..=5 => (LevelFilter::DEBUG, LevelFilter::WARN),
            6..=8 => (LevelFilter::TRACE, LevelFilter::DEBUG),
            9.. => (LevelFilter::TRACE, LevelFilter::TRACE),
        };
        Self { ours, outside }
    }

    pub(super) fn most(self) -> LevelFilter {
        self.ours.max(self.outside)
    }

    pub(super) fn shows(self, target: &str, level: Level) -> bool {
        let origin = target.split_once("::").map_or(target, |(origin, _)| origin);
        let is_repetitive = target.starts_with(REPETITIVE) && self.outside < LevelFilter::DEBUG;
        let limit = if is_repetitive {
            LevelFilter::ERROR
        } else if OUTSIDE.contains(&origin) {
            self.outside
        } else {
            self.ours
        };
        level <= limit
    }
}

#[cfg(test)]
mod tests {
    use super::Levels;
    use tracing::Level;

    #[test]
    fn what_is_said_at_each_handshake_is_not_shown_by_default() {
        let shown =
            |verbosity, level| Levels::of(verbosity).shows("kube_client::client::tls::rustls_tls", level);
        assert!(!shown(0, Level::WARN) && !shown(4, Level::WARN) && shown(0, Level::ERROR));
        assert!(shown(6, Level::WARN) && shown(6, Level::DEBUG));
    }

    #[test]
    fn ours_are_shown_before_those_from_outside() {
        let shown = |verbosity, target, level| Levels::of(verbosity).shows(target, level);
        for (verbosity, ours, outside) in [
            (0, Level::INFO, Level::WARN),
            (2, Level::INFO, Level::WARN),
            (4, Level::DEBUG, Level::WARN),
            (6, Level::TRACE, Level::DEBUG),
            (10, Level::TRACE, Level::TRACE),
        ] {
            for level in [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE] {
                assert_eq!(shown(verbosity, "scheduler::queue", level), level <= ours, "{verbosity} {level}");
                assert_eq!(
                    shown(verbosity, "hyper_util::client", level),
                    level <= outside,
                    "{verbosity} {level}"
                );
            }
        }
    }
}
