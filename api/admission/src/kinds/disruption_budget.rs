//! Disruption budgets.

use objects::IntOrString;
use objects::policy::PodDisruptionBudget;
use schema::Path;

use crate::cause::Causes;
use crate::conditions;
use crate::kind::{Admit, Context};
use crate::names;
use crate::same::same;
use crate::selectors::label_selector;

impl Admit for PodDisruptionBudget {
    const NAME_FORM: fn(&str) -> names::Faults = names::path_segment;
    const UNCONDITIONAL_UPDATE: bool = false;
    const COUNTS_GENERATIONS: bool = true;
    const STATUS_KEEPS_METADATA: bool = false;

    fn prepare_create(&mut self, _context: &Context<'_>) {
        self.status = Default::default();
    }

    fn prepare_update(&mut self, old: &Self, _context: &Context<'_>) {
        self.status.clone_from(&old.status);
    }

    fn prepare_status(&mut self, old: &Self, _context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
    }

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        const POLICIES: [&str; 2] = ["AlwaysAllow", "IfHealthyBudget"];
        let (spec, path) = (&self.spec, Path::ROOT.field("spec"));
        if spec.min_available.is_some() && spec.max_unavailable.is_some() {
            causes.invalid(&path, "only one of minAvailable and maxUnavailable can be set");
        }
        for (name, value) in
            [("minAvailable", &spec.min_available), ("maxUnavailable", &spec.max_unavailable)]
        {
            if let Some(value) = value {
                validate_share(value, &path.field(name), causes);
            }
        }
        if let Some(selector) = &spec.selector {
            label_selector(selector, &path.field("selector"), causes);
        }
        let policy = spec.unhealthy_pod_eviction_policy.as_deref();
        if let Some(policy) = policy.filter(|policy| !POLICIES.contains(policy)) {
            causes.not_supported(&path.field("unhealthyPodEvictionPolicy"), policy, &POLICIES);
        }
    }

    fn validate_status(&self, _old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        let (status, path) = (&self.status, Path::ROOT.field("status"));
        conditions::validate(&status.conditions, &path.field("conditions"), causes);
        for (name, count) in [
            ("disruptionsAllowed", status.disruptions_allowed),
            ("currentHealthy", status.current_healthy),
            ("desiredHealthy", status.desired_healthy),
            ("expectedPods", status.expected_pods),
        ] {
            if count < 0 {
                causes.invalid(&path.field(name), "must not be negative");
            }
        }
    }

    fn same_spec(&self, old: &Self) -> bool {
        same("policy.v1.PodDisruptionBudgetSpec", &self.spec, &old.spec)
    }
}

/// A number of pods, or a share of them such as `50%`.
pub(crate) fn validate_share(value: &IntOrString, path: &Path<'_>, causes: &mut Causes) {
    match value {
        IntOrString::Int(count) if *count < 0 => causes.invalid(path, "must not be negative"),
        IntOrString::Int(_) => {}
        IntOrString::String(text) => {
            let digits = text.strip_suffix('%').unwrap_or_default();
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                causes.invalid(path, "must be a number, or a share such as 50%");
            } else if digits.parse::<u64>().map_or(true, |percent| percent > 100) {
                causes.invalid(path, "must not be more than 100%");
            }
        }
    }
}
