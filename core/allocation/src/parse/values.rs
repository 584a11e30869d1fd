//! What constraints see of devices.

use std::sync::Arc;

use gates::Gate;
use model::claim::Rule;
use model::device::Attribute;
use selector::DerivedValue;

use super::Parser;
use crate::asked::Asked;
use crate::constraint::{Found, ValueTable};
use crate::error::{AllocationError, ExpressionFault};

impl Parser<'_, '_> {
    /// Joins an alternative to the constraints that concern it.
    pub(super) fn constrain(&mut self, claim: Asked<'_>, alternative: usize) {
        let name = self.problem.alternatives[alternative].name.clone();
        for (index, constraint) in claim.spec().constraints.iter().enumerate() {
            let (Rule::Match(attribute) | Rule::Distinct(attribute)) = &constraint.rule else { continue };
            if !constraint.concerns(&name) {
                continue;
            }
            let table = self.table(claim, alternative, attribute);
            let alternative = &mut self.problem.alternatives[alternative];
            alternative.constraints.push((index as u32, table));
            if alternative.all.is_none() {
                // Without the attribute a device can satisfy no constraint on it. Where all devices are wanted it must be
                // met instead, since that is an error.
                for (spot, found) in self.problem.tables[table as usize].found.iter().enumerate() {
                    if *found == Found::Absent {
                        alternative.candidates.set(spot, false);
                    }
                }
            }
        }
    }

    /// The values of an attribute, as an alternative sees them: it may derive the attribute by an expression.
    fn table(&mut self, claim: Asked<'_>, alternative: usize, attribute: &Arc<str>) -> u32 {
        let derived = &self.asks[alternative].derived;
        let expression =
            derived.iter().rev().find(|(name, _)| name == attribute).map(|(_, text)| text.clone());
        let key = (attribute.clone(), expression);
        if let Some(known) = self.tables.get(&key) {
            return *known;
        }
        let lists = self.question.gates.enabled(Gate::DRAListTypeAttributes);
        let found = match &key.1 {
            None => {
                let spots = self.problem.spots.iter();
                let numbering = &mut self.numbering;
                spots
                    .map(|spot| numbering.found(spot.device().attribute(&spot.id.driver, attribute), lists))
                    .collect()
            }
            Some(expression) => self.derive(claim, alternative, attribute, expression, lists),
        };
        let table = self.problem.tables.len() as u32;
        self.problem.tables.push(ValueTable::new(found));
        self.tables.insert(key, table);
        table
    }

    /// The values that an expression derives from the devices that the alternative could use.
    fn derive(
        &mut self,
        claim: Asked<'_>,
        alternative: usize,
        attribute: &Arc<str>,
        expression: &Arc<str>,
        lists: bool,
    ) -> Vec<Found> {
        let compiled = self.expressions.derived(expression);
        let request = self.problem.alternatives[alternative].name.clone();
        let mut found = Vec::with_capacity(self.problem.spots.len());
        for spot in &self.problem.spots {
            let broken = |fault: ExpressionFault| {
                Found::Broken(Box::new(AllocationError::Derived {
                    claim: claim.asker(),
                    request: request.clone(),
                    attribute: attribute.clone(),
                    device: Box::new(spot.id.clone()),
                    fault: Box::new(fault),
                }))
            };
            let unreadable = spot.published.unreadable.iter().find(|(row, _)| *row == spot.row);
            found.push(match (&compiled, unreadable) {
                (Err(error), _) => broken(error.clone().into()),
                (Ok(_), Some((_, bad))) => broken(ExpressionFault::Unreadable(bad.clone())),
                (Ok(compiled), None) => {
                    match compiled.derive(&spot.published.table.devices()[spot.row]).result {
                        Ok(value) => self.numbering.found(Some(&published(value)), lists),
                        Err(error) => broken(error.into()),
                    }
                }
            });
        }
        found
    }
}

/// A derived value as if it had been published.
fn published(value: DerivedValue) -> Attribute {
    let texts = |texts: Vec<String>| texts.into_iter().map(Arc::from).collect();
    match value {
        DerivedValue::Bool(value) => Attribute::Bool(value),
        DerivedValue::Int(value) => Attribute::Int(value),
        DerivedValue::String(text) => Attribute::String(text.into()),
        DerivedValue::Version(text) => Attribute::Version(text.into()),
        DerivedValue::Bools(values) => Attribute::Bools(values),
        DerivedValue::Ints(values) => Attribute::Ints(values),
        DerivedValue::Strings(values) => Attribute::Strings(texts(values)),
        DerivedValue::Versions(values) => Attribute::Versions(texts(values)),
    }
}
