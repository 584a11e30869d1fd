//! What a pod needs of its node, put together from what its containers ask for.
//!
//! Containers run side by side, so their requests add up. Containers that run before them come one after the other, each
//! beside those of their kind that stay, so the greatest need of these moments counts.

use std::collections::BTreeMap;

use model::pod::Resources;
use model::quantity::{Format, Quantity as Amount};
use objects::Quantity;
use objects::core::container::Container;
use objects::core::pod::PodSpec;

use crate::resources::resources;

type Amounts = BTreeMap<String, Quantity>;

/// What scores take a container to need that does not say: a tenth of a processor, and 200 Mi of memory.
const CPU_MILLI: i64 = 100;
const MEMORY: i64 = 200 * 1024 * 1024;

/// What a pod needs, and the same as scores count it.
pub(crate) fn requests(spec: &PodSpec) -> (Resources, Resources) {
    let exact = pod_requests(spec, &Amounts::new());
    let mut unsaid = Amounts::new();
    let says = |name: &str| is_set_for_pod(spec) && exact.contains_key(name);
    if !says("cpu") {
        unsaid.insert("cpu".to_owned(), Quantity(Amount::from_milli(CPU_MILLI, Format::DecimalSi)));
    }
    if !says("memory") {
        unsaid.insert("memory".to_owned(), Quantity(Amount::new(MEMORY, Format::BinarySi)));
    }
    let counted = resources(&pod_requests(spec, &unsaid));
    let exact = resources(&exact);
    let scored = Resources { cpu_milli: counted.cpu_milli, memory: counted.memory, ..exact.clone() };
    (exact, scored)
}

fn pod_requests(spec: &PodSpec, unsaid: &Amounts) -> Amounts {
    let mut sums = containers(spec, unsaid);
    let for_pod = spec.resources.iter().flat_map(|resources| &resources.requests);
    for (name, amount) in for_pod.filter(|(name, _)| is_for_pods(name)) {
        sums.insert(name.clone(), amount.clone());
    }
    add(&mut sums, &spec.overhead);
    sums
}

fn containers(spec: &PodSpec, unsaid: &Amounts) -> Amounts {
    let mut sums = Amounts::new();
    for container in &spec.containers {
        add(&mut sums, &container_requests(container, unsaid));
    }
    let mut staying = Amounts::new();
    let mut before = Amounts::new();
    for container in &spec.init_containers {
        let mut moment = container_requests(container, unsaid);
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

fn container_requests(container: &Container, unsaid: &Amounts) -> Amounts {
    let mut amounts = container.resources.requests.clone();
    for (name, amount) in unsaid {
        amounts.entry(name.clone()).or_insert_with(|| amount.clone());
    }
    amounts
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
    fn check(spec: Value, exact: (i64, i64), scored: (i64, i64)) {
        let spec: PodSpec = serde_json::from_value(spec).expect("a spec");
        let pair = |resources: Resources| (resources.cpu_milli, resources.memory);
        let (left, right) = requests(&spec);
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
        check(json!({ "containers": [asks("1", "2k"), asks("500m", "1k")] }), (1500, 3000), (1500, 3000));
    }

    #[test]
    fn containers_that_come_before_count_by_the_greatest_of_each() {
        let before = json!([asks("2", "1k"), asks("1", "3k")]);
        let spec = json!({ "containers": [asks("1", "2k")], "initContainers": before });
        check(spec, (2000, 3000), (2000, 3000));
    }

    #[test]
    fn containers_that_stay_count_beside_those_that_come_after() {
        // The first runs before anything stays, the last beside one container that stays.
        let before = json!([asks("5", "1"), sidecar("1", "1"), asks("5", "1")]);
        let spec = json!({ "containers": [asks("1", "1")], "initContainers": before });
        check(spec, (6000, 2), (6000, 2));
        let spec = json!({ "containers": [asks("7", "1")], "initContainers": before });
        check(spec, (8000, 2), (8000, 2));
        let two = json!([sidecar("1", "1"), sidecar("2", "1")]);
        let spec = json!({ "containers": [asks("4", "1")], "initContainers": two });
        check(spec, (7000, 3), (7000, 3));
    }

    #[test]
    fn what_the_pod_asks_for_itself_comes_before_its_containers_and_overhead_after() {
        let spec = json!({
            "containers": [asks("1", "2k"), asks("1", "2k")],
            "resources": { "requests": { "cpu": "5" } },
            "overhead": { "cpu": "250m", "memory": "1k" },
        });
        check(spec, (5250, 5000), (5250, 5000));
    }

    #[test]
    fn scores_count_a_little_for_containers_that_do_not_say() {
        let little = 200 << 20;
        check(json!({ "containers": [{}, {}] }), (0, 0), (200, 2 * little));
        let zero = json!({ "resources": { "requests": { "cpu": "0" } } });
        check(json!({ "containers": [zero, asks("1", "5")] }), (1000, 5), (1000, little + 5));
        let for_pod = json!({ "requests": { "memory": "7" } });
        check(json!({ "containers": [{}, {}], "resources": for_pod }), (0, 7), (200, 7));
    }

    #[test]
    fn other_resources_are_counted_by_name() {
        let amounts = json!({ "example.com/gpu": "2", "storage": "1", "hugepages-2Mi": "0" });
        let spec = json!({ "containers": [{ "resources": { "requests": amounts } }] });
        let (exact, scored) = requests(&serde_json::from_value(spec).expect("a spec"));
        assert_eq!(exact.others, [("example.com/gpu".into(), 2)].into());
        assert_eq!(scored.others, exact.others);
    }
}
