//! How much of each capacity a request consumes of a device, by the device's policy.

use std::collections::BTreeMap;

use gates::Gate;
use model::quantity::Quantity;
use objects::resource::slice::{CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity};

use crate::attempt::{Attempt, Pick};
use crate::violation::Violation;

/// The consumed amounts, and what is wrong with them. Every capacity of the device counts, asked for or not.
pub(crate) fn amounts(
    attempt: &Attempt<'_>,
    pick: &Pick<'_>,
) -> (BTreeMap<String, Quantity>, Vec<Violation>) {
    let (mut amounts, mut violations) = (BTreeMap::new(), Vec::new());
    if !attempt.evidence.gates.enabled(Gate::DRAConsumableCapacity) {
        return (amounts, violations);
    }
    let thousandths = attempt.evidence.gates.enabled(Gate::DRAFractionalCapacityRange);
    let requests = pick.wanted.capacity.map(|capacity| &capacity.requests);
    for name in requests.into_iter().flat_map(BTreeMap::keys) {
        if !pick.found.device.capacity.contains_key(name) {
            violations.push(Violation::CapacityMissing { choice: pick.choice(), capacity: name.clone() });
        }
    }
    for (name, capacity) in &pick.found.device.capacity {
        let asked = requests.and_then(|requests| requests.get(name)).map(|amount| &amount.0);
        let choice = pick.choice();
        match amount(asked, capacity, thousandths) {
            Err(why) => {
                violations.push(Violation::AmountUnclear { choice, capacity: name.clone(), why });
            }
            Ok(amount) => {
                if !allowed(&amount, capacity.request_policy.as_deref(), thousandths) {
                    let amount = amount.to_string();
                    violations.push(Violation::PolicyBroken { choice, capacity: name.clone(), amount });
                }
                amounts.insert(name.clone(), amount);
            }
        }
    }
    (amounts, violations)
}

fn amount(
    asked: Option<&Quantity>,
    capacity: &DeviceCapacity,
    thousandths: bool,
) -> Result<Quantity, String> {
    let policy = capacity.request_policy.as_deref();
    let amount = match (asked, policy) {
        (None, policy) => {
            let default = policy.and_then(|policy| policy.default.as_ref());
            default.unwrap_or(&capacity.value).0.clone()
        }
        (Some(asked), None) => asked.clone(),
        (Some(asked), Some(policy)) => rounded(asked, policy, thousandths)?,
    };
    if amount.signum() < 0 { Err(format!("{amount} is negative")) } else { Ok(amount) }
}

fn rounded(asked: &Quantity, policy: &CapacityRequestPolicy, thousandths: bool) -> Result<Quantity, String> {
    if let Some(range) = &policy.valid_range
        && let Some(min) = &range.min
    {
        return match &range.step {
            _ if *asked < min.0 => Ok(min.0.clone()),
            None => Ok(asked.clone()),
            Some(step) => stepped(asked, &min.0, &step.0, in_thousandths(range, thousandths)),
        };
    }
    let values = policy.valid_values.as_deref().unwrap_or_default();
    Ok(values.iter().find(|value| *asked <= value.0).map_or(asked, |value| &value.0).clone())
}

/// The first of min, min + step, min + 2 step, … that is not below what was asked for.
fn stepped(asked: &Quantity, min: &Quantity, step: &Quantity, thousandths: bool) -> Result<Quantity, String> {
    let too_large = || format!("{asked} is too large or too fine to be rounded");
    let unit = |amount: &Quantity| if thousandths { exact_milli(amount) } else { whole(amount) };
    let (asked_units, min_units) = (unit(asked).ok_or_else(too_large)?, unit(min).ok_or_else(too_large)?);
    let step_units = unit(step).filter(|step| *step > 0).ok_or("the step is no step")?;
    let steps = (asked_units - min_units + step_units - 1).div_euclid(step_units);
    let units = i64::try_from(min_units + steps * step_units).map_err(|_| too_large())?;
    Ok(if thousandths {
        Quantity::from_milli(units, step.format())
    } else {
        Quantity::new(units, step.format())
    })
}

/// Whether the policy lets this amount be consumed. The default is always allowed.
fn allowed(amount: &Quantity, policy: Option<&CapacityRequestPolicy>, thousandths: bool) -> bool {
    let Some(policy) = policy else { return true };
    if policy.default.as_ref().is_some_and(|default| default.0 == *amount) {
        return true;
    }
    if let Some(range) = &policy.valid_range {
        return in_range(amount, range, in_thousandths(range, thousandths));
    }
    let values = policy.valid_values.as_deref().unwrap_or_default();
    values.is_empty() || values.iter().any(|value| value.0 == *amount)
}

