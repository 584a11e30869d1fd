//! Plans for people: first whether the pods fit, then where each would be, what would be preempted, and how much of the nodes is in use
//! before and after.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::facts::Facts;
use plan::{
    ClusterUsage, Extent, InUse, LikeNodes, Origin, PlannedPod, PodPlan, Standing, Usage, like_nodes,
};

use crate::amounts::{cpu, memory};
use crate::columns::{columns, row};

/// Up to how many nodes each has a row of its own.
const ROWS_MAX: usize = 20;

/// A plan.
pub(super) fn plan(plan: &PodPlan, facts: &Facts) -> String {
    let mut parts = vec![format!("{}\n", verdict(plan))];
    if !plan.pods.is_empty() {
        parts.push(columns(&pods(&plan.pods)));
    }
    if !plan.others.is_empty() {
        parts.push(format!(
            "Pods that wait in the cluster and would get a node:\n{}",
            columns(&pods(&plan.others))
        ));
    }
    if !plan.preempted.is_empty() {
        let mut rows = vec![row(["PREEMPTED POD", "NODE", "FOR"])];
        let cells =
            plan.preempted.iter().map(|one| vec![one.pod.to_string(), one.node.to_string(), one.by.clone()]);
        rows.extend(cells);
        parts.push(columns(&rows));
    }
    parts.push(usage(&plan.before, &plan.after, facts));
    parts.join("\n")
}

/// The first sentence of a plan.
pub(super) fn verdict(plan: &PodPlan) -> String {
    let (all, placed) = (plan.pods.len(), plan.placed());
    let mut sentence = match (all, placed) {
        (0, _) if plan.others.is_empty() => "No pod would be placed or moved".to_owned(),
        (0, _) => format!("{} that already in the cluster", wait(plan.others.len())),
        (1, 1) => format!("Pod {} fits", plan.pods[0].pod),
        (1, _) => format!("Pod {} does not fit", plan.pods[0].pod),
        (all, placed) if all == placed => format!("All {all} pods fit"),
        (all, 0) => format!("None of the {all} pods fits"),
        (all, placed) => format!("{placed} of {all} pods fit"),
    };
    match plan.preempted.len() {
        0 => {}
        1 => sentence.push_str("; 1 pod would be preempted"),
        count => sentence.push_str(&format!("; {count} pods would be preempted")),
    }
    if plan.extent == Extent::Bounded {
        sentence.push_str("; the bound of the plan was met before everything was decided");
    }
    sentence.push('.');
    sentence
}

fn wait(count: usize) -> String {
    if count == 1 { "1 pod would get a node".to_owned() } else { format!("{count} pods would get a node") }
}

/// Pods with their nodes and devices, or why they have none.
pub(super) fn pods(pods: &[PlannedPod]) -> Vec<Vec<String>> {
    let is_moved = pods.iter().any(|pod| pod.origin == Origin::Moved);
    let has_devices = pods
        .iter()
        .any(|pod| matches!(&pod.standing, Standing::Placed { devices, .. } if !devices.is_empty()));
    let waits = pods.iter().any(|pod| !pod.is_placed());
    let shown = [true, is_moved, true, has_devices, waits];
    let mut rows = vec![row(["POD", "FROM", "NODE", "DEVICES", "REASON"])];
    rows.extend(pods.iter().map(|pod| {
        let from = pod.from.as_ref().map_or_else(dash, ToString::to_string);
        let (node, devices, reason) = match &pod.standing {
            Standing::Placed { node, devices } => (node.to_string(), self::devices(devices), dash()),
            Standing::Waiting { reason } => (dash(), dash(), reason.clone()),
        };
        vec![pod.pod.to_string(), from, node, devices, reason]
    }));
    for cells in &mut rows {
        let mut shown = shown.iter();
        cells.retain(|_| shown.next().copied().unwrap_or(true));
    }
    rows
}

fn dash() -> String {
    "-".to_owned()
}

