//! What comparing quantities leaves behind.
//!
//! The reference keeps an amount in a machine word as long as it can. Comparing it with an amount that needs a wide number
//! turns the left one into a wide number too, in place, and `isInteger` is false for those. So an expression can see
//! that a comparison happened before; this file remembers which amounts it happened to.

use std::ptr;
use std::sync::Arc;

use model::quantity::Quantity;

use super::CallKind;
use super::evaluate::Evaluation;
use crate::library::Family;
use crate::value::{Shared, Value};

impl<'a> Evaluation<'a> {
    fn is_widened(&self, amount: &Quantity) -> bool {
        self.widened.iter().any(|known| ptr::eq::<Quantity>(&**known, amount))
    }

    /// A parsed text is a new amount each time, although it is kept between times.
    pub(super) fn forget(&mut self, value: &Value<'a>) {
        if let (Value::Quantity { amount, .. }, false) = (value, self.widened.is_empty()) {
            self.widened.retain(|known| !ptr::eq::<Quantity>(&**known, &**amount));
        }
    }

    /// Gives a call the amounts as earlier comparisons left them, and remembers what this call will do.
    pub(super) fn widen(&mut self, kind: &CallKind, args: &mut [Value<'a>]) {
        let overload = match kind {
            CallKind::One { family: Family::Quantity, overload, .. } => overload.id,
            CallKind::Any { overloads: [first, ..], .. } => first.id,
            _ => return,
        };
        let compares =
            matches!(overload, "quantity_is_greater_than" | "quantity_is_less_than" | "quantity_compare_to");
        if let (true, [left, right]) = (compares, &*args) {
            self.remember_comparison(left, right);
        }
        if self.widened.is_empty() {
            return;
        }
        for arg in args {
            let Value::Quantity { amount, computed } = arg else { continue };
            if amount.is_wide() || !self.is_widened(amount) {
                continue;
            }
            let mut wide = (**amount).clone();
            wide.widen();
            *arg = Value::Quantity { amount: Shared::Owned(Arc::new(wide)), computed: *computed };
        }
    }

    /// Remembers the left amount if comparing it makes it wide.
    pub(super) fn remember_comparison(&mut self, left: &Value<'a>, right: &Value<'a>) {
        let (Value::Quantity { amount: left, .. }, Value::Quantity { amount: right, .. }) = (left, right)
        else {
            return;
        };
        let becomes_wide = !left.is_wide() && (right.is_wide() || self.is_widened(right));
        if becomes_wide && !self.is_widened(left) {
            self.widened.push(left.clone());
        }
    }
}
