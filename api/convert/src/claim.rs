//! Resource claims: what is asked for.

use model::claim::{Amount, Ask, Claim, ClaimId, ClaimSpec, Constraint, Request, Rule, Wish};
use model::request_name::RequestName;
use objects::resource::claim::{
    CapacityRequirements, DeviceConstraint, DeviceDerivedAttribute, DeviceRequest, DeviceSelector,
    DeviceSubRequest, DeviceToleration, ExactDeviceRequest, ResourceClaim,
};

use crate::class::selectors;
use crate::error::{ConvertError, ObjectName, named};
use crate::taint::toleration;

/// Which claim an object is.
#[must_use]
pub fn claim_id(object: &ResourceClaim) -> ClaimId {
    let meta = &object.metadata;
    ClaimId { namespace: meta.namespace.as_str().into(), name: meta.name.as_str().into() }
}

/// What core knows of a claim. Its configuration stays in the object, and is copied from there when it is granted.
///
/// # Errors
/// Something in the claim has no name, or it asks for less than no device.
pub fn claim(object: &ResourceClaim) -> Result<Claim, ConvertError> {
    let devices = &object.spec.devices;
    named(object, &object.metadata.name, || "metadata.name".to_owned())?;
    let requests = devices.requests.iter().enumerate().map(|(at, one)| request(object, at, one));
    let spec = ClaimSpec {
        requests: requests.collect::<Result<_, _>>()?,
        constraints: devices.constraints.iter().map(constraint).collect(),
        configs: devices.config.iter().map(|config| request_names(&config.requests)).collect(),
    };
    Ok(Claim { id: claim_id(object), spec })
}

fn request(claim: &ResourceClaim, at: usize, object: &DeviceRequest) -> Result<Request, ConvertError> {
    let place = || format!("spec.devices.requests[{at}]");
    let wish = if object.first_available.is_empty() {
        // A request of a form that we do not know has no class, and is refused for that where others are judged.
        let asked = object.exactly.as_ref().map(Asked::exactly).unwrap_or_default();
        Wish::Exactly(asked.ask(claim, || format!("{}.exactly", place()))?)
    } else {
        let alternatives = object.first_available.iter().enumerate().map(|(nth, alternative)| {
            let place = || format!("{}.firstAvailable[{nth}]", place());
            let name = named(claim, &alternative.name, || format!("{}.name", place()))?;
            Ok((name, Asked::alternatively(alternative).ask(claim, place)?))
        });
        Wish::FirstAvailable(alternatives.collect::<Result<_, _>>()?)
    };
    Ok(Request { name: named(claim, &object.name, || format!("{}.name", place()))?, wish })
}

/// What requests and their alternatives have in common.
#[derive(Default)]
struct Asked<'o> {
    admin_access: Option<bool>,
    allocation_mode: &'o str,
    capacity: Option<&'o CapacityRequirements>,
    count: i64,
    derived_attributes: &'o [DeviceDerivedAttribute],
    device_class_name: &'o str,
    selectors: &'o [DeviceSelector],
    tolerations: &'o [DeviceToleration],
}

impl<'o> Asked<'o> {
    fn exactly(object: &'o ExactDeviceRequest) -> Asked<'o> {
        Asked {
            admin_access: object.admin_access,
            allocation_mode: &object.allocation_mode,
            capacity: object.capacity.as_ref(),
            count: object.count,
            derived_attributes: &object.derived_attributes,
            device_class_name: &object.device_class_name,
            selectors: &object.selectors,
            tolerations: &object.tolerations,
        }
    }

    fn alternatively(object: &'o DeviceSubRequest) -> Asked<'o> {
        Asked {
            admin_access: None,
            allocation_mode: &object.allocation_mode,
            capacity: object.capacity.as_ref(),
            count: object.count,
            derived_attributes: &object.derived_attributes,
            device_class_name: &object.device_class_name,
            selectors: &object.selectors,
            tolerations: &object.tolerations,
        }
    }

    fn ask(&self, claim: &ResourceClaim, place: impl Fn() -> String) -> Result<Ask, ConvertError> {
        let amount = match self.allocation_mode {
            "ExactCount" if self.count < 0 => {
                let (field, value) = (format!("{}.count", place()), self.count);
                return Err(ConvertError::Negative { object: ObjectName::of(claim), field, value });
            }
            "ExactCount" => Amount::Exactly(self.count),
            "All" => Amount::All,
            other => Amount::Unknown(other.into()),
        };
        let capacity = self.capacity.map(|capacity| {
            let amounts = capacity.requests.iter();
            amounts.map(|(name, amount)| (name.as_str().into(), amount.0.clone())).collect()
        });
        let derived = self.derived_attributes.iter();
        Ok(Ask {
            class: self.device_class_name.into(),
            selectors: selectors(self.selectors),
            amount,
            admin_access: self.admin_access,
            tolerations: self.tolerations.iter().map(toleration).collect(),
            capacity,
            derived: derived.map(|one| (one.name.as_str().into(), one.expression.as_str().into())).collect(),
        })
    }
}

fn constraint(object: &DeviceConstraint) -> Constraint {
    let rule = match (&object.match_attribute, &object.distinct_attribute) {
        // Both are let through by the API server, and then the devices need only have a value in common.
        (Some(attribute), _) => Rule::Match(attribute.as_str().into()),
        (None, Some(attribute)) => Rule::Distinct(attribute.as_str().into()),
        (None, None) => Rule::Unknown,
    };
    Constraint { requests: request_names(&object.requests), rule }
}

/// Requests and alternatives of requests.
fn request_names(texts: &[String]) -> Vec<RequestName> {
    texts.iter().map(|text| request_name(text)).collect()
}

/// A request, or an alternative of one, which is told as `request/alternative`.
pub(crate) fn request_name(text: &str) -> RequestName {
    match text.split_once('/') {
        None => text.into(),
        Some((request, subrequest)) => {
            RequestName { request: request.into(), subrequest: Some(subrequest.into()) }
        }
    }
}
