//! Recorded allocator cases as objects: what the reference was asked, and what it answered.

use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use gates::{Gate, Gates};
use invariants::{Evidence, GroupsFrom, Made};
use objects::Object;
use objects::core::node::Node;
use objects::resource::allocation::{AllocationResult, DeviceRequestAllocationResult};
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::resource::slice::ResourceSlice;
use serde_json::Value;

/// A recorded case.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub gates: Gates,
    pub node: Node,
    pub classes: Vec<DeviceClass>,
    pub slices: Vec<ResourceSlice>,
    pub claims: Vec<ResourceClaim>,
    /// What was allocated before, as claims that hold it.
    pub holders: Vec<ResourceClaim>,
    pub outcome: String,
    /// One for each claim, if the outcome is `allocated`.
    pub results: Vec<AllocationResult>,
}

impl Case {
    pub fn evidence(&self) -> Evidence<'_> {
        Evidence {
            gates: self.gates,
            slices: &self.slices,
            classes: &self.classes,
            claims: &self.holders,
            groups: GroupsFrom::Slices,
        }
    }

    pub fn made(&self) -> Vec<Made<'_>> {
        self.claims.iter().zip(&self.results).map(|(claim, allocation)| Made { claim, allocation }).collect()
    }
}

/// The cases that are kept with the project.
pub fn random() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    read(&root.join("../conformance/vectors/allocator/random.jsonl.gz"))
}

/// Cases of the reference's own tests, if they lie beside the project or where the environment says.
pub fn peer() -> Option<Vec<Case>> {
    let beside =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/allocator/peer.jsonl.gz");
    let path = env::var_os("PEER_VECTORS").map_or(beside, PathBuf::from);
    path.exists().then(|| read(&path))
}

fn read(path: &Path) -> Vec<Case> {
    let file = File::open(path).expect("the vectors are there");
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    lines.map(|line| parse(&line.expect("the vectors are readable"))).collect()
}

fn parse(line: &str) -> Case {
    let case: Value = serde_json::from_str(line).expect("a case is JSON");
    let allocated = &case["allocated"];
    let mut results: Vec<AllocationResult> =
        serde_json::from_value(case["expect"]["results"].clone()).unwrap_or_default();
    // The recording has one fixed text for all ids of shares.
    let shares = results.iter_mut().flat_map(|one| &mut one.devices.results);
    for (at, share) in shares.filter_map(|one| one.share_id.as_mut()).enumerate() {
        *share = format!("{share}-{at}");
    }
    Case {
        name: text(&case["name"]),
        gates: features(&case["features"]),
        node: serde_json::from_value(case["node"].clone()).unwrap_or_default(),
        classes: objects(&case["classes"]),
        slices: objects(&case["slices"]),
        claims: objects(&case["claims"]),
        holders: holders(allocated),
        outcome: text(&case["expect"]["outcome"]),
        results,
    }
}

fn features(features: &Value) -> Gates {
    let names = features.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
    let gates = names.iter().flat_map(|name| name.split('+'));
    gates.map(|name| Gate::named(name).expect("the features of a case are gates")).collect()
}

/// A claim for each device, and one for each share; what is consumed of a device goes to its first share.
fn holders(allocated: &Value) -> Vec<ResourceClaim> {
    let mut results = Vec::new();
    for device in allocated["devices"].as_array().into_iter().flatten() {
        results.push(result(device));
    }
    let first_share = results.len();
    for share in allocated["sharedDevices"].as_array().into_iter().flatten() {
        results.push(DeviceRequestAllocationResult { share_id: Some(text(&share[3])), ..result(share) });
    }
    for entry in allocated["consumedCapacity"].as_array().into_iter().flatten() {
        let whose = result(&entry["device"]);
        let is_same = |one: &&mut DeviceRequestAllocationResult| {
            (&one.driver, &one.pool, &one.device) == (&whose.driver, &whose.pool, &whose.device)
        };
        let consumed = serde_json::from_value(entry["consumed"].clone()).expect("amounts");
        match results[first_share..].iter_mut().find(is_same) {
            Some(share) => share.consumed_capacity = consumed,
            None => results.push(DeviceRequestAllocationResult {
                consumed_capacity: consumed,
                share_id: Some("aggregate".to_owned()),
                ..whose
            }),
        }
    }
    let claims = results.into_iter().enumerate().map(|(at, result)| {
        let mut claim = ResourceClaim::default();
        claim.metadata.namespace = "holders".to_owned();
        claim.metadata.name = format!("holder-{at}");
        let mut allocation = AllocationResult::default();
        allocation.devices.results.push(result);
        claim.status.allocation = Some(allocation);
        claim
    });
    claims.collect()
}

fn result(device: &Value) -> DeviceRequestAllocationResult {
    DeviceRequestAllocationResult {
        request: "held".to_owned(),
        driver: text(&device[0]),
        pool: text(&device[1]),
        device: text(&device[2]),
        ..Default::default()
    }
}

fn objects<T: Object>(list: &Value) -> Vec<T> {
    let objects = list.as_array().into_iter().flatten();
    objects.map(|object| T::read_value(object).expect("the objects are readable")).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
