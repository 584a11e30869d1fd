//! Worlds whose schedulers record what they are told and do.
//!
//! Invariant: recording changes nothing of a world.

use scheduling::recording::Line;

use super::{Report, Sabotage, World, bargain, played};

/// A world, and the recordings of its schedulers.
#[derive(Debug)]
pub struct Recorded {
    /// What came of it.
    pub report: Report,
    /// What each scheduler was told and did, with each of its starts.
    pub schedulers: Vec<Vec<Line>>,
}

/// Plays the world of a seed, and records its schedulers.
#[must_use]
pub fn record(seed: u64) -> Recorded {
    recorded(played(seed, Sabotage::None, (false, true)))
}

/// The same for a world in which drivers give devices themselves.
#[must_use]
pub fn record_bargain(seed: u64) -> Recorded {
    recorded(bargain::bargained(seed, Sabotage::None, (false, true)))
}

fn recorded(mut world: World) -> Recorded {
    let schedulers = world.replicas.iter_mut().filter_map(|replica| replica.recording.take()).collect();
    Recorded { report: world.report(), schedulers }
}
