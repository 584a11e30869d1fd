//! Taints of devices, what bears them, and rules that set them.

use objects::resource::claim::DeviceToleration;
use objects::resource::class::{DeviceTaintRule, DeviceTaintSelector};
use objects::resource::slice::DeviceTaint;
use schema::Path;

use crate::cause::Causes;
use crate::conditions;
use crate::kind::{Admit, Context};
use crate::kinds::device_names::{driver_name, pool_name};
use crate::names;

const EFFECTS: [&str; 3] = ["NoSchedule", "NoExecute", "None"];
const CONDITIONS_MAX: usize = 8;

/// The rules for a taint. An effect that was stored before is not judged again.
pub(crate) fn validate(taint: &DeviceTaint, old: Option<&DeviceTaint>, path: &Path<'_>, causes: &mut Causes) {
    causes.malformed(&path.field("key"), &taint.key, names::label_key(&taint.key));
    causes.malformed(&path.field("value"), &taint.value, names::label_value(&taint.value));
    if old.is_none_or(|old| old.effect != taint.effect) {
        validate_effect(taint, path, causes);
    }
}

/// The effect is set and known.
pub(crate) fn validate_effect(taint: &DeviceTaint, path: &Path<'_>, causes: &mut Causes) {
    match taint.effect.as_str() {
        "" => causes.required(&path.field("effect"), "must be NoSchedule, NoExecute or None"),
        effect if !EFFECTS.contains(&effect) => causes.not_supported(&path.field("effect"), effect, &EFFECTS),
        _ => {}
    }
}

/// The rules for a toleration.
pub(crate) fn validate_toleration(toleration: &DeviceToleration, path: &Path<'_>, causes: &mut Causes) {
    if !toleration.key.is_empty() {
        causes.malformed(&path.field("key"), &toleration.key, names::label_key(&toleration.key));
    }
    let value = path.field("value");
    match toleration.operator.as_str() {
        "Exists" if !toleration.value.is_empty() => causes.invalid(&value, "Exists takes no value"),
        "Exists" => {}
        "Equal" => causes.malformed(&value, &toleration.value, names::label_value(&toleration.value)),
        "" => causes.required(&path.field("operator"), "must be Exists or Equal"),
        other => causes.not_supported(&path.field("operator"), other, &["Equal", "Exists"]),
    }
    if !toleration.effect.is_empty() && !EFFECTS.contains(&toleration.effect.as_str()) {
        causes.not_supported(&path.field("effect"), &toleration.effect, &EFFECTS);
    }
}

impl Admit for DeviceTaintRule {
    const UNCONDITIONAL_UPDATE: bool = false;
    const COUNTS_GENERATIONS: bool = true;

    fn set_defaults(&mut self, context: &Context<'_>) {
        self.spec.taint.time_added.get_or_insert(context.time());
    }

    fn prepare_create(&mut self, _context: &Context<'_>) {
        self.status = Default::default();
    }

    fn prepare_update(&mut self, old: &Self, context: &Context<'_>) {
        self.status.clone_from(&old.status);
        let (taint, before) = (&mut self.spec.taint, &old.spec.taint);
        if taint.effect != before.effect && taint.time_added == before.time_added {
            // The taint is another one now, and its tolerations start to count from here.
            taint.time_added = Some(context.time());
        }
    }

    fn prepare_status(&mut self, old: &Self, _context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
    }

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        validate_rule(self, None, causes);
    }

    fn validate_update(&self, old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        validate_rule(self, Some(old), causes);
    }

    fn validate_status(&self, _old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        let status = Path::ROOT.field("status");
        let path = status.field("conditions");
        conditions::validate(&self.status.conditions, &path, causes);
        if self.status.conditions.len() > CONDITIONS_MAX {
            causes.too_many(&path, self.status.conditions.len(), CONDITIONS_MAX);
        }
    }

    fn same_spec(&self, old: &Self) -> bool {
        self.spec == old.spec
    }
}

fn validate_rule(rule: &DeviceTaintRule, old: Option<&DeviceTaintRule>, causes: &mut Causes) {
    let spec = Path::ROOT.field("spec");
    if let Some(selector) = &rule.spec.device_selector {
        validate_selector(selector, &spec.field("deviceSelector"), causes);
    }
    validate(&rule.spec.taint, old.map(|old| &old.spec.taint), &spec.field("taint"), causes);
}

fn validate_selector(selector: &DeviceTaintSelector, path: &Path<'_>, causes: &mut Causes) {
    if let Some(driver) = &selector.driver {
        driver_name(driver, &path.field("driver"), causes);
    }
    if let Some(pool) = &selector.pool {
        pool_name(pool, &path.field("pool"), causes);
    }
    if let Some(device) = &selector.device {
        causes.malformed(&path.field("device"), device, names::dns_label(device));
    }
}
