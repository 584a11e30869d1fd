//! What a cluster makes of manifests before a scheduler looks at it: admitted objects, claims from templates, pods of jobs.

use std::collections::{BTreeMap, BTreeSet};

use cluster::change::Change;
use convert::change;
use gates::Gates;
use objects::Object;
use objects::core::node::Node;
use objects::scheduling::priority_class::PriorityClass;
use serde_json::Value;

use crate::manifest::{BadInput, Manifest};
use crate::shelf::{Key, kind_of, namespace_of};
use crate::simulation::{Rules, Simulation};

/// How often jobs are looked at before their pods are there.
const ROUNDS_MAX: usize = 1_000;

/// A kind whose pods depend on the nodes of the cluster.
const DAEMON_SET: &str = "DaemonSet";

/// What is made of manifests.
#[derive(Debug, Default)]
pub struct Made {
    /// The objects as facts, in the order in which they are made.
    pub changes: Vec<Change>,
    /// Kinds that a cluster would make pods of, and that are not looked at.
    pub unheeded: BTreeSet<String>,
    /// What kept objects from being made.
    pub troubles: Vec<String>,
    /// The values of all priority classes.
    pub priorities: BTreeMap<String, i32>,
}

/// Makes of manifests what a cluster with these features would. `around` are objects that are in the cluster already and that decide
/// what is made: namespaces, priority classes, classes of devices, templates of claims, and nodes if pods of DaemonSets are to be made.
///
/// # Errors
/// A manifest is refused.
pub fn make(manifests: Vec<Manifest>, around: &[Value], gates: Gates) -> Result<Made, BadInput> {
    let mut simulation = Simulation::new(&Rules::new(gates));
    let name_of = |object: &Value| {
        let kind = kind_of(object).ok()?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        Some((kind.kind.clone(), namespace_of(kind, object), name))
    };
    let given: BTreeSet<_> = manifests.iter().filter_map(|manifest| name_of(&manifest.value)).collect();
    for object in around {
        let is_system = object["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("system-"));
        // Classes of the system are made in any case. What the cluster has and nothing here understands decides nothing.
        if !(object["kind"] == "PriorityClass" && is_system
            || name_of(object).is_some_and(|it| given.contains(&it)))
        {
            drop(simulation.shelf.create(object.clone(), Vec::new()));
        }
    }
    let beside: BTreeSet<Key> = simulation.shelf.keys().cloned().collect();
    // Their pods depend on the nodes of the cluster.
    let has_nodes = around.iter().any(|object| object["kind"] == Node::KIND);
    let is_for_nodes = |manifest: &Manifest| !has_nodes && manifest.value["kind"] == DAEMON_SET;
    let (for_nodes, manifests): (Vec<Manifest>, Vec<Manifest>) =
        manifests.into_iter().partition(is_for_nodes);
    simulation.take_in(manifests)?;
    simulation.begin_workloads()?;
    simulation.begin_jobs();
    simulation.make_claims();
    (0..ROUNDS_MAX).find(|_| !simulation.live());
    let made = simulation.shelf.in_order().into_iter().filter(|key| !beside.contains(key));
    let named = |key: &Key| {
        let is_named = |(kind, namespace, name): &(String, String, String)| {
            (kind, namespace, name) == (&key.kind, &key.namespace, &key.name)
        };
        key.kind != "Namespace" || given.iter().any(is_named)
    };
    let mut changes = Vec::new();
    // A namespace that is only named may be there with labels that are not known here.
    for key in made.filter(named) {
        let Some(object) = simulation.shelf.get(&key) else { continue };
        let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let revision: u64 = version.parse().expect("the shelf counts its writes");
        // What is stored was converted once already, and stays convertible.
        changes.extend(change::applied(object, revision | REVISION).ok().flatten());
    }
    let classes = simulation.shelf.read_all::<PriorityClass>();
    let priorities = classes.map(|(key, class)| (key.name.clone(), class.value)).collect();
    let troubles = simulation.troubles.iter();
    let troubles = troubles.map(|(key, what)| format!("{} {}/{}: {what}", key.kind, key.namespace, key.name));
    let (troubles, mut unheeded) = (troubles.collect(), simulation.unheeded());
    unheeded.extend(for_nodes.first().map(|_| DAEMON_SET.to_owned()));
    Ok(Made { changes, unheeded, troubles, priorities })
}

/// Revisions of what is made are none of those that objects of the cluster have.
const REVISION: u64 = 1 << 62;
