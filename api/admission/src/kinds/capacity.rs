//! Which parts of a device's capacity may be asked for.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use gates::Gate;
use model::quantity::Quantity;
use objects::resource::slice::{CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity};
use schema::Path;

use crate::cause::Causes;
use crate::kind::Context;

const VALUES_MAX: usize = 10;

/// A policy needs a device that several claims can share.
pub(crate) fn validate_policy(
    capacity: &DeviceCapacity,
    shared: bool,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let Some(policy) = &capacity.request_policy else { return };
    let path = path.field("requestPolicy");
    if !shared {
        causes.forbidden(&path, "only a device with allowMultipleAllocations can have a request policy");
        return;
    }
    let judge = Judge { total: &capacity.value.0, fractions: context.has(Gate::DRAFractionalCapacityRange) };
    judge.policy(policy, &path, causes);
}

struct Judge<'a> {
    total: &'a Quantity,
    fractions: bool,
}

impl Judge<'_> {
    fn policy(&self, policy: &CapacityRequestPolicy, path: &Path<'_>, causes: &mut Causes) {
        let values = policy.valid_values.as_deref().unwrap_or_default();
        match (values.is_empty(), &policy.valid_range, &policy.default) {
            (true, None, _) => {}
            (false, Some(_), _) => {
                causes.forbidden(path, "only one of validValues and validRange can be set")
            }
            (_, _, None) => {
                causes.required(&path.field("default"), "must be set together with validValues or validRange")
            }
            (false, None, Some(default)) => {
                let values: Vec<&Quantity> = values.iter().map(|value| &value.0).collect();
                self.values(&values, &default.0, &path.field("validValues"), causes);
            }
            (true, Some(range), Some(default)) => {
                self.range(range, &default.0, &path.field("validRange"), causes)
            }
        }
    }

    fn values(&self, values: &[&Quantity], default: &Quantity, path: &Path<'_>, causes: &mut Causes) {
        for (index, pair) in values.windows(2).enumerate() {
            if pair[0] > pair[1] {
                causes.invalid(&path.index(index + 1), "the values must be in ascending order");
            }
        }
        let mut found = false;
        let fractions = self.fractions;
        causes.each(values, VALUES_MAX, path, |causes, value, path| {
            if *value > self.total {
                causes.invalid(path, format!("is larger than the capacity, {}", self.total));
            }
            found |= *value == default;
        });
        if values.len() <= VALUES_MAX {
            let mut seen = BTreeSet::new();
            for (index, value) in values.iter().enumerate() {
                if !seen.insert(key(value, fractions)) {
                    causes.duplicate(&path.index(index), &value.to_string());
                }
            }
        }
        if !found {
            causes.invalid(path, format!("the default, {default}, is none of the values"));
        }
    }

    fn range(
        &self,
        range: &CapacityRequestPolicyRange,
        default: &Quantity,
        path: &Path<'_>,
        causes: &mut Causes,
    ) {
        let Some(min) = range.min.as_ref().map(|min| &min.0) else {
            causes.required(&path.field("min"), "must be set");
            return;
        };
        let max = range.max.as_ref().map(|max| &max.0);
        let step = range.step.as_ref().map(|step| &step.0);
        self.bounds(min, max, default, path, causes);
        let parts = [("default", Some(default)), ("min", Some(min)), ("max", max), ("step", step)];
        let milli = self.fractions && parts.iter().filter_map(|(_, part)| *part).any(is_fraction);
        if milli && !each_is(&parts, is_whole_milli, "must be a whole number of thousandths", path, causes) {
            return;
        }
        let Some(step) = step else { return };
        let step_path = path.field("step");
        if step.signum() <= 0 {
            causes.invalid(&step_path, "must be greater than zero");
            return;
        }
        if &(min + step) > self.total {
            causes.invalid(
                &step_path,
                format!("one step above min is larger than the capacity, {}", self.total),
            );
        }
        if !milli
            && !each_is(&parts, is_whole_word, "must be between 0 and 9223372036854775807", path, causes)
        {
            return;
        }
        let units = |quantity: &Quantity| if milli { quantity.milli_value() } else { quantity.value() };
        for value in std::iter::once(default).chain(max) {
            let distance = i128::from(units(value)) - i128::from(units(min));
            if distance % i128::from(units(step)) != 0 {
                causes.invalid(
                    &step_path,
                    format!("{value} is no whole number of steps of {step} above {min}"),
                );
            }
        }
    }

    fn bounds(
        &self,
        min: &Quantity,
        max: Option<&Quantity>,
        default: &Quantity,
        path: &Path<'_>,
        causes: &mut Causes,
    ) {
        if min > self.total {
            causes.invalid(&path.field("min"), format!("is larger than the capacity, {}", self.total));
        }
        if default < min {
            causes.invalid(&path.field("default"), format!("is less than min, {min}"));
        }
        let Some(max) = max else { return };
        if min > max {
            causes.invalid(&path.field("max"), format!("is less than min, {min}"));
        }
        if max > self.total {
            causes.invalid(&path.field("max"), format!("is larger than the capacity, {}", self.total));
        }
        if default > max {
            causes.invalid(&path.field("default"), format!("is larger than max, {max}"));
        }
    }
}

/// Checks every part that is set; true when all pass.
fn each_is(
    parts: &[(&str, Option<&Quantity>)],
    check: fn(&Quantity) -> bool,
    message: &str,
    path: &Path<'_>,
    causes: &mut Causes,
) -> bool {
    let mut all = true;
    for (name, part) in parts {
        if part.is_some_and(|part| !check(part)) {
            causes.invalid(&path.field(name), message);
            all = false;
        }
    }
    all
}

/// What makes two values the same: the amount and the decimals it is held with, or the amount rounded up.
fn key(value: &Quantity, fractions: bool) -> (Quantity, i64) {
    if fractions { (value.clone(), value.decimals()) } else { (Quantity::from_scaled(value.value(), 0), 0) }
}

fn is_fraction(quantity: &Quantity) -> bool {
    !quantity.is_whole()
}

fn is_whole_milli(quantity: &Quantity) -> bool {
    Quantity::from_milli(quantity.milli_value(), quantity.format()).cmp(quantity) == Ordering::Equal
}

fn is_whole_word(quantity: &Quantity) -> bool {
    quantity.signum() >= 0 && *quantity <= Quantity::from_scaled(i64::MAX, 0)
}
