//! Whether pods are where they may be, by what the API says in the end. Nothing here is shared with a scheduler.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::work::{HOST, RACK, REPLICAS, Work, WorkShape, ZONE};

/// The nodes of pods, by the numbers of both.
pub(crate) type Placements = BTreeMap<usize, usize>;

/// What is wrong with the placements, in a sentence for each rule that was broken.
pub(crate) fn broken(work: &Work, placements: &Placements, claims: &[Value]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut check = |count: usize, what: &str| {
        if count > 0 {
            broken.push(format!("{count} {what}"));
        }
    };
    match work.shape {
        WorkShape::Plain | WorkShape::Service => {}
        WorkShape::Claim | WorkShape::SharedSlice => {
            check(misplaced_claims(placements, claims), "claims have no device of their own on their node");
        }
        WorkShape::Spread => check(uneven(work, placements), "applications are not spread over zones"),
        WorkShape::AntiAffinity => {
            let shared = |nodes: &Vec<usize>| domains(work, nodes, HOST).len() < nodes.len();
            check(
                apps(placements).values().filter(|nodes| shared(nodes)).count(),
                "applications share a node",
            );
        }
        WorkShape::Gang | WorkShape::GangRack => {
            let gangs = grouped(placements, work.gang_size);
            let size = |gang: usize| work.gang_size.min(work.pods - gang * work.gang_size);
            let torn = gangs.iter().filter(|(gang, nodes)| nodes.len() < size(**gang)).count();
            check(torn, "gangs have a part of their members bound");
            let strays = gangs.values().filter(|nodes| domains(work, nodes, RACK).len() > 1).count();
            check(if work.shape == WorkShape::GangRack { strays } else { 0 }, "gangs are not in one rack");
        }
    }
    check(crowded(work, placements), "nodes have more pods than room");
    broken
}

/// The nodes of pods of which so many belong together, by what they belong to.
fn grouped(placements: &Placements, size: usize) -> BTreeMap<usize, Vec<usize>> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    placements.iter().for_each(|(pod, node)| groups.entry(pod / size).or_default().push(*node));
    groups
}

fn apps(placements: &Placements) -> BTreeMap<usize, Vec<usize>> {
    grouped(placements, REPLICAS)
}

fn domains(work: &Work, nodes: &[usize], key: &str) -> BTreeSet<String> {
    nodes.iter().map(|node| work.domain(*node, key)).collect()
}

fn uneven(work: &Work, placements: &Placements) -> usize {
    let zones = domains(work, &(0..work.nodes).collect::<Vec<_>>(), ZONE);
    let is_uneven = |nodes: &&Vec<usize>| {
        let pods = |zone: &String| nodes.iter().filter(|node| work.domain(**node, ZONE) == *zone).count();
        let most = zones.iter().map(pods).max();
        most > zones.iter().map(pods).min().map(|least| least + 1)
    };
    apps(placements).values().filter(is_uneven).count()
}

fn crowded(work: &Work, placements: &Placements) -> usize {
    // Members of gangs want 8 processors of 64, and no node takes more than 110 pods.
    let room = if matches!(work.shape, WorkShape::Gang | WorkShape::GangRack) { 8 } else { 110 };
    let mut pods: BTreeMap<usize, usize> = BTreeMap::new();
    placements.values().for_each(|node| *pods.entry(*node).or_default() += 1);
    pods.values().filter(|count| **count > room).count()
}

fn misplaced_claims(placements: &Placements, claims: &[Value]) -> usize {
    let mut taken = BTreeSet::new();
    let is_right = |claim: &Value| -> Option<bool> {
        let number: usize = claim["metadata"]["name"].as_str()?.strip_prefix("claim-")?.parse().ok()?;
        let [device] = &claim["status"]["allocation"]["devices"]["results"].as_array()?[..] else {
            return None;
        };
        let name = (device["driver"].as_str()?, device["pool"].as_str()?, device["device"].as_str()?);
        let is_there = placements.get(&number).is_some_and(|node| format!("node-{node}") == name.1);
        Some(taken.insert([name.0, name.1, name.2].map(str::to_owned)) && is_there)
    };
    let right = claims.iter().map(is_right).filter(|right| *right == Some(true)).count();
    placements.len().saturating_sub(right)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Placements, Work, WorkShape, broken};

    const WORK: Work =
        Work { shape: WorkShape::Plain, nodes: 60, pods: 50, devices: 2, gang_size: 25, racks: 2 };

    fn check(shape: WorkShape, node_of: impl Fn(usize) -> usize, claims: &[Value], expected: &[&str]) {
        let placements: Placements = (0..WORK.pods).map(|pod| (pod, node_of(pod))).collect();
        assert_eq!(broken(&Work { shape, ..WORK }, &placements, claims), expected, "{shape}");
    }

    #[test]
    fn each_rule_that_is_broken_is_told() {
        let apart = |pod: usize| pod;
        check(WorkShape::Plain, apart, &[], &[]);
        check(WorkShape::AntiAffinity, apart, &[], &[]);
        check(WorkShape::AntiAffinity, |pod| pod / 2, &[], &["2 applications share a node"]);
        check(WorkShape::Spread, apart, &[], &[]);
        check(WorkShape::Spread, |pod| pod * 3 % 60, &[], &["2 applications are not spread over zones"]);
        check(WorkShape::Gang, apart, &[], &[]);
        check(WorkShape::Gang, |pod| pod / 10, &[], &["5 nodes have more pods than room"]);
        check(WorkShape::GangRack, |pod| pod % 25 * 2, &[], &[]);
        check(WorkShape::GangRack, apart, &[], &["2 gangs are not in one rack"]);
    }

    #[test]
    fn a_gang_of_which_some_members_are_bound_is_told() {
        let placements: Placements = (0..30).map(|pod| (pod, pod)).collect();
        let broken = broken(&Work { shape: WorkShape::Gang, ..WORK }, &placements, &[]);
        assert_eq!(broken, ["1 gangs have a part of their members bound"]);
    }

    #[test]
    fn a_device_that_two_claims_have_is_told() {
        let claim = |number: usize, device: usize| {
            let device = json!({ "driver": "d", "pool": format!("node-{}", number / 2), "device": format!("gpu-{device}") });
            json!({ "metadata": { "name": format!("claim-{number}") },
                "status": { "allocation": { "devices": { "results": [device] } } } })
        };
        let claims =
            |count: usize| (0..WORK.pods).map(|number| claim(number, number % count)).collect::<Vec<_>>();
        check(WorkShape::Claim, |pod| pod / 2, &claims(2), &[]);
        let told = "25 claims have no device of their own on their node";
        check(WorkShape::Claim, |pod| pod / 2, &claims(1), &[told]);
        let told = "49 claims have no device of their own on their node";
        check(WorkShape::Claim, |pod| pod % 50, &claims(2), &[told]);
    }
}
