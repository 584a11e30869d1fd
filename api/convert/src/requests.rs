//! What a pod needs of its node, put together from what its containers ask for.
//!
//! Containers run side by side, so their requests add up. Containers that run before them come one after the other, each
//! beside those of their kind that stay, so the greatest need of these moments counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::pod::Resources;
use model::quantity::{Format, Quantity as Amount};
use objects::Quantity;
use objects::core::container::Container;
use objects::core::pod::{Pod, PodSpec};

use crate::resources::resources;

type Amounts = BTreeMap<String, Quantity>;

/// What scores take a container to need that does not say: a tenth of a processor, and 200 Mi of memory.
const CPU_MILLI: i64 = 100;
const MEMORY: i64 = 200 * 1024 * 1024;

/// What a pod needs, and the same as scores count it.
///
/// A pod that is on a node may have been given more than it asks for by now, or still have what it asked for before. Then
/// the greatest of these counts.
pub(crate) fn requests(pod: &Pod) -> (Resources, Resources) {
    let spec = &pod.spec;
    let exact = pod_requests(pod, &Amounts::new());
    let mut unsaid = Amounts::new();
    let says = |name: &str| is_set_for_pod(spec) && exact.contains_key(name);
    if !says("cpu") {
        unsaid.insert("cpu".to_owned(), Quantity(Amount::from_milli(CPU_MILLI, Format::DecimalSi)));
    }
    if !says("memory") {
        unsaid.insert("memory".to_owned(), Quantity(Amount::new(MEMORY, Format::BinarySi)));
    }
    let counted = resources(&pod_requests(pod, &unsaid));
    let exact = resources(&exact);
    let scored = Resources { cpu_milli: counted.cpu_milli, memory: counted.memory, ..exact.clone() };
    (exact, scored)
}

fn pod_requests(pod: &Pod, unsaid: &Amounts) -> Amounts {
    let (spec, status) = (&pod.spec, &pod.status);
    let is_placed = !spec.node_name.is_empty();
    let mut sums =
        if is_placed { containers_at_most(pod, unsaid) } else { containers(pod, unsaid, ResizeStage::Asked) };
    if is_placed {
        add(&mut sums, &of_devices(pod));
    }
    if is_set_for_pod(spec) {
        let asked = spec.resources.as_ref().map(|resources| resources.requests.clone());
        let mut for_pod = asked.unwrap_or_default();
        if let Some(actual) = status.resources.as_ref().filter(|_| is_placed) {
            if is_infeasible(pod) {
                for_pod.clear();
            }
            raise(&mut for_pod, &actual.requests);
            raise(&mut for_pod, &status.allocated_resources);
        }
        sums.extend(for_pod.into_iter().filter(|(name, _)| is_for_pods(name)));
    }
    add(&mut sums, &spec.overhead);
    sums
}

/// What the devices of a pod take of its node, as the scheduler that placed it has noted.
fn of_devices(pod: &Pod) -> Amounts {
    let mut sums = Amounts::new();
    let mut count = |name: &String, amount: Option<&Quantity>| {
        if let Some(amount) = amount {
            add(&mut sums, &[(name.clone(), amount.clone())].into());
        }
    };
    for claim in &pod.status.node_allocatable_resource_claim_statuses {
        for mapping in &claim.mapping {
            count(&mapping.name, mapping.quantity.as_ref());
        }
        for overhead in &claim.overhead {
            count(&overhead.name, overhead.per_pod.as_ref());
            for _ in &claim.containers {
                count(&overhead.name, overhead.per_container.as_ref());
            }
        }
    }
    sums
}

/// What a pod asks for as a whole, and how much of that its containers do not ask for.
pub(crate) fn spare(pod: &Pod) -> Vec<(Arc<str>, i64)> {
    let Some(asked) = pod.spec.resources.as_ref().map(|resources| &resources.requests) else {
        return Vec::new();
    };
    let (whole, parts) = (resources(asked), resources(&containers(pod, &Amounts::new(), ResizeStage::Asked)));
    let names = asked.keys().filter(|name| is_for_pods(name));
    names.map(|name| (name.as_str().into(), whole.get(name).saturating_sub(parts.get(name)))).collect()
}

/// How far a change of what a container asks for has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResizeStage {
    /// It is asked for.
    Asked,
    /// The node has set it aside.
    Allocated,
    /// The container has it.
    Actual,
}

fn containers_at_most(pod: &Pod, unsaid: &Amounts) -> Amounts {
    let status = &pod.status;
    let actual = status.resources.as_ref().map(|resources| &resources.requests);
    let mut most = match actual.filter(|amounts| !amounts.is_empty()) {
        Some(actual) if !status.allocated_resources.is_empty() => {
            let mut most = status.allocated_resources.clone();
            raise(&mut most, actual);
            most
        }
        _ => {
            let mut most = containers(pod, unsaid, ResizeStage::Allocated);
            raise(&mut most, &containers(pod, unsaid, ResizeStage::Actual));
            most
        }
    };
    if !is_infeasible(pod) {
        raise(&mut most, &containers(pod, unsaid, ResizeStage::Asked));
    }
    most
}

