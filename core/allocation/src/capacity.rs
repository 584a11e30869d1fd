//! How much of a device's capacities a request takes.
//!
//! A device says which amounts can be had of each capacity; a request is rounded up to one of them. What a request does
//! not mention is taken too: the default, or all of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::device::{Allowed, Capacity, RequestPolicy};
use model::quantity::Quantity;

/// Why an amount cannot be given, by the device's own rules.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum CapacityFault {
    /// It cannot be rounded to a step.
    #[error("{0} cannot be rounded up to a step of the device's range; hint: ask for a smaller amount")]
    NotRepresentable(String),
    /// It is below zero.
    #[error(
        "the amount taken would be {0}, which is below zero; hint: correct the slice's policy or the request"
    )]
    Negative(String),
}

/// What is taken of each capacity.
pub(crate) type Consumption = BTreeMap<Arc<str>, Quantity>;

/// Whether nothing is asked for and nothing can go wrong: a device that is not shared is given with all that it has.
pub(crate) fn is_plain(
    asked: Option<&BTreeMap<Arc<str>, Quantity>>,
    capacities: &BTreeMap<Arc<str>, Capacity>,
) -> bool {
    asked.is_none_or(BTreeMap::is_empty)
        && capacities.values().all(|capacity| capacity.policy.is_none() && capacity.value.signum() >= 0)
}

/// What a request takes from a device that no other claim uses; `None` if the device cannot give it.
///
/// # Errors
/// The name of a capacity of which the amount cannot be told.
pub(crate) fn consumption(
    asked: Option<&BTreeMap<Arc<str>, Quantity>>,
    capacities: &BTreeMap<Arc<str>, Capacity>,
    fractional: bool,
) -> Result<Option<Consumption>, (Arc<str>, CapacityFault)> {
    let asked_for = |name: &Arc<str>| asked.and_then(|asked| asked.get(name));
    if asked.into_iter().flat_map(BTreeMap::keys).any(|name| !capacities.contains_key(name)) {
        return Ok(None);
    }
    let mut taken = Consumption::new();
    for (name, capacity) in capacities {
        let amount = amount(asked_for(name), capacity, fractional).map_err(|fault| (name.clone(), fault))?;
        if amount.signum() < 0 {
            return Err((name.clone(), CapacityFault::Negative(amount.to_string())));
        }
        taken.insert(name.clone(), amount);
    }
    let fits = capacities.iter().all(|(name, capacity)| {
        let amount = &taken[name];
        amount.nanos().is_some() && *amount <= capacity.value && follows(amount, capacity, fractional)
    });
    Ok(fits.then_some(taken))
}

/// The amount that is taken of one capacity.
fn amount(
    asked: Option<&Quantity>,
    capacity: &Capacity,
    fractional: bool,
) -> Result<Quantity, CapacityFault> {
    let Some(asked) = asked else {
        let default = capacity.policy.as_ref().and_then(|policy| policy.default.as_ref());
        return Ok(default.unwrap_or(&capacity.value).clone());
    };
    match capacity.policy.as_ref().map(|policy| &policy.allowed) {
        Some(Allowed::Range { min: Some(min), max, step }) => {
            if asked < min {
                return Ok(min.clone());
            }
            let Some(step) = step else { return Ok(asked.clone()) };
            let grid = Grid::new(min, max.as_ref(), step, fractional);
            grid.round_up(asked).ok_or_else(|| CapacityFault::NotRepresentable(asked.to_string()))
        }
        Some(Allowed::Values(values)) => {
            Ok(values.iter().find(|value| asked <= *value).unwrap_or(asked).clone())
        }
        _ => Ok(asked.clone()),
    }
}

/// Whether an amount is one that can be had.
fn follows(amount: &Quantity, capacity: &Capacity, fractional: bool) -> bool {
    let Some(policy) = &capacity.policy else { return true };
    let RequestPolicy { default, allowed } = &**policy;
    if default.as_ref() == Some(amount) {
        return true;
    }
    match allowed {
        Allowed::Any => true,
        Allowed::Values(values) => values.is_empty() || values.contains(amount),
        Allowed::Range { min, max, step } => {
            if max.as_ref().is_some_and(|max| amount > max) {
                return false;
            }
            let zero = Quantity::default();
            step.as_ref().is_none_or(|step| {
                Grid::new(min.as_ref().unwrap_or(&zero), max.as_ref(), step, fractional).holds(amount)
            })
        }
    }
}

/// The amounts `min`, `min + step`, `min + 2 step` and so on, in whole units or in thousandths.
struct Grid<'p> {
    min: &'p Quantity,
    step: &'p Quantity,
    in_milli: bool,
}

