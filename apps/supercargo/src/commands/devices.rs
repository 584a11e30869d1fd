//! `supercargo devices`: every device of a cluster, its state, and the claims and pods that hold it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use clap::{Args, ValueEnum};
use inventory::devices::{CounterRow, DeviceRow, DeviceState, HolderRow, Inventory, inventory};
use inventory::place::DevicePlace;
use views::devices::document;

use crate::columns::{columns, row};
use crate::failure::{Failure, advice};
use crate::state::{Named, Source, State};
use crate::yaml;

const EXAMPLES: &str = "\
Examples:
  supercargo devices                                every device of the cluster in ~/.kube/config
  supercargo devices --node node-1 -o wide          those that can be used from node-1, with classes and taints
  supercargo devices --class gpu -n team-a          those of class gpu; only holders in team-a are named
  supercargo devices --state examples/devices/cluster.yaml
  kubectl get nodes,pods,resourceslices,resourceclaims,deviceclasses -A -o yaml | supercargo devices --state -

States: free; allocated; partly used (claims share it, and some capacity is left); waiting for readiness (binding conditions
are not reported yet); failed (a binding failure was reported); tainted; counters used up and incompatible groups (allocated
partitions of the same device exclude it); pool incomplete and pool invalid (slices of its pool are missing, or contradict
each other); not published (a claim holds it, but no slice lists it any longer); unknown (not all claims can be read).";

/// How many holders of a device a table names.
const HOLDERS_MAX: usize = 2;

/// List devices with their state, and the claims and pods that use them
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Devices {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    named: Named,
    /// Show only devices that this node can use
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Show only devices of this driver
    #[arg(long, value_name = "NAME")]
    driver: Option<String>,
    /// Show only devices that match the selectors of this DeviceClass
    #[arg(long, value_name = "NAME")]
    class: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "table")]
    output: Format,
}

/// How devices are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A table
    Table,
    /// More columns: classes, taints, and all holders
    Wide,
    /// One JSON object
    Json,
    /// One YAML document
    Yaml,
}

impl Devices {
    pub(crate) fn run(&self, out: &mut dyn Write, complaints: &mut dyn Write) -> Result<(), Failure> {
        let state = self.source.read(self.named.namespace(), complaints)?;
        let shown = self.chosen(&state)?;
        match self.output {
            Format::Table => out.write_all(tables(&shown, false).as_bytes())?,
            Format::Wide => out.write_all(tables(&shown, true).as_bytes())?,
            Format::Json => {
                let text = serde_json::to_string_pretty(&document(&shown)).map_err(io::Error::from)?;
                writeln!(out, "{text}")?;
            }
            Format::Yaml => out.write_all(yaml::document(&document(&shown)).as_bytes())?,
        }
        Ok(())
    }

    /// The devices that were asked for, with the counters of their pools.
    fn chosen(&self, state: &State) -> Result<Inventory, Failure> {
        let facts = state.facts();
        if let Some(node) = self.node.as_deref().filter(|node| !facts.has_node(node)) {
            return Err(unknown(
                "node",
                node,
                facts.nodes.iter().filter_map(|(_, one)| Some(&*one.node.as_ref()?.name)),
            ));
        }
        if let Some(class) = self.class.as_deref().filter(|class| !facts.classes.contains_key(*class)) {
            return Err(unknown("DeviceClass", class, facts.classes.keys().map(AsRef::as_ref)));
        }
        let Inventory { mut devices, mut counters } = inventory(&state.observed(&self.named.namespaces()));
        if let Some(driver) =
            self.driver.as_deref().filter(|one| !devices.iter().any(|row| *row.id.driver == **one))
        {
            return Err(unknown("driver", driver, devices.iter().map(|row| &*row.id.driver)));
        }
        devices.retain(|row| {
            self.node.as_deref().is_none_or(|node| row.place.is_at(node))
                && self.driver.as_deref().is_none_or(|driver| *row.id.driver == *driver)
                && self.class.as_deref().is_none_or(|class| row.classes.iter().any(|name| **name == *class))
        });
        counters.retain(|row| devices.iter().any(|device| device.id.pool_id() == row.pool));
        Ok(Inventory { devices, counters })
    }
}

/// The error for a name that does not exist.
fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> Failure {
    Failure::Failed { wrong: format!("there is no {what} {name:?}"), hint: advice(name, known) }
}

