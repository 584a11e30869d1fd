//! The driver as a controller of its own: it gives what it has to claims, without telling anybody beforehand what that is.
//!
//! Four things can be had, each by a class whose parameters say which: accelerators that every node reaches over the network, an
//! FPGA joined with a NIC on one node, something that is optional and given as nothing when there is none left, and
//! something of single nodes.
//!
//! Invariant: nothing is remembered. What is given follows from the claims that have it ([`Ledger`]), so that a new start goes on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use driver_kit::Failure;
use driver_kit::api::{
    DeviceAllocationResult, DeviceRequest, DeviceRequestAllocationResult, NodeSelector, Pod, ResourceClaim,
    ResourceHandle,
};
use driver_kit::controller::{ClaimRequest, ControlTrouble, Controller, Grant};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep;

use crate::ledger::Ledger;
use crate::stock::{Given, Kind};
use crate::switches::{Flags, Negotiate};

/// The controller.
pub(crate) struct Lender {
    pub(crate) name: String,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) flags: Flags,
}

impl Lender {
    /// Slow, dead or wrong, as the switches say.
    async fn behave(&self) -> Result<Negotiate, Failure> {
        self.ledger.ready().await;
        let switches = self.flags.now()?;
        sleep(switches.delay).await;
        while self.flags.now()?.negotiate == Negotiate::Dead {
            sleep(Duration::from_millis(100)).await;
        }
        Ok(self.flags.now()?.negotiate)
    }

    async fn give(&self, request: &ClaimRequest, node: Option<&str>) -> Result<(Given, Grant), Failure> {
        if self.behave().await? == Negotiate::Fail {
            return Err("configured to fail".into());
        }
        let wanted = Wanted::of(request)?;
        let given = self.ledger.give(&request.claim.metadata.uid, wanted.kind, wanted.count, node)?;
        let data = serde_json::to_string(&given)?;
        let handle = ResourceHandle { driver_name: self.name.clone(), data, ..ResourceHandle::default() };
        let nodes = given.kind.is_local().then(|| NodeSelector::only(&given.node));
        let devices = DeviceAllocationResult { results: self.told(request, &given), ..Default::default() };
        let grant = Grant { nodes, shareable: wanted.shareable, handles: vec![handle], devices };
        Ok((given, grant))
    }
}

impl Lender {
    /// What is given, as devices: a kubelet of Kubernetes finds the drivers of a claim there and nowhere else. Devices of two claims
    /// have different names, or one would seem to be given twice.
    fn told(&self, request: &ClaimRequest, given: &Given) -> Vec<DeviceRequestAllocationResult> {
        if given.count == 0 {
            return Vec::new();
        }
        let claim = &request.claim;
        let told = |(number, one): (usize, &DeviceRequest)| DeviceRequestAllocationResult {
            request: one.name.clone(),
            driver: self.name.clone(),
            pool: if given.node.is_empty() { "network".to_owned() } else { given.node.clone() },
            device: format!("lent-{}-{number}", claim.metadata.uid),
            ..DeviceRequestAllocationResult::default()
        };
        claim.spec.devices.requests.iter().enumerate().map(told).collect()
    }
}

/// What a claim wants, as its class and its own parameters say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Wanted {
    kind: Kind,
    #[serde(default = "one")]
    count: u64,
    #[serde(default)]
    shareable: bool,
}

fn one() -> u64 {
    1
}

impl Wanted {
    fn of(request: &ClaimRequest) -> Result<Wanted, Failure> {
        let mut all = serde_json::Map::new();
        for parameters in request.class_parameters.iter().chain(&request.claim_parameters) {
            let Value::Object(parameters) = parameters else {
                return Err("parameters are an object, such as {kind: accelerator}".into());
            };
            all.extend(parameters.clone());
        }
        Ok(serde_json::from_value(Value::Object(all))?)
    }
}

impl Controller for Lender {
    fn name(&self) -> &str {
        &self.name
    }

    async fn allocate(&self, claims: &[ClaimRequest], node: Option<&str>) -> Vec<Result<Grant, Failure>> {
        let mut grants = Vec::new();
        for request in claims {
            let claim = name_of(&request.claim);
            let given = self.give(request, node).await;
            match &given {
                Ok((given, _)) => println!("gave {given} to claim {claim}"),
                Err(why) => println!("gave nothing to claim {claim}: {why}"),
            }
            grants.push(given.map(|(_, grant)| grant));
        }
        grants
    }

    async fn deallocate(&self, claim: &ResourceClaim) -> Result<(), Failure> {
        if self.behave().await? == Negotiate::Fail {
            return Err("configured to fail".into());
        }
        if let Some(given) = self.ledger.take_back(&claim.metadata.uid) {
            println!("took {given} back from claim {}", name_of(claim));
        }
        Ok(())
    }

    async fn unsuitable_nodes(
        &self,
        pod: &Pod,
        claims: &[ClaimRequest],
        nodes: &[String],
    ) -> Result<Vec<BTreeSet<String>>, Failure> {
        let is_wrong = self.behave().await? == Negotiate::Wrong;
        let mut answers = Vec::new();
        for request in claims {
            let wanted = Wanted::of(request)?;
            // A driver that is wrong says of every node the opposite.
            let is_bad = |node: &&String| self.ledger.has(wanted.kind, node, wanted.count) == is_wrong;
            let bad: BTreeSet<String> = nodes.iter().filter(is_bad).cloned().collect();
            let (entry, pod) = (request.entry.as_deref().unwrap_or_default(), &pod.metadata);
            let (bad_ones, all) = (bad.len(), nodes.len());
            println!(
                "{bad_ones} of {all} nodes are unsuitable for {entry} of pod {}/{}",
                pod.namespace, pod.name
            );
            answers.push(bad);
        }
        Ok(answers)
    }

    fn trouble(&self, trouble: &ControlTrouble) {
        eprintln!("warning: {trouble}");
    }
}

fn name_of(claim: &ResourceClaim) -> String {
    format!("{}/{}", claim.metadata.namespace, claim.metadata.name)
}
