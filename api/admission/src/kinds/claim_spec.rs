//! What a claim asks for: requests, what must hold between them, and configuration.

use std::collections::{BTreeMap, BTreeSet};

use gates::Gate;
use objects::Raw;
use objects::resource::claim::{
    DeviceClaim, DeviceConstraint, DeviceDerivedAttribute, DeviceRequest, DeviceSelector, DeviceToleration,
    ExactDeviceRequest, OpaqueDeviceConfiguration, ResourceClaimSpec,
};
use schema::Path;
use selector::ExpressionKind;

use crate::cause::{ANY_NUMBER, Causes};
use crate::expressions;
use crate::kind::{Context, Gated};
use crate::kinds::device_names::{driver_name, fully_qualified_name};
use crate::kinds::device_taint::validate_toleration;
use crate::names;

const REQUESTS_MAX: usize = 32;
const CONSTRAINTS_MAX: usize = 32;
const CONFIGS_MAX: usize = 32;
const SELECTORS_MAX: usize = 32;
const ALTERNATIVES_MAX: usize = 8;
const DERIVED_MAX: usize = 32;
const PARAMETERS_BYTES_MAX: usize = 10 * 1024;

/// What a request and an alternative of a request have in common.
struct Wish<'a> {
    class: &'a str,
    selectors: &'a [DeviceSelector],
    derived: &'a [DeviceDerivedAttribute],
    mode: &'a str,
    count: i64,
    tolerations: &'a [DeviceToleration],
}

/// Modes and counts that were left out.
pub(crate) fn set_defaults(spec: &mut ResourceClaimSpec) {
    let default = |mode: &mut String, count: &mut i64| {
        if mode.is_empty() {
            "ExactCount".clone_into(mode);
        }
        if mode == "ExactCount" && *count == 0 {
            *count = 1;
        }
    };
    for request in &mut spec.devices.requests {
        if let Some(exactly) = &mut request.exactly {
            default(&mut exactly.allocation_mode, &mut exactly.count);
        }
        for alternative in &mut request.first_available {
            default(&mut alternative.allocation_mode, &mut alternative.count);
        }
    }
}

fn exact(spec: &ResourceClaimSpec) -> impl Iterator<Item = &ExactDeviceRequest> {
    spec.devices.requests.iter().filter_map(|request| request.exactly.as_ref())
}

fn exact_mut(spec: &mut ResourceClaimSpec) -> impl Iterator<Item = &mut ExactDeviceRequest> {
    spec.devices.requests.iter_mut().filter_map(|request| request.exactly.as_mut())
}

/// What belongs to features.
pub(crate) const GATED: &[Gated<ResourceClaimSpec>] = &[
    Gated {
        gates: &[Gate::DRAPrioritizedList],
        in_use: |spec| spec.devices.requests.iter().any(|request| !request.first_available.is_empty()),
        clear: |spec| spec.devices.requests.iter_mut().for_each(|request| request.first_available.clear()),
    },
    Gated {
        gates: &[Gate::DRADeviceTaints],
        in_use: |spec| {
            exact(spec).any(|exactly| !exactly.tolerations.is_empty())
                || spec
                    .devices
                    .requests
                    .iter()
                    .flat_map(|r| &r.first_available)
                    .any(|sub| !sub.tolerations.is_empty())
        },
        clear: |spec| {
            exact_mut(spec).for_each(|exactly| exactly.tolerations.clear());
            spec.devices
                .requests
                .iter_mut()
                .flat_map(|r| &mut r.first_available)
                .for_each(|sub| sub.tolerations.clear());
        },
    },
    Gated {
        gates: &[Gate::DRAAdminAccess],
        in_use: |spec| exact(spec).any(|exactly| exactly.admin_access.is_some()),
        clear: |spec| exact_mut(spec).for_each(|exactly| exactly.admin_access = None),
    },
    Gated {
        gates: &[Gate::DRAConsumableCapacity],
        in_use: |spec| {
            exact(spec).any(|exactly| exactly.capacity.is_some())
                || spec
                    .devices
                    .requests
                    .iter()
                    .flat_map(|r| &r.first_available)
                    .any(|sub| sub.capacity.is_some())
                || spec.devices.constraints.iter().any(|constraint| constraint.distinct_attribute.is_some())
        },
        clear: |spec| {
            exact_mut(spec).for_each(|exactly| exactly.capacity = None);
            spec.devices
                .requests
                .iter_mut()
                .flat_map(|r| &mut r.first_available)
                .for_each(|sub| sub.capacity = None);
            spec.devices.constraints.iter_mut().for_each(|constraint| constraint.distinct_attribute = None);
        },
    },
    Gated {
        gates: &[Gate::DRADerivedAttributes],
        in_use: |spec| {
            exact(spec).any(|exactly| !exactly.derived_attributes.is_empty())
                || spec
                    .devices
                    .requests
                    .iter()
                    .flat_map(|r| &r.first_available)
                    .any(|sub| !sub.derived_attributes.is_empty())
        },
        clear: |spec| {
            exact_mut(spec).for_each(|exactly| exactly.derived_attributes.clear());
            let alternatives = spec.devices.requests.iter_mut().flat_map(|r| &mut r.first_available);
            alternatives.for_each(|sub| sub.derived_attributes.clear());
        },
    },
    Gated {
        gates: &[Gate::DRAControlPlaneController],
        in_use: |spec| !spec.allocation_mode.is_empty(),
        clear: |spec| spec.allocation_mode.clear(),
    },
];

