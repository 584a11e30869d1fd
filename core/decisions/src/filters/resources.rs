//! What a pod needs of its node and must be left.

use cluster::nodes::NodeState;
use model::pod::Shape;

use crate::filters::node::node_of;
use crate::filters::settings::FilterSettings;
use crate::values::node_refusal::{NodeRefusal, ResourceName, Shortage};

pub(crate) fn check(shape: &Shape, state: &NodeState, settings: &FilterSettings) -> Result<(), NodeRefusal> {
    let node = node_of(state);
    let (needed, used, capacity) = (&shape.requests, &state.used, &node.allocatable);
    let mut shortages = Vec::new();
    let pods = i64::try_from(state.pods.len()).unwrap_or(i64::MAX);
    if pods >= node.pods_max {
        shortages.push(Shortage {
            of: ResourceName::Pods,
            requested: 1,
            used: pods,
            capacity: node.pods_max,
        });
    }
    let mut compare = |of: fn() -> ResourceName, requested: i64, used: i64, capacity: i64| {
        if is_short(requested, used, capacity) {
            shortages.push(Shortage { of: of(), requested, used, capacity });
        }
    };
    compare(|| ResourceName::Cpu, needed.cpu_milli, used.cpu_milli, capacity.cpu_milli);
    compare(|| ResourceName::Memory, needed.memory, used.memory, capacity.memory);
    let (storage, storage_used) = (needed.ephemeral_storage, used.ephemeral_storage);
    compare(|| ResourceName::EphemeralStorage, storage, storage_used, capacity.ephemeral_storage);
    for (name, requested) in &needed.others {
        let (used, capacity) = (used.get(name), capacity.get(name));
        if is_short(*requested, used, capacity) && !is_left_out(name, capacity, settings) {
            shortages.push(Shortage {
                of: ResourceName::Other(name.clone()),
                requested: *requested,
                used,
                capacity,
            });
        }
    }
    if shortages.is_empty() { Ok(()) } else { Err(NodeRefusal::Short(shortages)) }
}

/// A pod that needs nothing of a resource is not refused for it, even where there is too little already.
fn is_short(requested: i64, used: i64, capacity: i64) -> bool {
    requested > 0 && requested > capacity.saturating_sub(used)
}

fn is_left_out(name: &str, capacity: i64, settings: &FilterSettings) -> bool {
    let group = name.split_once('/').map(|(group, _)| group).filter(|_| is_extended(name));
    let ignored = group.is_some_and(|group| {
        settings.ignored_resources.contains(name) || settings.ignored_groups.contains(group)
    });
    ignored || (capacity <= 0 && settings.device_resources.contains(name))
}

/// Whether the resource has its name from others than Kubernetes. Only such can be ignored.
fn is_extended(name: &str) -> bool {
    !name.contains("kubernetes.io/") && !name.starts_with("requests.")
}

#[cfg(test)]
mod tests {
    use model::pod::Resources;

    use super::*;
    use crate::sample::{node, nodes, pod, resources, shape, state};

    const GPU: &str = "example.com/gpu";

    /// What a pod with these needs is told by a node with 1000m, 500 bytes and 4 GPUs, of which others use something.
    fn answer(needs: Resources, used: Resources, settings: &FilterSettings) -> String {
        let mut node = node("a", "");
        node.allocatable = resources(1000, 500, &[(GPU, 4)]);
        node.pods_max = 2;
        let mut other = shape("");
        other.requests = used;
        let nodes = nodes([node], [pod("p", "a", other)]);
        let mut shape = shape("");
        shape.requests = needs;
        match check(&shape, state(&nodes, "a"), settings) {
            Ok(()) => "fits".to_owned(),
            Err(refusal) if refusal.is_final() => format!("{refusal}, for good"),
            Err(refusal) => refusal.to_string(),
        }
    }

    #[track_caller]
    fn check_needs(needs: Resources, used: Resources, expected: &str) {
        assert_eq!(answer(needs, used, &FilterSettings::default()), expected);
    }

    #[test]
    fn what_is_left_must_be_enough() {
        let used = || resources(900, 400, &[(GPU, 3)]);
        check_needs(resources(100, 100, &[(GPU, 1)]), used(), "fits");
        check_needs(resources(101, 100, &[]), used(), "Insufficient cpu");
        check_needs(
            resources(101, 101, &[(GPU, 2)]),
            used(),
            "Insufficient cpu, Insufficient memory, Insufficient example.com/gpu",
        );
        check_needs(resources(100, 501, &[]), used(), "Insufficient memory, for good");
        check_needs(resources(0, 0, &[(GPU, 5)]), used(), "Insufficient example.com/gpu, for good");
        check_needs(
            resources(0, 0, &[("example.com/other", 1)]),
            used(),
            "Insufficient example.com/other, for good",
        );
        let disk = Resources { ephemeral_storage: 1, ..Resources::default() };
        check_needs(disk, used(), "Insufficient ephemeral-storage, for good");
    }

    #[test]
    fn a_pod_that_needs_nothing_fits_where_too_much_is_used_already() {
        check_needs(resources(0, 100, &[]), resources(2000, 0, &[]), "fits");
        check_needs(resources(1, 0, &[]), resources(2000, 0, &[]), "Insufficient cpu");
    }

    #[test]
    fn a_node_has_so_many_places() {
        let mut full = node("a", "");
        full.pods_max = 1;
        let nodes = nodes([full], [pod("p", "a", shape(""))]);
        let refusal =
            check(&shape(""), state(&nodes, "a"), &FilterSettings::default()).expect_err("it is full");
        assert_eq!((refusal.to_string().as_str(), refusal.is_final()), ("Too many pods", false));
    }

    #[test]
    fn resources_can_be_ignored_by_name_or_group() {
        let needs = || resources(0, 0, &[(GPU, 9), ("hugepages-2Mi", 1)]);
        let by_name = FilterSettings { ignored_resources: [GPU.into()].into(), ..FilterSettings::default() };
        assert_eq!(answer(needs(), Resources::default(), &by_name), "Insufficient hugepages-2Mi, for good");
        let by_group =
            FilterSettings { ignored_groups: ["example.com".into()].into(), ..FilterSettings::default() };
        assert_eq!(answer(needs(), Resources::default(), &by_group), "Insufficient hugepages-2Mi, for good");
        let native = FilterSettings {
            ignored_resources: ["hugepages-2Mi".into()].into(),
            ..FilterSettings::default()
        };
        assert!(answer(needs(), Resources::default(), &native).contains("hugepages"));
    }

    #[test]
    fn a_node_without_a_resource_leaves_it_to_devices() {
        let settings = FilterSettings {
            device_resources: [GPU.into(), "example.com/nic".into()].into(),
            ..FilterSettings::default()
        };
        assert_eq!(
            answer(resources(0, 0, &[("example.com/nic", 9)]), Resources::default(), &settings),
            "fits"
        );
        let own = answer(resources(0, 0, &[(GPU, 9)]), Resources::default(), &settings);
        assert_eq!(own, "Insufficient example.com/gpu, for good");
    }
}