/// Devices by their pools.
fn devices(devices: &[(model::claim::ClaimId, model::device::DeviceId)]) -> String {
    let mut by_pool: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (_, device) in devices {
        by_pool.entry(format!("{}/{}", device.driver, device.pool)).or_default().push(&device.device);
    }
    let texts: Vec<String> =
        by_pool.into_iter().map(|(pool, names)| format!("{pool}/{}", names.join(","))).collect();
    if texts.is_empty() { dash() } else { texts.join(" ") }
}

/// How like nodes are called.
pub(super) fn title(group: &LikeNodes) -> String {
    match group.nodes.as_slice() {
        [] => dash(),
        [one] => one.to_string(),
        [first, others @ ..] => format!("{first} and {} like it", others.len()),
    }
}

/// How much of nodes is in use before and after: of each node, or of like nodes where there are many.
fn usage(before: &ClusterUsage, after: &ClusterUsage, facts: &Facts) -> String {
    let names: BTreeSet<_> = before.nodes.keys().chain(after.nodes.keys()).collect();
    let mut groups: Vec<(String, Vec<&model::identity::NodeName>)> = Vec::new();
    let like = like_nodes(facts);
    let known: BTreeSet<_> = like.iter().flat_map(|group| &group.nodes).collect();
    if names.len() <= ROWS_MAX {
        groups.extend(like.iter().flat_map(|group| &group.nodes).map(|node| (node.to_string(), vec![node])));
        groups.sort();
    } else {
        for group in &like {
            groups.push((title(group), group.nodes.iter().collect()));
        }
    }
    let new: Vec<_> = names.into_iter().filter(|node| !known.contains(*node)).collect();
    match new.as_slice() {
        [] => {}
        few if few.len() <= ROWS_MAX => groups.extend(few.iter().map(|node| (node.to_string(), vec![*node]))),
        many => groups.push((format!("{} new nodes", many.len()), many.to_vec())),
    }
    let drivers: BTreeSet<&Arc<str>> =
        after.nodes.values().chain(before.nodes.values()).flat_map(|usage| usage.devices.keys()).collect();
    let mut head = row(["NODE", "PODS", "CPU", "MEMORY"]);
    head.extend(drivers.iter().map(|driver| driver.to_string()));
    let mut rows = vec![head];
    for (title, nodes) in groups {
        let sum = |all: &ClusterUsage| {
            let mut sum = Usage::default();
            nodes.iter().filter_map(|node| all.nodes.get(*node)).for_each(|usage| sum.add(usage));
            sum
        };
        let (was, is) = (sum(before), sum(after));
        let mut cells =
            vec![title, change(was.pods, is.pods, count), change(was.cpu_milli, is.cpu_milli, cpu)];
        cells.push(change(was.memory, is.memory, memory));
        let part = |usage: &Usage, driver: &Arc<str>| usage.devices.get(driver).copied().unwrap_or_default();
        cells.extend(drivers.iter().map(|driver| match (part(&was, driver), part(&is, driver)) {
            (was, is) if was.all == 0 && is.all == 0 => dash(),
            (was, is) => change(was, is, count),
        }));
        rows.push(cells);
    }
    let shared: BTreeSet<&Arc<str>> = before.shared.keys().chain(after.shared.keys()).collect();
    let mut text = columns(&rows);
    if !shared.is_empty() {
        let mut rows = vec![row(["DEVICES THAT SEVERAL NODES REACH", "IN USE"])];
        let part =
            |usage: &ClusterUsage, driver: &Arc<str>| usage.shared.get(driver).copied().unwrap_or_default();
        rows.extend(shared.iter().map(|driver| {
            vec![driver.to_string(), change(part(before, driver), part(after, driver), count)]
        }));
        text.push('\n');
        text.push_str(&columns(&rows));
    }
    text
}

/// What is in use before and after, and of how much.
fn change(before: InUse, after: InUse, write: fn(i64) -> String) -> String {
    let (was, is) = (write(before.used), write(after.used));
    let used = if was == is { is } else { format!("{was} → {is}") };
    format!("{used} of {}", write(after.all))
}

fn count(count: i64) -> String {
    count.to_string()
}