/// Whether the node has said that the pod can never have what it asks for now.
fn is_infeasible(pod: &Pod) -> bool {
    let pending = pod.status.conditions.iter().find(|condition| condition.type_ == "PodResizePending");
    pending.is_some_and(|condition| condition.reason == "Infeasible")
}

fn containers(pod: &Pod, unsaid: &Amounts, stage: ResizeStage) -> Amounts {
    let mut sums = Amounts::new();
    for container in &pod.spec.containers {
        add(&mut sums, &container_requests(pod, container, unsaid, stage));
    }
    let mut staying = Amounts::new();
    let mut before = Amounts::new();
    for container in &pod.spec.init_containers {
        let mut moment = container_requests(pod, container, unsaid, stage);
        if stays(container) {
            add(&mut sums, &moment);
            add(&mut staying, &moment);
            raise(&mut before, &staying);
        } else {
            add(&mut moment, &staying);
            raise(&mut before, &moment);
        }
    }
    raise(&mut sums, &before);
    sums
}

fn container_requests(pod: &Pod, container: &Container, unsaid: &Amounts, stage: ResizeStage) -> Amounts {
    let mut amounts = said(pod, container, stage).cloned().unwrap_or_default();
    for (name, amount) in unsaid {
        amounts.entry(name.clone()).or_insert_with(|| amount.clone());
    }
    amounts
}

fn said<'a>(pod: &'a Pod, container: &'a Container, stage: ResizeStage) -> Option<&'a Amounts> {
    let asked = &container.resources.requests;
    if stage == ResizeStage::Asked {
        return Some(asked);
    }
    let mut statuses = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
    let status = statuses.find(|status| status.name == container.name);
    let actual = status.and_then(|status| status.resources.as_ref()).map(|resources| &resources.requests);
    let actual = actual.filter(|amounts| stage == ResizeStage::Actual && !amounts.is_empty());
    let allocated = status.map(|status| &status.allocated_resources).filter(|amounts| !amounts.is_empty());
    actual.or(allocated).or_else(|| (!is_infeasible(pod)).then_some(asked))
}

