//! A cluster made of values: manifests in, placements out.
//!
//! Invariant: nothing here looks at a clock, a file or a random source. The same manifests give the same placements; time
//! is a number that jumps to the next moment at which there is something to do.

mod displaced;
mod fields;
mod intake;
mod jobs;
mod kept;
mod life;
mod made;
mod manifest;
mod merged_keys;
mod needed;
mod observation;
mod outcome;
mod shelf;
mod simulation;
mod templates;
mod volumes;
mod workloads;

pub use fields::check_fields;
pub use made::{Made, make};
pub use manifest::{BadInput, Excerpt, Manifest, Place, read};
pub use needed::needed_gates;
pub use observation::Observation;
pub use outcome::{ClaimOutcome, Ended, Ending, GrantedDevice, Outcome, PodOutcome};
pub use shelf::{kind_of, namespace_of};
pub use simulation::{Aftermath, Rules, VolumeBinder, simulate, simulate_by, simulate_to_end, simulate_with};
pub use workloads::{POD_KINDS, makes_pods, names_pods};