/// The names that constraints, configuration and results can refer to.
pub(crate) struct RequestNames<'a>(BTreeMap<&'a str, BTreeSet<&'a str>>);

impl<'a> RequestNames<'a> {
    pub(crate) fn of(claim: &'a DeviceClaim) -> Self {
        let alternatives =
            |request: &'a DeviceRequest| request.first_available.iter().map(|sub| sub.name.as_str());
        Self(
            claim
                .requests
                .iter()
                .map(|request| (request.name.as_str(), alternatives(request).collect()))
                .collect(),
        )
    }

    fn has(&self, request: &str, alternative: Option<&str>) -> bool {
        let Some(alternatives) = self.0.get(request) else { return false };
        alternative.is_none_or(|alternative| alternatives.contains(alternative))
    }

    /// A reference must name a request, or a request and one of its alternatives.
    pub(crate) fn check(&self, reference: &str, path: &Path<'_>, causes: &mut Causes) {
        const UNKNOWN: &str =
            "must be the name of a request of the claim, or of a request and its alternative joined by '/'";
        let (request, alternative) = match reference.split('/').collect::<Vec<_>>().as_slice() {
            [request] => (*request, None),
            [request, alternative] => (*request, Some(*alternative)),
            _ => return causes.invalid(path, UNKNOWN),
        };
        for part in std::iter::once(request).chain(alternative) {
            causes.malformed(path, part, names::dns_label(part));
        }
        if !self.has(request, alternative) {
            causes.invalid(path, UNKNOWN);
        }
    }

    /// A list of references, each once.
    pub(crate) fn check_list(&self, references: &[String], path: &Path<'_>, causes: &mut Causes) {
        causes.each_once(references, REQUESTS_MAX, path, Clone::clone, |causes, reference, path| {
            self.check(reference, path, causes);
        });
    }
}

/// The rules for a new claim's spec.
pub(crate) fn validate(
    spec: &ResourceClaimSpec,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    const MODES: [&str; 2] = ["Immediate", "WaitForFirstConsumer"];
    if !spec.allocation_mode.is_empty() && !MODES.contains(&spec.allocation_mode.as_str()) {
        causes.not_supported(&path.field("allocationMode"), &spec.allocation_mode, &MODES);
    }
    let claim = &spec.devices;
    let path = path.field("devices");
    let names = RequestNames::of(claim);
    let mut requests = Requests { constrained: constrained(&claim.constraints), context, derived_cost: 0 };
    let list = path.field("requests");
    causes.each_once(
        &claim.requests,
        REQUESTS_MAX,
        &list,
        |request| request.name.clone(),
        |causes, request, path| {
            requests.validate(request, path, causes);
        },
    );
    let derived_cost = requests.derived_cost;
    causes.each(
        &claim.constraints,
        CONSTRAINTS_MAX,
        &path.field("constraints"),
        |causes, constraint, path| {
            validate_constraint(constraint, &names, path, context, causes);
        },
    );
    causes.each(&claim.config, CONFIGS_MAX, &path.field("config"), |causes, config, path| {
        names.check_list(&config.requests, &path.field("requests"), causes);
        validate_configuration(config.opaque.as_ref(), true, path, causes);
    });
    if derived_cost > expressions::COST_MAX {
        causes.forbidden(&path, "the derived attributes together may cost too much");
    }
}