/// Whether a container that starts before the others runs beside them from then on.
pub(crate) fn stays(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// Whether a resource can be asked for by a pod as a whole.
fn is_for_pods(name: &str) -> bool {
    name == "cpu" || name == "memory" || name.starts_with("hugepages-")
}

fn is_set_for_pod(spec: &PodSpec) -> bool {
    spec.resources.as_ref().is_some_and(|resources| resources.requests.keys().any(|name| is_for_pods(name)))
}

fn add(sums: &mut Amounts, amounts: &Amounts) {
    for (name, amount) in amounts {
        match sums.get_mut(name) {
            Some(sum) => sum.0 += &amount.0,
            None => {
                sums.insert(name.clone(), amount.clone());
            }
        }
    }
}

fn raise(sums: &mut Amounts, amounts: &Amounts) {
    for (name, amount) in amounts {
        if sums.get(name).is_none_or(|sum| sum.0 < amount.0) {
            sums.insert(name.clone(), amount.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Processor and memory of a pod: exact, then scored.
    #[track_caller]
    fn check(spec: &Value, exact: (i64, i64), scored: (i64, i64)) {
        let pod: Pod = serde_json::from_value(json!({ "spec": spec })).expect("a pod");
        let pair = |resources: Resources| (resources.cpu_milli, resources.memory);
        let (left, right) = requests(&pod);
        assert_eq!((pair(left), pair(right)), (exact, scored));
    }

    fn asks(cpu: &str, memory: &str) -> Value {
        json!({ "resources": { "requests": { "cpu": cpu, "memory": memory } } })
    }

    fn sidecar(cpu: &str, memory: &str) -> Value {
        let mut container = asks(cpu, memory);
        container["restartPolicy"] = json!("Always");
        container
    }

    #[test]
    fn containers_add_up() {
        check(&json!({ "containers": [asks("1", "2k"), asks("500m", "1k")] }), (1500, 3000), (1500, 3000));
    }

    #[test]
    fn containers_that_come_before_count_by_the_greatest_of_each() {
        let before = json!([asks("2", "1k"), asks("1", "3k")]);
        let spec = json!({ "containers": [asks("1", "2k")], "initContainers": before });
        check(&spec, (2000, 3000), (2000, 3000));
    }

    #[test]
    fn containers_that_stay_count_beside_those_that_come_after() {
        // The first runs before anything stays, the last beside one container that stays.
        let before = json!([asks("5", "1"), sidecar("1", "1"), asks("5", "1")]);
        let spec = json!({ "containers": [asks("1", "1")], "initContainers": before });
        check(&spec, (6000, 2), (6000, 2));
        let spec = json!({ "containers": [asks("7", "1")], "initContainers": before });
        check(&spec, (8000, 2), (8000, 2));
        let two = json!([sidecar("1", "1"), sidecar("2", "1")]);
        let spec = json!({ "containers": [asks("4", "1")], "initContainers": two });
        check(&spec, (7000, 3), (7000, 3));
    }

    #[test]
    fn what_the_pod_asks_for_itself_comes_before_its_containers_and_overhead_after() {
        let spec = json!({
            "containers": [asks("1", "2k"), asks("1", "2k")],
            "resources": { "requests": { "cpu": "5" } },
            "overhead": { "cpu": "250m", "memory": "1k" },
        });
        check(&spec, (5250, 5000), (5250, 5000));
    }

    #[test]
    fn scores_count_a_little_for_containers_that_do_not_say() {
        let little = 200 << 20;
        check(&json!({ "containers": [{}, {}] }), (0, 0), (200, 2 * little));
        let zero = json!({ "resources": { "requests": { "cpu": "0" } } });
        check(&json!({ "containers": [zero, asks("1", "5")] }), (1000, 5), (1000, little + 5));
        let for_pod = json!({ "requests": { "memory": "7" } });
        check(&json!({ "containers": [{}, {}], "resources": for_pod }), (0, 7), (200, 7));
    }

    #[test]
    fn other_resources_are_counted_by_name() {
        let amounts = json!({ "example.com/gpu": "2", "storage": "1", "hugepages-2Mi": "0" });
        let spec = json!({ "containers": [{ "resources": { "requests": amounts } }] });
        let (exact, scored) = requests(&serde_json::from_value(json!({ "spec": spec })).expect("a pod"));
        assert_eq!(exact.others, [("example.com/gpu".into(), 2)].into());
        assert_eq!(scored.others, exact.others);
    }

    /// Processor of a pod with one container that asks for so much, given its status.
    #[track_caller]
    fn check_changed(node: &str, asked: &str, status: &Value, expected: i64) {
        let mut container = asks(asked, "1");
        container["name"] = json!("c");
        let pod = json!({ "spec": { "nodeName": node, "containers": [container] }, "status": status });
        let (exact, _) = requests(&serde_json::from_value(pod).expect("a pod"));
        assert_eq!(exact.cpu_milli, expected);
    }

    #[test]
    fn what_devices_take_counts_once_the_pod_has_its_node() {
        let status = json!({ "nodeAllocatableResourceClaimStatuses": [{
            "resourceClaimName": "one",
            "containers": ["c", "d"],
            "mapping": [{ "name": "cpu", "quantity": "2" }],
            "overhead": [{ "name": "cpu", "perPod": "100m", "perContainer": "10m" }],
        }] });
        check_changed("a", "1", &status, 3120);
        check_changed("", "1", &status, 1000);
    }

    #[test]
    fn what_is_asked_for_as_a_whole_and_not_by_containers_is_to_spare() {
        let spec = json!({
            "containers": [asks("1", "2k")],
            "resources": { "requests": { "cpu": "5", "hugepages-2Mi": "4Mi" } },
        });
        let pod = serde_json::from_value(json!({ "spec": spec })).expect("a pod");
        assert_eq!(spare(&pod), [("cpu".into(), 4000), ("hugepages-2Mi".into(), 4 << 20)]);
        let pod = serde_json::from_value(json!({ "spec": { "containers": [asks("1", "1")] } }));
        assert_eq!(spare(&pod.expect("a pod")), []);
    }

    #[test]
    fn a_pod_that_is_being_resized_counts_by_the_greatest_of_old_and_new() {
        let allocated =
            json!({ "containerStatuses": [{ "name": "c", "allocatedResources": { "cpu": "3" } }] });
        check_changed("a", "1", &allocated, 3000);
        check_changed("a", "4", &allocated, 4000);
        check_changed("", "1", &allocated, 1000);
        let actual = json!({ "containerStatuses": [{
            "name": "c", "allocatedResources": { "cpu": "2" }, "resources": { "requests": { "cpu": "3" } },
        }] });
        check_changed("a", "1", &actual, 3000);
        let mut infeasible = actual;
        infeasible["conditions"] = json!([{ "type": "PodResizePending", "reason": "Infeasible" }]);
        check_changed("a", "9", &infeasible, 3000);
        let whole =
            json!({ "allocatedResources": { "cpu": "5" }, "resources": { "requests": { "cpu": "4" } } });
        check_changed("a", "1", &whole, 5000);
    }
}
