//! Amounts of resources by name.

use std::collections::BTreeMap;

use model::pod::Resources;
use objects::Quantity;

/// Amounts as placement counts them. Names that it does not count are left out, and so are amounts of nothing.
pub(crate) fn resources(amounts: &BTreeMap<String, Quantity>) -> Resources {
    let mut sums = Resources::default();
    for (name, Quantity(amount)) in amounts {
        match name.as_str() {
            "cpu" => sums.cpu_milli = amount.milli_value(),
            "memory" => sums.memory = amount.value(),
            "ephemeral-storage" => sums.ephemeral_storage = amount.value(),
            other if is_counted(other) && !amount.is_zero() => {
                sums.others.insert(other.into(), amount.value());
            }
            _ => {}
        }
    }
    sums
}

/// Whether placement counts a resource other than those that it knows by name.
fn is_counted(name: &str) -> bool {
    name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
        || name.contains("kubernetes.io/")
        || (name.contains('/') && !name.starts_with("requests."))
}