/// What the constraints look at: an attribute, and the request of which, or none if of all.
type Constrained<'a> = BTreeSet<(&'a str, Option<&'a str>)>;

fn constrained(constraints: &[DeviceConstraint]) -> Constrained<'_> {
    let mut found = BTreeSet::new();
    for constraint in constraints {
        let name = constraint.match_attribute.as_deref().or(constraint.distinct_attribute.as_deref());
        let Some(name) = name else { continue };
        if constraint.requests.is_empty() {
            found.insert((name, None));
        }
        found.extend(constraint.requests.iter().map(|request| (name, Some(request.as_str()))));
    }
    found
}

struct Requests<'a> {
    constrained: Constrained<'a>,
    context: &'a Context<'a>,
    derived_cost: u64,
}

impl Requests<'_> {
    fn validate(&mut self, request: &DeviceRequest, path: &Path<'_>, causes: &mut Causes) {
        causes.malformed(&path.field("name"), &request.name, names::dns_label(&request.name));
        match (&request.exactly, request.first_available.is_empty()) {
            (None, true) => causes.required(path, "exactly or firstAvailable must be set"),
            (Some(_), false) => causes.invalid(path, "only one of exactly and firstAvailable can be set"),
            (Some(exactly), true) => {
                let wish = Wish {
                    class: &exactly.device_class_name,
                    selectors: &exactly.selectors,
                    derived: &exactly.derived_attributes,
                    mode: &exactly.allocation_mode,
                    count: exactly.count,
                    tolerations: &exactly.tolerations,
                };
                self.validate_wish(&wish, &request.name, &path.field("exactly"), causes);
            }
            (None, false) => {
                let list = path.field("firstAvailable");
                let key = |sub: &objects::resource::claim::DeviceSubRequest| sub.name.clone();
                causes.each_once(
                    &request.first_available,
                    ALTERNATIVES_MAX,
                    &list,
                    key,
                    |causes, sub, path| {
                        causes.malformed(&path.field("name"), &sub.name, names::dns_label(&sub.name));
                        let wish = Wish {
                            class: &sub.device_class_name,
                            selectors: &sub.selectors,
                            derived: &sub.derived_attributes,
                            mode: &sub.allocation_mode,
                            count: sub.count,
                            tolerations: &sub.tolerations,
                        };
                        self.validate_wish(&wish, &format!("{}/{}", request.name, sub.name), path, causes);
                    },
                );
            }
        }
    }

    fn validate_wish(&mut self, wish: &Wish<'_>, name: &str, path: &Path<'_>, causes: &mut Causes) {
        let class = path.field("deviceClassName");
        if wish.class.is_empty() {
            causes.required(&class, "must name a device class");
        } else {
            causes.malformed(&class, wish.class, names::dns_subdomain(wish.class));
        }
        validate_selectors(wish.selectors, &path.field("selectors"), self.context, causes);
        self.validate_derived(wish.derived, name, &path.field("derivedAttributes"), causes);
        match wish.mode {
            "All" if wish.count != 0 => causes.invalid(&path.field("count"), "All takes no count"),
            "ExactCount" if wish.count <= 0 => {
                causes.invalid(&path.field("count"), "must be greater than zero")
            }
            "All" | "ExactCount" => {}
            other => causes.not_supported(&path.field("allocationMode"), other, &["All", "ExactCount"]),
        }
        for (index, toleration) in wish.tolerations.iter().enumerate() {
            validate_toleration(toleration, &path.field("tolerations").index(index), causes);
        }
    }

    fn validate_derived(
        &mut self,
        list: &[DeviceDerivedAttribute],
        request: &str,
        path: &Path<'_>,
        causes: &mut Causes,
    ) {
        if list.len() > DERIVED_MAX {
            causes.too_many(path, list.len(), DERIVED_MAX);
        }
        // Of a list that is too long only what the whole claim depends on is looked at.
        let well_formed = list.len() <= DERIVED_MAX;
        let key = |attribute: &DeviceDerivedAttribute| attribute.name.clone();
        causes.each_once(list, ANY_NUMBER, path, key, |causes, attribute, path| {
            let name = path.field("name");
            if well_formed && attribute.name.is_empty() {
                causes.required(&name, "must be set");
            } else if well_formed {
                fully_qualified_name(&attribute.name, &name, causes);
            }
            if !attribute.name.is_empty() && !self.is_constrained(&attribute.name, request) {
                causes
                    .invalid(&name, "must be used by a matchAttribute or distinctAttribute for this request");
            }
            let expression = path.field("expression");
            if attribute.expression.is_empty() {
                if well_formed {
                    causes.required(&expression, "must be set");
                }
            } else {
                let kind = ExpressionKind::Derived;
                let cost =
                    expressions::validate(&attribute.expression, kind, &expression, self.context, causes);
                self.derived_cost = self.derived_cost.saturating_add(cost.unwrap_or(0));
            }
        });
    }

    fn is_constrained(&self, attribute: &str, request: &str) -> bool {
        let parent = request.split_once('/').map(|(parent, _)| parent);
        [Some(None), Some(Some(request)), parent.map(Some)]
            .into_iter()
            .flatten()
            .any(|target| self.constrained.contains(&(attribute, target)))
    }
}

