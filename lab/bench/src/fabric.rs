//! How long it takes to decide what is to be done for a large fabric: all of it, once, as after every change.

use std::time::{Duration, Instant};

use clap::Args;
use controllers::fabric::inventory::{Host, Inventory, Port, Unit};
use controllers::fabric::names::FABRIC_LABEL;
use controllers::fabric::{FabricAction, FabricDecision, Options, View, decide};
use model::timestamp::Timestamp;
use objects::core::node::Node;
use objects::resource::claim::ResourceClaim;
use objects::supercargo::device_attachment::DeviceAttachment;
use serde_json::json;

const DRIVER: &str = "gpu.example.com";
const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

/// How often it is decided; the fastest counts.
const TIMES: usize = 5;

/// Decide what is to be done for a large fabric with claims that wait
#[derive(Debug, Args)]
pub(crate) struct FabricBench {
    /// How many devices the fabric has, of four models
    #[arg(long, default_value_t = 2_000)]
    units: usize,
    /// How many nodes can have them
    #[arg(long, default_value_t = 500)]
    nodes: usize,
    /// How many claims wait for one
    #[arg(long, default_value_t = 500)]
    claims: usize,
}

impl FabricBench {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        println!("devices  nodes  claims   chosen  ms, nothing written yet  ms, all being attached");
        for part in [4, 2, 1] {
            let of = |count: usize| (count / part).max(1);
            let (units, nodes, claims) = (of(self.units), of(self.nodes), of(self.claims));
            let room = Room::new(units, nodes, claims)?;
            let (fresh, decision) = room.decide(&[]);
            let assigned: Vec<DeviceAttachment> = decision.actions.iter().filter_map(assigned).collect();
            anyhow::ensure!(
                assigned.len() == claims.min(units),
                "{} of {claims} claims get a device",
                assigned.len()
            );
            let (busy, _) = room.decide(&assigned.iter().collect::<Vec<_>>());
            println!(
                "{units:7}  {nodes:5}  {claims:6}  {:7}  {:23.1}  {:22.1}",
                assigned.len(),
                fresh.as_secs_f64() * 1e3,
                busy.as_secs_f64() * 1e3
            );
        }
        println!("with twice of everything it should take about twice as long, and not four times");
        Ok(())
    }
}

fn assigned(action: &FabricAction) -> Option<DeviceAttachment> {
    match action {
        FabricAction::Assign(entry) => Some(DeviceAttachment::clone(entry)),
        _ => None,
    }
}

/// A machine room, and those who want something of it.
struct Room {
    inventory: Inventory,
    nodes: Vec<Node>,
    claims: Vec<ResourceClaim>,
}

impl Room {
    fn new(units: usize, nodes: usize, claims: usize) -> anyhow::Result<Room> {
        let mut inventory = Inventory { as_of: NOW, ..Inventory::default() };
        for number in 0..units {
            let unit = Unit { model: model(number), is_healthy: true, ..Unit::default() };
            inventory.units.insert(format!("unit-{number:05}"), unit);
        }
        let mut room = Room { inventory, nodes: Vec::new(), claims: Vec::new() };
        for number in 0..nodes {
            let name = format!("node-{number}");
            let port =
                Port { name: format!("port-{number}"), switch: "switch".to_owned(), units_max: Some(8) };
            let host = Host { name: name.clone(), units_max: Some(8), ports: vec![port] };
            room.inventory.hosts.insert(format!("host-{number}"), host);
            let labels = json!({ FABRIC_LABEL: "rack" });
            room.nodes
                .push(serde_json::from_value(json!({ "metadata": { "name": name, "labels": labels } }))?);
        }
        for number in 0..claims {
            room.claims.push(claim(number, number % nodes)?);
        }
        Ok(room)
    }

    /// Decides, and says how long the fastest of several times took.
    fn decide(&self, ledger: &[&DeviceAttachment]) -> (Duration, FabricDecision) {
        let nodes: Vec<&Node> = self.nodes.iter().collect();
        let claims: Vec<&ResourceClaim> = self.claims.iter().collect();
        let inventory = &self.inventory;
        let view = View {
            now: NOW,
            inventory,
            slices: &[],
            claims: &claims,
            nodes: &nodes,
            ledger,
            guards: Some(&[]),
        };
        let options = Options::new("rack", DRIVER);
        let mut fastest = Duration::MAX;
        let mut decision = FabricDecision::default();
        for _ in 0..TIMES {
            let began = Instant::now();
            decision = decide(&view, &options);
            fastest = fastest.min(began.elapsed());
        }
        (fastest, decision)
    }
}

fn model(number: usize) -> String {
    format!("Model {}", number % 4)
}

/// A claim that was allocated a device for a node, and waits for it.
fn claim(number: usize, node: usize) -> anyhow::Result<ResourceClaim> {
    let (pool, device) = (format!("rack.free.{}", part(number)), format!("slot-{}", number / 4));
    let result = json!({ "request": "gpu", "driver": DRIVER, "pool": pool, "device": device });
    let field = json!({ "key": "metadata.name", "operator": "In", "values": [format!("node-{node}")] });
    let allocation = json!({
        "devices": { "results": [result] },
        "nodeSelector": { "nodeSelectorTerms": [{ "matchFields": [field] }] },
    });
    Ok(serde_json::from_value(json!({
        "metadata": { "name": format!("claim-{number}"), "namespace": "default", "uid": format!("uid-{number}") },
        "spec": { "devices": { "requests": [{ "name": "gpu", "exactly": { "deviceClassName": "gpu" } }] } },
        "status": { "allocation": allocation },
    }))?)
}

/// The model of a claim, as pools have it.
fn part(number: usize) -> String {
    controllers::fabric::names::part(&model(number))
}

#[cfg(test)]
mod tests {
    use super::FabricBench;

    #[test]
    fn every_claim_gets_a_device() {
        let small = FabricBench { units: 40, nodes: 10, claims: 20 };
        small.run().expect("there are enough devices");
    }
}