impl<'p> Grid<'p> {
    fn new(min: &'p Quantity, max: Option<&Quantity>, step: &'p Quantity, fractional: bool) -> Grid<'p> {
        let exact = |quantity: &Quantity| milli(quantity).is_some();
        let in_milli =
            fractional && exact(min) && max.is_none_or(exact) && milli(step).is_some_and(|step| step >= 1);
        Grid { min, step, in_milli }
    }

    /// The amount in units of the grid.
    fn units(&self, quantity: &Quantity) -> Option<i64> {
        if self.in_milli { milli(quantity) } else { Some(quantity.value()) }
    }

    /// The least amount of the grid that is not below; `None` if it cannot be told.
    fn round_up(&self, asked: &Quantity) -> Option<Quantity> {
        let (min, step) = (self.units(self.min)?, self.units(self.step)?);
        if !self.in_milli && *asked > Quantity::new(i64::MAX, asked.format()) {
            return None;
        }
        let above = self.units(asked)?.checked_sub(min)?;
        if step < 1 {
            return None;
        }
        let steps = above / step + i64::from(above % step > 0);
        let rounded = steps.checked_mul(step)?.checked_add(min)?;
        let format = self.step.format();
        Some(if self.in_milli && rounded % 1000 != 0 {
            Quantity::from_milli(rounded, format)
        } else if self.in_milli {
            Quantity::new(rounded / 1000, format)
        } else {
            Quantity::new(rounded, format)
        })
    }

    fn holds(&self, amount: &Quantity) -> bool {
        let numbers = (self.units(amount), self.units(self.min), self.units(self.step));
        let (Some(amount), Some(min), Some(step)) = numbers else { return false };
        step >= 1 && amount.checked_sub(min).is_some_and(|above| above % step == 0)
    }
}

/// The amount in thousandths, if it has no finer part.
fn milli(quantity: &Quantity) -> Option<i64> {
    let milli = quantity.milli_value();
    (Quantity::from_milli(milli, quantity.format()) == *quantity).then_some(milli)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(text: &str) -> Quantity {
        text.parse().expect("a quantity")
    }

    fn taken(
        asked: Option<&str>,
        value: &str,
        policy: Option<Box<RequestPolicy>>,
    ) -> Result<Option<String>, CapacityFault> {
        let name: Arc<str> = "memory".into();
        let capacities = BTreeMap::from([(name.clone(), Capacity { value: quantity(value), policy })]);
        let asked = asked.map(|asked| BTreeMap::from([(name.clone(), quantity(asked))]));
        let taken = consumption(asked.as_ref(), &capacities, true).map_err(|(_, fault)| fault)?;
        Ok(taken.map(|taken| taken[&name].to_string()))
    }

    fn range(min: &str, max: &str, step: &str) -> Option<Box<RequestPolicy>> {
        let (min, max) = (Some(quantity(min)), Some(quantity(max)));
        let allowed = Allowed::Range { min, max, step: Some(quantity(step)) };
        Some(Box::new(RequestPolicy { default: Some(quantity("2Gi")), allowed }))
    }

    #[test]
    fn what_is_not_asked_for_is_the_default_or_all() {
        assert_eq!(taken(None, "8Gi", None), Ok(Some("8Gi".to_owned())));
        assert_eq!(taken(None, "8Gi", range("1Gi", "8Gi", "1Gi")), Ok(Some("2Gi".to_owned())));
    }

    #[test]
    fn an_amount_is_rounded_up_to_a_step() {
        assert_eq!(taken(Some("1500Mi"), "8Gi", range("1Gi", "8Gi", "1Gi")), Ok(Some("2Gi".to_owned())));
        assert_eq!(taken(Some("1"), "8Gi", range("1Gi", "8Gi", "1Gi")), Ok(Some("1Gi".to_owned())));
        assert_eq!(taken(Some("300m"), "1", range("250m", "1", "250m")), Ok(Some("500m".to_owned())));
    }

    #[test]
    fn more_than_there_is_cannot_be_had() {
        assert_eq!(taken(Some("9Gi"), "8Gi", None), Ok(None));
        assert_eq!(taken(Some("5Gi"), "8Gi", range("1Gi", "4Gi", "1Gi")), Ok(None));
    }

    #[test]
    fn an_amount_beyond_the_arithmetic_is_a_fault() {
        let policy = range("1Gi", "8Gi", "1Gi");
        assert!(matches!(taken(Some("1e30"), "8Gi", policy), Err(CapacityFault::NotRepresentable(_))));
        assert!(matches!(taken(Some("-1"), "8Gi", None), Err(CapacityFault::Negative(_))));
    }

    #[test]
    fn a_step_of_nothing_gives_nothing() {
        assert!(taken(Some("2Gi"), "8Gi", range("1Gi", "8Gi", "0")).is_err());
    }
}
