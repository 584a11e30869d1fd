//! Device classes.

use gates::Gate;
use objects::resource::class::{DeviceClass, DeviceClassSpec};
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context, Gated, strip};
use crate::kinds::claim_spec::{validate_configuration, validate_selectors};
use crate::kinds::device_names::driver_name;
use crate::names;
use crate::selectors::node_selector;

const CONFIGS_MAX: usize = 32;
const SELECTORS_MAX: usize = 32;

impl Admit for DeviceClass {
    const COUNTS_GENERATIONS: bool = true;

    fn prepare_create(&mut self, context: &Context<'_>) {
        strip(GATED, &mut self.spec, None, context);
    }

    fn prepare_update(&mut self, old: &Self, context: &Context<'_>) {
        strip(GATED, &mut self.spec, Some(&old.spec), context);
    }

    fn validate(&self, context: &Context<'_>, causes: &mut Causes) {
        validate(&self.spec, None, context, causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        validate(&self.spec, Some(&old.spec), context, causes);
    }

    fn same_spec(&self, old: &Self) -> bool {
        self.spec == old.spec
    }
}

const GATED: &[Gated<DeviceClassSpec>] = &[
    Gated {
        gates: &[Gate::DRAExtendedResource],
        in_use: |spec| spec.extended_resource_name.is_some(),
        clear: |spec| spec.extended_resource_name = None,
    },
    Gated {
        gates: &[Gate::DRAControlPlaneController],
        in_use: |spec| !spec.controller_name.is_empty() || spec.suitable_nodes.is_some(),
        clear: |spec| {
            spec.controller_name.clear();
            spec.suitable_nodes = None;
        },
    },
];

/// Expressions and parameters that were stored before are not judged again, so that rules can become stricter.
fn validate(
    spec: &DeviceClassSpec,
    old: Option<&DeviceClassSpec>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let path = Path::ROOT.field("spec");
    let selectors = path.field("selectors");
    if old.is_none_or(|old| old.selectors != spec.selectors) {
        validate_selectors(&spec.selectors, &selectors, context, causes);
    } else if spec.selectors.len() > SELECTORS_MAX {
        causes.too_many(&selectors, spec.selectors.len(), SELECTORS_MAX);
    }
    let new_config = old.is_none_or(|old| old.config != spec.config);
    causes.each(&spec.config, CONFIGS_MAX, &path.field("config"), |causes, config, path| {
        validate_configuration(config.opaque.as_ref(), new_config, path, causes);
    });
    if let Some(name) = &spec.extended_resource_name {
        extended_resource_name(name, &path.field("extendedResourceName"), causes);
    }
    if !spec.controller_name.is_empty() {
        driver_name(&spec.controller_name, &path.field("controllerName"), causes);
    }
    if let Some(selector) = &spec.suitable_nodes {
        node_selector(selector, &path.field("suitableNodes"), causes);
    }
}

/// A name under which containers can ask for devices: a domain, which is not Kubernetes' own, and a name.
fn extended_resource_name(name: &str, path: &Path<'_>, causes: &mut Causes) {
    if !name.contains('/') {
        causes.invalid(path, "must have a domain, as in example.com/gpu");
    } else if name.contains("kubernetes.io/") {
        causes.invalid(path, "must not be in the domain kubernetes.io");
    }
    if name.starts_with("requests.") {
        causes.invalid(path, "must not start with requests., which quotas use");
    }
    causes.malformed(path, name, names::label_key(&format!("requests.{name}")));
}