fn in_range(amount: &Quantity, range: &CapacityRequestPolicyRange, thousandths: bool) -> bool {
    if range.max.as_ref().is_some_and(|max| *amount > max.0) {
        return false;
    }
    let Some(step) = &range.step else { return true };
    let unit = |amount: &Quantity| if thousandths { exact_milli(amount) } else { whole(amount) };
    let min = range.min.as_ref().map_or(Some(0), |min| unit(&min.0));
    match (unit(amount), min, unit(&step.0)) {
        (Some(amount), Some(min), Some(step)) if step > 0 => (amount - min) % step == 0,
        _ => false,
    }
}

/// Steps are counted in thousandths if the feature is on and every bound is a whole number of them.
fn in_thousandths(range: &CapacityRequestPolicyRange, on: bool) -> bool {
    let bounds = [&range.min, &range.max, &range.step].into_iter().flatten();
    let step = range.step.as_ref().is_none_or(|step| exact_milli(&step.0).is_some_and(|step| step >= 1));
    on && step && bounds.into_iter().all(|bound| exact_milli(&bound.0).is_some())
}

fn exact_milli(amount: &Quantity) -> Option<i128> {
    let milli = amount.milli_value();
    (Quantity::from_milli(milli, amount.format()) == *amount).then_some(i128::from(milli))
}

/// The amount as a whole number, rounded up, if it fits into 64 bits.
fn whole(amount: &Quantity) -> Option<i128> {
    let max = Quantity::new(i64::MAX, amount.format());
    (*amount <= max).then(|| i128::from(amount.value()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is consumed of a device with 100 of something, or why that cannot be said; and whether it is allowed.
    fn consumed(asked: &str, policy: &str, thousandths: bool) -> String {
        let json = format!(r#"{{"value": "100", "requestPolicy": {policy}}}"#);
        let capacity: DeviceCapacity = serde_json::from_str(&json).expect("a capacity");
        let asked = (!asked.is_empty()).then(|| asked.parse::<Quantity>().expect("a quantity"));
        match amount(asked.as_ref(), &capacity, thousandths) {
            Err(_) => "unclear".to_owned(),
            Ok(amount) if allowed(&amount, capacity.request_policy.as_deref(), thousandths) => {
                amount.to_string()
            }
            Ok(amount) => format!("not {amount}"),
        }
    }

    #[test]
    fn a_policy_makes_an_amount_of_a_request() {
        let range = r#"{"default": "3", "validRange": {"min": "2", "max": "9", "step": "3"}}"#;
        let open = r#"{"default": "3", "validRange": {"min": "2"}}"#;
        let values = r#"{"default": "5", "validValues": ["2", "4"]}"#;
        let fine = r#"{"default": "1", "validRange": {"min": "500m", "max": "2", "step": "250m"}}"#;
        let huge = r#"{"default": "1", "validRange": {"min": "1", "step": "9223372036854775807"}}"#;
        let table = [
            ("", "null", false, "100"),
            ("7", "null", false, "7"),
            ("-7", "null", false, "unclear"),
            ("", r#"{"default": "3"}"#, false, "3"),
            ("7", r#"{"default": "3"}"#, false, "7"),
            ("", range, false, "3"),
            ("1", range, false, "2"),
            ("2", range, false, "2"),
            ("3", range, false, "5"),
            ("2500m", range, false, "5"),
            ("8", range, false, "8"),
            ("9", range, false, "not 11"),
            ("7", open, false, "7"),
            ("2500m", open, false, "2500m"),
            ("1", values, false, "2"),
            ("3", values, false, "4"),
            ("5", values, false, "5"),
            ("6", values, false, "not 6"),
            ("600m", fine, true, "750m"),
            ("1001m", fine, true, "1250m"),
            ("100u", fine, true, "500m"),
            ("600100u", fine, true, "unclear"),
            ("600m", fine, false, "1"),
            ("1001m", fine, false, "2"),
            ("2", huge, false, "unclear"),
            ("9223372036854775808", huge, false, "unclear"),
        ];
        for (asked, policy, thousandths, expected) in table {
            assert_eq!(consumed(asked, policy, thousandths), expected, "{asked} of {policy}");
        }
    }
}
