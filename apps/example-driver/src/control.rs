//! The driver as a controller of its own: it gives what it has to claims, without telling anybody beforehand what that is.
//!
//! Four things can be had, each by a class whose parameters say which: accelerators that every node reaches over the network, an
//! FPGA joined with a NIC on one node, something that is optional and given as nothing when there is none left, and
//! something of single nodes.
//!
//! Invariant: nothing is remembered. What is given follows from the claims that have it, so that a new start goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client::{Connection, Event, Resource, Selectors, WatchOptions};
use driver_kit::Failure;
use driver_kit::api::{
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, ResourceClaim, ResourceHandle,
};
use driver_kit::controller::{ClaimRequest, ControlTrouble, Controller, Grant, given_by, handles};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::sleep;

use crate::stock::{Kind, Stock};
use crate::switches::{Flags, Negotiate};

/// What is written into the handle of a claim.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Given {
    pub(crate) kind: Kind,
    /// The node that it was given for.
    pub(crate) node: String,
    /// How many; none if there were none left and that is all right.
    pub(crate) count: u64,
}

/// The controller.
pub(crate) struct Lender {
    name: String,
    connection: Connection,
    stock: Stock,
    flags: Flags,
    /// Claims that are being given something at this moment, by uid.
    giving: Mutex<BTreeMap<String, Given>>,
}

impl Lender {
    pub(crate) fn new(name: &str, connection: Connection, stock: Stock, flags: Flags) -> Self {
        Self { name: name.to_owned(), connection, stock, flags, giving: Mutex::default() }
    }

    fn giving(&self) -> MutexGuard<'_, BTreeMap<String, Given>> {
        self.giving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What all claims have, as the API says and as is being written.
    async fn given(&self) -> Result<BTreeMap<String, Given>, Failure> {
        let mut given = self.giving().clone();
        for claim in claims(&self.connection).await? {
            if given_by(&claim) == self.name
                && let Some(handle) = handles(&claim)?.first()
            {
                given.insert(claim.metadata.uid, serde_json::from_str(&handle.data)?);
            }
        }
        Ok(given)
    }

    /// Slow, dead or wrong, as the switches say.
    async fn behave(&self) -> Result<Negotiate, Failure> {
        let switches = self.flags.now()?;
        sleep(switches.delay).await;
        while self.flags.now()?.negotiate == Negotiate::Dead {
            sleep(Duration::from_millis(100)).await;
        }
        Ok(self.flags.now()?.negotiate)
    }

    async fn give(&self, request: &ClaimRequest, node: &str) -> Result<Grant, Failure> {
        let uid = &request.claim.metadata.uid;
        let given = self.given().await?;
        let wanted = Wanted::of(request)?;
        let one = match given.get(uid) {
            Some(known) => known.clone(),
            None => {
                let left = self.stock.left(wanted.kind, node, given.values());
                let count = if wanted.kind == Kind::Optional { left.min(wanted.count) } else { wanted.count };
                if count > left {
                    return Err(format!("{left} of {:?} are left for node {node}", wanted.kind).into());
                }
                Given { kind: wanted.kind, node: node.to_owned(), count }
            }
        };
        self.giving().insert(uid.clone(), one.clone());
        let data = serde_json::to_string(&one)?;
        let handle = ResourceHandle { driver_name: self.name.clone(), data, ..ResourceHandle::default() };
        let nodes = one.kind.is_local().then(|| only(&one.node));
        Ok(Grant { nodes, shareable: wanted.shareable, handles: vec![handle], ..Grant::default() })
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
            let grant = match self.behave().await {
                Err(failure) => Err(failure),
                Ok(Negotiate::Fail) => Err("told to fail".into()),
                Ok(_) => self.give(request, node.unwrap_or_default()).await,
            };
            match &grant {
                Ok(_) => println!("gave to claim {}", request.claim.metadata.name),
                Err(why) => println!("nothing for claim {}: {why}", request.claim.metadata.name),
            }
            grants.push(grant);
        }
        grants
    }

    async fn deallocate(&self, claim: &ResourceClaim) -> Result<(), Failure> {
        self.behave().await?;
        self.giving().remove(&claim.metadata.uid);
        println!("took back from claim {}", claim.metadata.name);
        Ok(())
    }

    async fn unsuitable_nodes(
        &self,
        _: &Pod,
        claims: &[ClaimRequest],
        nodes: &[String],
    ) -> Result<Vec<BTreeSet<String>>, Failure> {
        let behaviour = self.behave().await?;
        let given = self.given().await?;
        let mut answers = Vec::new();
        for request in claims {
            let wanted = Wanted::of(request)?;
            let is_bad = |node: &&String| {
                let left = self.stock.left(wanted.kind, node, given.values());
                let is_short = wanted.kind != Kind::Optional && left < wanted.count;
                // A driver that is wrong says of every node the opposite.
                is_short != (behaviour == Negotiate::Wrong)
            };
            answers.push(nodes.iter().filter(is_bad).cloned().collect());
        }
        Ok(answers)
    }

    fn trouble(&self, trouble: &ControlTrouble) {
        eprintln!("warning: {trouble}");
    }
}

fn only(node: &str) -> NodeSelector {
    let name = NodeSelectorRequirement {
        key: "metadata.name".to_owned(),
        operator: "In".to_owned(),
        values: vec![node.to_owned()],
        ..NodeSelectorRequirement::default()
    };
    let term = NodeSelectorTerm { match_fields: vec![name], ..NodeSelectorTerm::default() };
    NodeSelector { node_selector_terms: vec![term], ..NodeSelector::default() }
}

/// All claims, as they are now.
async fn claims(connection: &Connection) -> Result<Vec<ResourceClaim>, Failure> {
    let all = Resource::<ResourceClaim>::named("resourceclaims");
    let options = WatchOptions { streamed: false, ..WatchOptions::default() };
    let mut stream = pin!(connection.list_and_watch(&all, &Selectors::default(), &options));
    let mut found = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Event::Applied(claim) => found.push(claim),
            Event::Synced { .. } => return Ok(found),
            Event::Interrupted { why, .. } | Event::Unreadable { why, .. } => return Err(why.into()),
            _ => {}
        }
    }
    Err("the list of claims has no end".into())
}
