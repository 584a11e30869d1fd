//! A device is selected by its class and by its request, and is for the node.

use objects::resource::claim::DeviceSelector;

use crate::attempt::{Attempt, Pick};
use crate::reach::device_reaches;
use crate::violation::Violation;

/// What keeps a device from being selected.
pub(crate) fn check(attempt: &Attempt<'_>, pick: &Pick<'_>) -> Vec<Violation> {
    let Some(class) = attempt.evidence.class(pick.wanted.class) else {
        return vec![Violation::UnknownClass {
            claim: pick.wanted.claim_name(),
            request: pick.wanted.name(),
            class: pick.wanted.class.to_owned(),
        }];
    };
    let selectors = class.spec.selectors.iter().chain(pick.wanted.selectors);
    let mut violations: Vec<_> =
        selectors.filter_map(|selector| rejection(attempt, pick, selector)).collect();
    if !device_reaches(pick.found.slice, pick.found.device, attempt.node) {
        violations.push(Violation::NotOffered {
            choice: pick.choice(),
            node: attempt.node.metadata.name.clone(),
            why: "the device is for other nodes".to_owned(),
        });
    }
    violations
}

fn rejection(attempt: &Attempt<'_>, pick: &Pick<'_>, selector: &DeviceSelector) -> Option<Violation> {
    let choice = pick.choice();
    let Some(cel) = &selector.cel else {
        let (expression, why) = (String::new(), "the selector has no expression".to_owned());
        return Some(Violation::SelectorFails { choice, expression, why });
    };
    let expression = cel.expression.clone();
    match attempt.expressions.holds(&expression, &pick.found.slice.spec.driver, pick.found.device) {
        Ok(true) => None,
        Ok(false) => Some(Violation::NotSelected { choice, expression }),
        Err(why) => Some(Violation::SelectorFails { choice, expression, why }),
    }
}
