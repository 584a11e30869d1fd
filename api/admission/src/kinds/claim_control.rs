//! Claims whose devices are given by drivers' own controllers: a claim says who gave it devices, that is the one whom its classes name,
//! and that one takes them back.
//!
//! Invariant: what has devices can be given back. An allocation without the name of its driver would look like one of the
//! scheduler's, which would be cleared without the driver, and one that is cleared unasked would leave devices that nobody frees.

use objects::resource::claim::ResourceClaim;
use objects::supercargo::control::{self, ClassControl, Form};
use schema::Path;

use crate::cause::Causes;
use crate::kind::Context;

/// The rules for a change of the status of a claim.
pub(crate) fn validate(
    claim: &ResourceClaim,
    old: &ResourceClaim,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let status = Path::ROOT.field("status");
    match (&old.status.allocation, &claim.status.allocation) {
        (None, Some(_)) => {
            let Some(wanted) = control_of(claim, context) else { return };
            let given_by = control::controller(claim);
            if given_by == wanted.controller {
                return;
            }
            let path = status.field("controllerName");
            match (given_by, wanted.form) {
                ("", Form::Fields) => {
                    causes.required(
                        &path,
                        &format!("controller {} allocates claims of this class", wanted.controller),
                    );
                }
                ("", Form::Annotations) => causes.required(
                    &path,
                    &format!(
                        "controller {} allocates claims of this class, and must first annotate the claim",
                        wanted.controller
                    ),
                ),
                _ => causes.invalid(&path, format!("must be {}, as the class says", wanted.controller)),
            }
        }
        (Some(_), None) => {
            let driver = control::controller(old);
            let is_asked = control::is_leaving(old) || old.metadata.deletion_timestamp.is_some();
            if !driver.is_empty() && !is_asked {
                let message = format!(
                    "may be cleared only on request; hint: set status.deallocationRequested, or delete the claim, \
                        and driver {driver} deallocates it"
                );
                causes.forbidden(&status.field("allocation"), message);
            }
        }
        (Some(_), Some(_)) => {
            let driver = control::controller(old);
            if !driver.is_empty() && control::controller(claim) != driver {
                let message = format!("must stay {driver} while the claim is allocated");
                causes.invalid(&status.field("controllerName"), message);
            }
        }
        (None, None) => {}
    }
}

/// What the classes of a claim say of the controller, if one of them leaves its devices to one. Classes that are gone say nothing.
fn control_of(claim: &ResourceClaim, context: &Context<'_>) -> Option<ClassControl> {
    let exact = claim.spec.devices.requests.iter().filter_map(|request| request.exactly.as_ref());
    exact
        .filter_map(|exactly| context.surroundings.device_class(&exactly.device_class_name))
        .find_map(|class| control::of_class(&class).ok()?)
}
