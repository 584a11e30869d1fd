//! What a node reports of itself: one ConfigMap for each node, written by the part of the driver that runs there and read by its
//! controller. Every cluster has ConfigMaps, so that the driver brings no kind of its own.
//!
//! Invariant: an object speaks for the node that it names, and goes with it, since the node owns it.

use std::collections::BTreeMap;
use std::path::Path;

use client::{Answer, Connection, Patch, Resource};
use driver_kit::Failure;
use driver_kit::api::{ConfigMap, Node};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Tells the objects of a driver from others.
pub(crate) const LABEL: &str = "example.com/shelf-of";

/// Where in an object the node and what it has are found.
const NODE: &str = "node";
const SHELF: &str = "shelf";

/// What a node has.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct Shelf {
    pub(crate) fpgas: u64,
    pub(crate) nics: u64,
    pub(crate) local: u64,
}

impl Shelf {
    /// What a file says.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub(crate) fn read(path: &Path) -> Result<Shelf, Failure> {
        let file = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {file}: {error}"))?;
        let wrong = |error| {
            format!("{file} is not a valid shelf file: {error}; hint: `{{fpgas: 1, nics: 2, local: 1}}`")
        };
        Ok(serde_saphyr::from_str(&text).map_err(wrong)?)
    }

    /// What an object reports, and of which node.
    ///
    /// # Errors
    /// What is wrong with the object.
    pub(crate) fn reported(object: &ConfigMap) -> Result<(String, Shelf), Failure> {
        let field = |key: &str| object.data.get(key).ok_or_else(|| format!("it has no {key:?}"));
        let node = field(NODE)?.clone();
        Ok((node, serde_json::from_str(field(SHELF)?)?))
    }
}

/// Where one node's report is.
pub(crate) struct Desk {
    connection: Connection,
    objects: Resource<ConfigMap>,
    driver: String,
    node: String,
}

impl Desk {
    pub(crate) fn new(connection: Connection, namespace: &str, driver: &str, node: &str) -> Self {
        let objects = Resource::named("configmaps").within(namespace);
        Self { connection, objects, driver: driver.to_owned(), node: node.to_owned() }
    }

    fn name(&self) -> String {
        format!("{}-{}", self.driver, self.node)
    }

    /// Says what the node has; what was said before no longer counts. Text that means nothing is passed on as it is.
    ///
    /// # Errors
    /// The server does not want it, or there is no such node.
    pub(crate) async fn report(&self, shelf: &str) -> Result<(), Failure> {
        let nodes = Resource::<Node>::named("nodes");
        let node = done(self.connection.get(&nodes, &self.node).await)
            .map_err(|why| format!("node {} cannot be read: {why}", self.node))?;
        let owner = json!({
            "apiVersion": "v1", "kind": "Node", "name": self.node, "uid": node.metadata.uid,
        });
        let data = BTreeMap::from([(NODE, self.node.as_str()), (SHELF, shelf)]);
        let name = self.name();
        let metadata = json!({ "name": name, "labels": { LABEL: self.driver }, "ownerReferences": [owner] });
        let object: Value =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
        let apply = Patch::Apply { manager: "example-driver".to_owned(), force: true };
        let written = done(self.connection.patch(&self.objects, &name, &apply, &object).await);
        written.map(drop).map_err(|why| format!("ConfigMap {name} cannot be written: {why}").into())
    }

    /// Says nothing any more.
    ///
    /// # Errors
    /// The server does not want it.
    pub(crate) async fn withdraw(&self) -> Result<(), Failure> {
        match self.connection.delete(&self.objects, &self.name(), &Default::default()).await {
            Answer::NotFound(_) => Ok(()),
            answer => Ok(done(answer)?),
        }
    }
}

fn done<T>(answer: Answer<T>) -> Result<T, String> {
    let trouble = answer.trouble();
    answer.done().ok_or_else(|| trouble.unwrap_or_default())
}
