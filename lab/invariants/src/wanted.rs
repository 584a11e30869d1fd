//! What a claim asks for: its requests, each as the alternatives that would satisfy it.

use objects::resource::claim::{
    CapacityRequirements, DeviceDerivedAttribute, DeviceRequest, DeviceSelector, DeviceToleration,
    ResourceClaim,
};

use crate::names::ClaimName;

/// One way to satisfy a request.
#[derive(Clone, Debug)]
pub(crate) struct Wanted<'o> {
    pub(crate) claim: &'o ResourceClaim,
    pub(crate) request: &'o str,
    /// The name of the alternative, if the request lists alternatives.
    pub(crate) alternative: Option<&'o str>,
    pub(crate) class: &'o str,
    pub(crate) selectors: &'o [DeviceSelector],
    pub(crate) how_many: HowMany,
    /// Whether admin access was asked for; also saying no needs the feature.
    pub(crate) admin: Option<bool>,
    pub(crate) tolerations: &'o [DeviceToleration],
    pub(crate) capacity: Option<&'o CapacityRequirements>,
    pub(crate) derived: &'o [DeviceDerivedAttribute],
}

/// How many devices a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HowMany {
    Exactly(usize),
    All,
    /// A mode that nobody knows, which nothing satisfies.
    Unknown,
}

impl Wanted<'_> {
    /// The name that results carry: `request`, or `request/alternative`.
    pub(crate) fn name(&self) -> String {
        match self.alternative {
            Some(alternative) => format!("{}/{alternative}", self.request),
            None => self.request.to_owned(),
        }
    }

    pub(crate) fn claim_name(&self) -> ClaimName {
        ClaimName::of(self.claim)
    }

    /// Whether this is a request of the very claim; names would do if only one claim had each.
    pub(crate) fn is_of(&self, claim: &ResourceClaim) -> bool {
        std::ptr::eq(self.claim, claim)
    }

    pub(crate) fn is_admin(&self) -> bool {
        self.admin == Some(true)
    }

    /// Whether a list of request names means this one. No names at all mean every request.
    pub(crate) fn is_named_in(&self, requests: &[String]) -> bool {
        let name = self.name();
        requests.is_empty() || requests.iter().any(|one| one == self.request || *one == name)
    }
}

/// The requests of a claim, in order, each with its alternatives.
pub(crate) fn requests(claim: &ResourceClaim) -> Vec<(&str, Vec<Wanted<'_>>)> {
    let requests = claim.spec.devices.requests.iter();
    requests.map(|request| (request.name.as_str(), alternatives(claim, request))).collect()
}

fn alternatives<'o>(claim: &'o ResourceClaim, request: &'o DeviceRequest) -> Vec<Wanted<'o>> {
    if let Some(exactly) = &request.exactly {
        return vec![Wanted {
            claim,
            request: &request.name,
            alternative: None,
            class: &exactly.device_class_name,
            selectors: &exactly.selectors,
            how_many: how_many(&exactly.allocation_mode, exactly.count),
            admin: exactly.admin_access,
            tolerations: &exactly.tolerations,
            capacity: exactly.capacity.as_ref(),
            derived: &exactly.derived_attributes,
        }];
    }
    let alternatives = request.first_available.iter().map(|sub| Wanted {
        claim,
        request: &request.name,
        alternative: Some(&sub.name),
        class: &sub.device_class_name,
        selectors: &sub.selectors,
        how_many: how_many(&sub.allocation_mode, sub.count),
        admin: None,
        tolerations: &sub.tolerations,
        capacity: sub.capacity.as_ref(),
        derived: &sub.derived_attributes,
    });
    alternatives.collect()
}

/// The API server fills in the mode and the count, so an object without them means the same.
fn how_many(mode: &str, count: i64) -> HowMany {
    match mode {
        "" | "ExactCount" => usize::try_from(count).map_or(HowMany::Unknown, |n| HowMany::Exactly(n.max(1))),
        "All" => HowMany::All,
        _ => HowMany::Unknown,
    }
}
