//! Domains in domains, down to nodes with a sign for each device.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use inventory::devices::{DeviceRow, DeviceState};
use inventory::domains::{Domain, Tally};
use inventory::place::DevicePlace;

use super::{free, largest, percent};

const LEGEND: &str = "■ allocated  ◧ partly used  □ free  ▨ cannot be allocated at the moment";

/// The domains of a cluster as a tree.
pub(super) fn text(root: &Domain, devices: &[DeviceRow]) -> String {
    let mut on_node: BTreeMap<&str, BTreeMap<&str, String>> = BTreeMap::new();
    let mut beyond: BTreeMap<(String, &str), String> = BTreeMap::new();
    for row in devices {
        let signs = match &row.place {
            DevicePlace::Node(node) => on_node.entry(node).or_default().entry(&row.id.driver).or_default(),
            place => beyond.entry((place.to_string(), &row.id.driver)).or_default(),
        };
        signs.push(sign(&row.state));
    }
    let mut tree = Tree { on_node, text: String::new() };
    tree.domain(root, "");
    let Tree { mut text, .. } = tree;
    for ((place, driver), signs) in beyond {
        let _ = writeln!(text, "{driver} for {place}: {signs}");
    }
    if !devices.is_empty() {
        let _ = writeln!(text, "\n{LEGEND}");
    }
    text
}

/// A device, as one character.
fn sign(state: &DeviceState) -> char {
    match state {
        DeviceState::Free => '□',
        DeviceState::PartlyUsed => '◧',
        state if state.is_held() => '■',
        _ => '▨',
    }
}

/// A tree that is being written.
struct Tree<'t> {
    /// Devices of nodes by driver, as signs.
    on_node: BTreeMap<&'t str, BTreeMap<&'t str, String>>,
    text: String,
}

/// What is below a domain.
enum Child<'c> {
    Domain(&'c Domain),
    Node(&'c str),
}

impl Tree<'_> {
    /// A domain, and what is in it. The lines after its first begin with the indent.
    fn domain(&mut self, domain: &Domain, indent: &str) {
        self.text.push_str(&head(domain));
        self.text.push('\n');
        let loose = if domain.domains.is_empty() { &domain.nodes } else { &domain.elsewhere };
        let domains = domain.domains.iter().map(Child::Domain);
        let children: Vec<Child<'_>> = domains.chain(loose.iter().map(|node| Child::Node(node))).collect();
        let bar = if children.is_empty() { "   " } else { "│  " };
        for (driver, tally) in &domain.by_driver {
            let _ = writeln!(self.text, "{indent}{bar}{driver}: {}", counts(tally));
        }
        for (at, child) in children.iter().enumerate() {
            let is_last = at + 1 == children.len();
            self.text.push_str(indent);
            self.text.push_str(if is_last { "└─ " } else { "├─ " });
            match child {
                Child::Domain(one) => {
                    self.domain(one, &format!("{indent}{}", if is_last { "   " } else { "│  " }));
                }
                Child::Node(name) => self.node(name),
            }
        }
    }

    fn node(&mut self, name: &str) {
        self.text.push_str(name);
        for (driver, signs) in self.on_node.get(name).into_iter().flatten() {
            let _ = write!(self.text, "  {driver} {signs}");
        }
        self.text.push('\n');
    }
}

/// A domain without its devices.
fn head(domain: &Domain) -> String {
    let title = match &domain.level {
        None => "cluster".to_owned(),
        Some(level) => format!("{}={}", level, domain.name),
    };
    let (cpu, memory) = free(domain);
    let (nodes, pods) = (counted(domain.nodes.len(), "node"), counted(domain.pods, "pod"));
    format!("{title}: {nodes}, {pods}, {cpu} CPUs and {memory} memory free")
}

/// Devices of a driver in one line.
fn counts(tally: &Tally) -> String {
    let mut line = format!("{} of {} free", tally.free, tally.devices);
    if tally.free > 0 {
        let _ = write!(line, "; most on {}; fragmentation {}", largest(tally), percent(tally));
    }
    line
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
