//! `supercargo topology`: the domains of a cluster with their nodes, devices and free resources.

mod picture;
mod tree;

use std::io::{self, Write};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use inventory::devices::inventory;
use inventory::domains::{Domain, Tally, levels, root};
use views::domains::document;

use crate::amounts;
use crate::columns::{columns, row};
use crate::failure::{Failure, advice};
use crate::state::{Named, Source};

const EXAMPLES: &str = "\
Examples:
  supercargo topology                                       the domains of the cluster in ~/.kube/config
  supercargo topology --level example.com/rack -o tree      racks with their nodes
  supercargo topology -o svg > cluster.svg                  a picture of racks, nodes and devices, for a browser
  supercargo topology --state examples/devices/cluster.yaml  of a saved state

Domains are the values of node labels. Without --level these are the labels that NodeTopology objects and the topology
constraints of pod groups name, or topology.kubernetes.io/zone and kubernetes.io/hostname if there are none; the label with
the fewest values comes first.

Fragmentation: of the free devices of a driver in a domain, the percentage that the node which can use the most of them cannot
use. With 0% one node can use all free devices; with 75% the best node can use a quarter of them, so that a pod that needs more
has no place although enough devices are free.";

/// Show topology domains with their nodes, devices, free resources and fragmentation
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Topology {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    named: Named,
    /// Node labels whose values are topology domains, from the coarsest to the finest
    #[arg(long, value_name = "KEY", num_args = 1..)]
    level: Vec<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "table")]
    output: Format,
}

/// How domains are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A table with a row for each domain and driver
    Table,
    /// Nested domains, down to nodes
    Tree,
    /// One JSON object
    Json,
    /// An SVG picture
    Svg,
}

impl Topology {
    pub(crate) fn run(&self, out: &mut dyn Write, complaints: &mut dyn Write) -> Result<(), Failure> {
        let state = self.source.read(self.named.namespace(), complaints)?;
        let named = self.named.namespaces();
        let observed = state.observed(&named);
        let keys = if self.level.is_empty() { levels(observed.facts) } else { self.levels(observed.facts)? };
        let devices = inventory(&observed).devices;
        let root = root(&observed, &devices, &keys);
        match self.output {
            Format::Table => out.write_all(table(&root).as_bytes())?,
            Format::Tree => out.write_all(tree::text(&root, &devices).as_bytes())?,
            Format::Json => {
                let text = serde_json::to_string_pretty(&document(&keys, &root)).map_err(io::Error::from)?;
                writeln!(out, "{text}")?;
            }
            Format::Svg => out.write_all(picture::svg(&root, &devices).as_bytes())?,
        }
        Ok(())
    }

    /// The labels that were named, each of which some node has.
    fn levels(&self, facts: &cluster::facts::Facts) -> Result<Vec<Arc<str>>, Failure> {
        let nodes = || facts.nodes.iter().filter_map(|(_, state)| state.node.as_ref());
        for key in &self.level {
            if !nodes().any(|node| node.labels.contains_key(key.as_str())) {
                let labels = nodes().flat_map(|node| node.labels.keys()).map(AsRef::as_ref);
                let wrong = format!("no node has the label {key:?}");
                return Err(Failure::Failed { wrong, hint: advice(key, labels) });
            }
        }
        Ok(self.level.iter().map(|key| Arc::from(key.as_str())).collect())
    }
}

/// A row for each domain and driver; one row for a domain without devices.
pub(crate) fn table(root: &Domain) -> String {
    let mut rows = vec![row([
        "DOMAIN",
        "NODES",
        "PODS",
        "CPU FREE",
        "MEMORY FREE",
        "DRIVER",
        "DEVICES",
        "FREE",
        "ALLOCATED",
        "MOST FREE ON",
        "FRAGMENTATION",
    ])];
    domain_rows(root, "", &mut rows);
    columns(&rows)
}

fn domain_rows(domain: &Domain, within: &str, rows: &mut Vec<Vec<String>>) {
    let path = path(domain, within);
    let (cpu, memory) = free(domain);
    let head = [title(domain, &path), domain.nodes.len().to_string(), domain.pods.to_string(), cpu, memory];
    if domain.by_driver.is_empty() {
        let mut cells = head.to_vec();
        cells.extend(row(["-", "0", "0", "0", "-", "-"]));
        rows.push(cells);
    }
    for (driver, tally) in &domain.by_driver {
        let mut cells = head.to_vec();
        cells.push(driver.to_string());
        cells.extend([tally.devices, tally.free, tally.allocated].map(|count| count.to_string()));
        cells.extend([largest(tally), percent(tally)]);
        rows.push(cells);
    }
    for one in &domain.domains {
        domain_rows(one, &path, rows);
    }
}

/// The names of a domain and of those that it is in.
fn path(domain: &Domain, within: &str) -> String {
    if within.is_empty() { domain.name.to_string() } else { format!("{within}/{}", domain.name) }
}

fn title(domain: &Domain, path: &str) -> String {
    if domain.level.is_none() { "(cluster)".to_owned() } else { path.to_owned() }
}

/// The free processors and memory of a domain, as people write them.
fn free(domain: &Domain) -> (String, String) {
    (amounts::cpu(domain.free.cpu_milli), amounts::memory(domain.free.memory))
}

/// The node with the most free devices, and how many.
fn largest(tally: &Tally) -> String {
    let largest = tally.largest_on_node.as_ref();
    largest.map_or_else(|| "-".to_owned(), |(node, free)| format!("{node}: {free}"))
}

fn percent(tally: &Tally) -> String {
    tally.fragmentation().map_or_else(|| "-".to_owned(), |percent| format!("{percent}%"))
}