/// Devices, sums for each node and driver, and counters.
pub(crate) fn tables(shown: &Inventory, wide: bool) -> String {
    if shown.devices.is_empty() {
        return "no devices\n".to_owned();
    }
    let mut head = row(["NODE", "DRIVER", "POOL", "DEVICE", "STATE", "HOLDER", "PODS", "SINCE"]);
    if wide {
        head.extend(row(["CLASSES", "TAINTS"]));
    }
    head.push("DETAIL".to_owned());
    let mut rows = vec![head];
    rows.extend(shown.devices.iter().map(|device| cells(device, wide)));
    let mut text = columns(&rows);
    text.push('\n');
    text.push_str(&columns(&summary(&shown.devices)));
    if !shown.counters.is_empty() {
        text.push('\n');
        text.push_str(&columns(&counters(&shown.counters)));
    }
    text
}

/// A device as a row.
fn cells(device: &DeviceRow, wide: bool) -> Vec<String> {
    let most = if wide { usize::MAX } else { HOLDERS_MAX };
    let since = device.holders.iter().filter_map(|holder| holder.named.as_ref()?.since).min();
    let users = device.holders.iter().filter_map(|holder| holder.named.as_ref()).flat_map(|named| {
        named.users.iter().map(|user| match &*user.resource {
            "pods" => user.name.to_string(),
            other => format!("{other}/{}", user.name),
        })
    });
    let mut cells = vec![
        device.place.to_string(),
        device.id.driver.to_string(),
        device.id.pool.to_string(),
        device.id.device.to_string(),
        device.state.to_string(),
        list(device.holders.iter().map(holder).collect(), most),
        list(users.collect(), most),
        since.map_or_else(|| "-".to_owned(), |time| time.to_string()),
    ];
    if wide {
        cells.push(list(device.classes.iter().map(ToString::to_string).collect(), most));
        cells.push(list(device.taints.iter().map(views::devices::taint).collect(), most));
    }
    cells.push(detail(device));
    cells
}

/// The claim that holds a device, as far as it may be named.
fn holder(holder: &HolderRow) -> String {
    let name = holder.named.as_ref().map_or_else(|| "in use".to_owned(), |named| named.claim.to_string());
    if holder.admin { format!("{name} (admin access)") } else { name }
}

/// Texts in one cell, the first of them if there are many.
fn list(mut texts: Vec<String>, most: usize) -> String {
    texts.dedup();
    let more = texts.len().saturating_sub(most);
    texts.truncate(most);
    match (texts.is_empty(), more) {
        (true, _) => "-".to_owned(),
        (false, 0) => texts.join(", "),
        (false, more) => format!("{} and {more} more", texts.join(", ")),
    }
}

/// What else there is to say of a device: what is left of it, or why it is as it is.
fn detail(device: &DeviceRow) -> String {
    if device.state == DeviceState::PartlyUsed {
        let left = device.left.iter().map(|(name, (left, all))| format!("{left} of {all} {name} left"));
        return list(left.collect(), usize::MAX);
    }
    device.state.detail().unwrap_or_else(|| "-".to_owned())
}

/// How many devices of each driver each node has.
fn summary(devices: &[DeviceRow]) -> Vec<Vec<String>> {
    let mut sums: Vec<(&DevicePlace, BTreeMap<&str, [usize; 4]>)> = Vec::new();
    for device in devices {
        // Devices of one place are beside each other.
        if sums.last().is_none_or(|(place, _)| **place != device.place) {
            sums.push((&device.place, BTreeMap::new()));
        }
        let (_, drivers) = sums.last_mut().expect("one was pushed");
        let sum = drivers.entry(&device.id.driver).or_default();
        let column = match &device.state {
            DeviceState::Free => 1,
            state if state.is_held() => 2,
            _ => 3,
        };
        sum[0] += 1;
        sum[column] += 1;
    }
    let mut rows = vec![row(["NODE", "DRIVER", "DEVICES", "FREE", "ALLOCATED", "OTHER"])];
    for (place, drivers) in sums {
        for (driver, sum) in drivers {
            let mut cells = vec![place.to_string(), driver.to_owned()];
            cells.extend(sum.iter().map(ToString::to_string));
            rows.push(cells);
        }
    }
    rows
}

/// What is left of each counter.
fn counters(counters: &[CounterRow]) -> Vec<Vec<String>> {
    let mut rows = vec![row(["DRIVER", "POOL", "COUNTER SET", "COUNTER", "LEFT", "OF"])];
    rows.extend(counters.iter().map(|one| {
        let (left, value) = (one.left.to_string(), one.value.to_string());
        row([&one.pool.driver, &one.pool.pool, &one.set, &one.counter, &left, &value])
    }));
    rows
}
