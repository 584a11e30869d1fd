//! The Node object and its lease: made if they are missing, and kept alive.

use std::collections::BTreeMap;
use std::time::Duration;

use client::{Answer, Clock, Connection, Patch, Resource};
use controllers::simulated::report;
use objects::coordination::Lease;
use objects::core::node::Node;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Options;
use crate::simulated::Complaints;

/// How long to wait before the Node is tried again when it could not be made.
const AGAIN: Duration = Duration::from_secs(1);

/// Keeps a Node alive.
#[derive(Clone)]
pub(crate) struct Heart {
    pub(crate) connection: Connection,
    pub(crate) clock: Clock,
    pub(crate) options: Options,
    pub(crate) complaints: Complaints,
}

impl Heart {
    /// The Node as the API has it, made if it is missing. Tries until it is there.
    pub(crate) async fn appear(&self) -> Node {
        loop {
            match self.once().await {
                Ok(node) => return node,
                Err(why) => (self.complaints)(&why),
            }
            sleep(AGAIN).await;
        }
    }

    /// Gives signs of life without end.
    pub(crate) async fn beat(self) {
        loop {
            sleep(self.options.times.heartbeat).await;
            if let Err(why) = self.once().await {
                (self.complaints)(&why);
            }
        }
    }

    /// The Node, if it is there.
    pub(crate) async fn node(&self) -> Option<Node> {
        self.connection.get(&nodes(), &self.options.name).await.done()
    }

    /// One sign of life: the Node is there, says that it is ready, and its lease is renewed.
    async fn once(&self) -> Result<Node, String> {
        let node = match self.connection.get(&nodes(), &self.options.name).await {
            Answer::Done(node) => node,
            Answer::NotFound(_) => done(self.connection.create(&nodes(), &made(&self.options)).await)?,
            other => return Err(other.trouble().unwrap_or_default()),
        };
        let (name, now) = (&node.metadata.name, self.clock.now());
        if let Some(mut ready) = report::ready(&node, now) {
            ready["status"]["conditions"][0]["message"] = json!("pods are simulated; no containers run");
            done(self.connection.patch_status(&nodes(), name, &Patch::Strategic, &ready).await)?;
        }
        let leases = Resource::<Lease>::named("leases").within(report::LEASES);
        match self.connection.patch(&leases, name, &Patch::Merge, &report::renewal(&node, now)).await {
            Answer::NotFound(_) => {
                done(self.connection.create(&leases, &report::lease(&node, now)).await)?;
            }
            answer => {
                done(answer)?;
            }
        }
        Ok(node)
    }
}

fn nodes() -> Resource<Node> {
    Resource::named("nodes")
}

fn done<T>(answer: Answer<T>) -> Result<T, String> {
    let trouble = answer.trouble();
    answer.done().ok_or_else(|| trouble.unwrap_or_default())
}

/// A Node as it is made.
fn made(options: &Options) -> Node {
    let mut labels: BTreeMap<&str, &str> =
        BTreeMap::from([("kubernetes.io/hostname", &*options.name), ("kubernetes.io/os", "linux")]);
    labels.extend(options.labels.iter().map(|(key, value)| (&**key, &**value)));
    let made: Value = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": options.name, "labels": labels },
        "status": { "capacity": options.capacity, "allocatable": options.capacity },
    });
    serde_json::from_value(made).expect("texts are fit for a Node")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_node_is_made_with_its_labels_and_its_capacity() {
        let mut options = Options::new("n", Path::new("/r"));
        options.labels.insert("rack".into(), "7".into());
        let node = made(&options);
        assert_eq!(node.metadata.labels["kubernetes.io/hostname"], "n");
        assert_eq!(node.metadata.labels["rack"], "7");
        assert_eq!(node.status.capacity, node.status.allocatable);
        assert!(node.status.allocatable.contains_key("pods"));
    }
}
