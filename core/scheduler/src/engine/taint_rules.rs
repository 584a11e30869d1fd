//! Rules that put taints on devices: only the pools that a rule is for are looked at again.

use std::sync::Arc;

use cluster::published::Published;
use cluster::taint_rules::TaintRule;
use gates::Gate;

use super::Engine;
use crate::wake::{Wake, Wakes};

impl Engine {
    pub(super) fn fold_taint_rule(&mut self, rule: TaintRule) -> Wakes {
        let gates = self.settings.gates;
        if !(gates.enabled(Gate::DRADeviceTaints) && gates.enabled(Gate::DRADeviceTaintRules)) {
            return Wakes::NONE;
        }
        let changed = self.taint_rules.apply(rule, &self.slices);
        self.put_slices(changed)
    }

    pub(super) fn taint_rule_gone(&mut self, name: &str) -> Wakes {
        let changed = self.taint_rules.remove(name, &self.slices);
        self.put_slices(changed)
    }

    fn put_slices(&mut self, changed: Vec<Arc<Published>>) -> Wakes {
        if changed.is_empty() {
            return Wakes::NONE;
        }
        changed.into_iter().for_each(|published| self.put_slice(published));
        Wake::Slice.into()
    }
}
