//! Leases: heartbeats and leadership.

use objects::coordination::Lease;
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context};
use crate::names;

/// How a leader is chosen among candidates.
const STRATEGIES: [&str; 1] = ["OldestEmulationVersion"];

impl Admit for Lease {
    const UNCONDITIONAL_UPDATE: bool = false;

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let spec = &self.spec;
        let path = Path::ROOT.field("spec");
        if spec.lease_duration_seconds.is_some_and(|seconds| seconds <= 0) {
            causes.invalid(&path.field("leaseDurationSeconds"), "must be greater than zero");
        }
        if spec.lease_transitions.is_some_and(|transitions| transitions < 0) {
            causes.invalid(&path.field("leaseTransitions"), "must not be negative");
        }
        let strategy = spec.strategy.as_deref();
        if let Some(strategy) = strategy {
            // Quirk: the field is named twice.
            validate_strategy(strategy, &path.field("strategy").field("strategy"), causes);
        }
        let preferred = spec.preferred_holder.as_deref().is_some_and(|holder| !holder.is_empty());
        if preferred && strategy.is_none_or(str::is_empty) {
            causes.forbidden(&path.field("preferredHolder"), "requires a strategy");
        }
    }
}

/// A strategy that Kubernetes knows, or one with a domain that somebody else knows.
fn validate_strategy(strategy: &str, path: &Path<'_>, causes: &mut Causes) {
    if strategy.contains('/') {
        causes.malformed(path, strategy, names::label_key(strategy));
    } else if !STRATEGIES.contains(&strategy) {
        causes.not_supported(path, strategy, &STRATEGIES);
    }
}
