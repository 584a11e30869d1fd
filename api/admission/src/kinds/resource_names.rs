//! Names of compute resources, and the amounts that they may have.

use std::collections::BTreeMap;

use model::quantity::{MILLI, Quantity as Amount};
use objects::Quantity;
use schema::Path;

use crate::cause::Causes;
use crate::names;

const HUGE_PAGES: &str = "hugepages-";
/// Names without a domain that mean something somewhere.
const STANDARD: [&str; 20] = [
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
    "storage",
];
/// Resources that are counted in whole numbers.
const COUNTED: [&str; 9] = [
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];

/// Pages of one size.
pub(crate) fn is_huge_pages(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

/// A resource that Kubernetes itself knows.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// A resource that a device plugin or a driver brings.
pub(crate) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::label_key(&format!("requests.{name}")).is_empty()
}

/// More of it may be promised than there is, so a request does without a limit.
pub(crate) fn may_be_overcommitted(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

/// A resource that a pod as a whole can have.
pub(crate) fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge_pages(name)
}

/// A resource of a node that devices can stand for.
pub(crate) fn is_node_allocatable(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge_pages(name)
}

/// The name is well formed and, without a domain, known.
fn validate_name(name: &str, path: &Path<'_>, causes: &mut Causes) -> bool {
    let faults = names::label_key(name);
    if !faults.is_empty() {
        causes.malformed(path, name, faults);
        return false;
    }
    if !name.contains('/') && !is_huge_pages(name) && !STANDARD.contains(&name) {
        causes.invalid(path, format!("{name:?} must be a standard resource or have a domain"));
        return false;
    }
    true
}

/// A name that a container may ask for.
pub(crate) fn validate_container_name(name: &str, path: &Path<'_>, causes: &mut Causes) {
    validate_name(name, path, causes);
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge_pages(name) {
            causes.invalid(path, format!("{name:?} is no resource for containers"));
        }
    } else if !is_native(name) && !is_extended(name) {
        causes.invalid(path, format!("{name:?} is no name for an extended resource"));
    }
}

/// A name that a pod as a whole may ask for.
pub(crate) fn validate_pod_name(name: &str, path: &Path<'_>, causes: &mut Causes) {
    if validate_name(name, path, causes) && !is_pod_level(name) {
        causes.not_supported(path, name, &["cpu", "hugepages-", "memory"]);
    }
}

/// The amount is not negative, and whole where the resource is counted.
pub(crate) fn validate_amount(name: &str, amount: &Quantity, path: &Path<'_>, causes: &mut Causes) {
    if amount.0.signum() < 0 {
        causes.invalid(path, "must not be negative");
    }
    let counted = COUNTED.contains(&name) || is_extended(name);
    if counted && amount.0.milli_value() % 1000 != 0 {
        causes.invalid(path, "must be a whole number");
    }
}

/// An amount of huge pages is a number of whole pages.
pub(crate) fn is_whole_pages(name: &str, amount: &Quantity) -> bool {
    let Some(size) = name.strip_prefix(HUGE_PAGES).and_then(|size| size.parse::<Amount>().ok()) else {
        return false;
    };
    size.signum() > 0
        && size.milli_value() % 1000 == 0
        && amount.0.value().checked_rem(size.value()).is_some_and(|rest| rest == 0)
}

/// No resource is measured finer than in thousandths.
pub(crate) fn round_up(list: &mut BTreeMap<String, Quantity>) {
    for amount in list.values_mut() {
        amount.0.round_up(MILLI);
    }
}

#[cfg(test)]
mod tests {
    use objects::Quantity;

    use super::{is_extended, is_native, is_whole_pages, may_be_overcommitted};

    #[test]
    fn a_domain_makes_a_resource_extended_unless_it_is_kubernetes_own() {
        assert!(is_extended("example.com/gpu"));
        assert!(!is_extended("requests.example.com/gpu"));
        assert!(is_native("kubernetes.io/x") && is_native("cpu"));
        assert!(may_be_overcommitted("cpu") && !may_be_overcommitted("hugepages-2Mi"));
    }

    #[test]
    fn huge_pages_come_whole() {
        let amount = |text: &str| Quantity(text.parse().expect("a quantity"));
        assert!(is_whole_pages("hugepages-2Mi", &amount("4Mi")));
        assert!(!is_whole_pages("hugepages-2Mi", &amount("3Mi")));
        assert!(!is_whole_pages("hugepages-", &amount("3Mi")));
    }
}