/// Selectors: each with an expression that compiles.
pub(crate) fn validate_selectors(
    list: &[DeviceSelector],
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    causes.each(list, SELECTORS_MAX, path, |causes, selector, path| {
        let path = path.field("cel");
        match &selector.cel {
            None => causes.required(&path, "must be set"),
            Some(cel) => {
                let path = path.field("expression");
                expressions::validate(&cel.expression, ExpressionKind::Selector, &path, context, causes);
            }
        }
    });
}

fn validate_constraint(
    constraint: &DeviceConstraint,
    names: &RequestNames<'_>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    names.check_list(&constraint.requests, &path.field("requests"), causes);
    match (&constraint.match_attribute, &constraint.distinct_attribute) {
        (None, None) if context.has(Gate::DRAConsumableCapacity) => {
            causes.required(path, "matchAttribute or distinctAttribute must be set");
        }
        (None, None) => causes.required(&path.field("matchAttribute"), "must be set"),
        _ => {}
    }
    for (name, value) in [
        ("matchAttribute", &constraint.match_attribute),
        ("distinctAttribute", &constraint.distinct_attribute),
    ] {
        if let Some(value) = value {
            fully_qualified_name(value, &path.field(name), causes);
        }
    }
}

/// Parameters for a driver: a JSON object that is not too large.
pub(crate) fn validate_configuration(
    opaque: Option<&OpaqueDeviceConfiguration>,
    check_size: bool,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    let path = path.field("opaque");
    let Some(opaque) = opaque else { return causes.required(&path, "must be set") };
    driver_name(&opaque.driver, &path.field("driver"), causes);
    let limit = if check_size { PARAMETERS_BYTES_MAX } else { ANY_NUMBER };
    json_object(opaque.parameters.as_ref(), limit, &path.field("parameters"), causes);
}

/// A JSON object of at most `bytes_max` bytes.
pub(crate) fn json_object(json: Option<&Raw>, bytes_max: usize, path: &Path<'_>, causes: &mut Causes) {
    match json.map(Raw::text) {
        None | Some("null") => causes.required(path, "must be a JSON object"),
        Some(text) if text.len() > bytes_max => causes.too_long(path, bytes_max),
        Some(text) if !text.starts_with('{') => causes.invalid(path, "must be a JSON object"),
        Some(_) => {}
    }
}
