//! Reads which plugins a profile enables and disables.

use std::collections::BTreeSet;

use model::nearest::nearest;

use crate::fault::{Faults, Problem};
use crate::fields::Item;
use crate::merge::{Disabled, Listed, PluginSet, PluginSets};
use crate::{Plugin, Point};

const MULTI_POINT: &str = "multiPoint";

/// Stands for every plugin in a list of disabled ones.
const EVERY: &str = "*";

/// Plugins of earlier releases whose work another one does.
const REMOVED: [&str; 4] = ["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"];

/// Reads `plugins` of a profile.
pub(crate) fn read(item: Item<'_>, faults: &mut Faults) -> PluginSets {
    let known: Vec<_> = Point::ALL.iter().map(|point| point.name()).chain([MULTI_POINT]).collect();
    let mut sets = PluginSets::default();
    let Some(fields) = item.fields(&known, faults) else { return sets };
    if let Some(set) = fields.get(MULTI_POINT) {
        sets.multi_point = plugin_set(set, None, faults);
    }
    for point in Point::ALL {
        if let Some(set) = fields.get(point.name()) {
            sets.points.insert(*point, plugin_set(set, Some(*point), faults));
        }
    }
    sets
}

fn plugin_set(item: Item<'_>, point: Option<Point>, faults: &mut Faults) -> PluginSet {
    let Some(fields) = item.fields(&["enabled", "disabled"], faults) else { return PluginSet::default() };
    let mut enabled: Vec<Listed> = Vec::new();
    fields.list("enabled", faults, |item, faults| {
        let listed = enabled_plugin(item, point, faults)?;
        if enabled.iter().any(|earlier| earlier.plugin == listed.plugin) {
            item.fault(Problem::RepeatedPlugin { plugin: listed.plugin }, faults);
        } else {
            enabled.push(listed);
        }
        Some(())
    });
    let disabled = fields.list("disabled", faults, disabled_plugin);
    let every = disabled.iter().any(|wish| matches!(wish, Disabling::Every));
    let some: BTreeSet<_> = disabled
        .iter()
        .filter_map(|wish| match wish {
            Disabling::Every => None,
            Disabling::One(plugin) => *plugin,
        })
        .collect();
    PluginSet { enabled, disabled: if every { Disabled::All } else { Disabled::Some(some) } }
}

fn enabled_plugin(item: &Item<'_>, point: Option<Point>, faults: &mut Faults) -> Option<Listed> {
    let fields = item.fields(&["name", "weight"], faults)?;
    let weight = fields.small("weight", i32::MIN..=i32::MAX, faults).unwrap_or(0).into();
    let Some(name) = fields.get("name") else {
        fields.fault("name", Problem::Required { hint: "write the name of a plugin" }, faults);
        return None;
    };
    let plugin = plugin(&name, faults)?;
    if let Some(point) = point.filter(|point| !plugin.runs_at(*point)) {
        name.fault(Problem::NotAtPoint { plugin, point }, faults);
        return None;
    }
    Some(Listed { plugin, weight })
}

enum Disabling {
    Every,
    /// A plugin, or one that is gone already.
    One(Option<Plugin>),
}

fn disabled_plugin(item: &Item<'_>, faults: &mut Faults) -> Option<Disabling> {
    let fields = item.fields(&["name", "weight"], faults)?;
    let Some(name) = fields.get("name") else {
        fields.fault("name", Problem::Required { hint: "write the name of a plugin, or *" }, faults);
        return None;
    };
    match name.text(faults)? {
        EVERY => Some(Disabling::Every),
        // Nobody has to change a file that turned these off while they existed.
        removed if REMOVED.contains(&removed) => Some(Disabling::One(None)),
        _ => plugin(&name, faults).map(|plugin| Disabling::One(Some(plugin))),
    }
}

/// Reads the name of a plugin.
pub(crate) fn plugin(item: &Item<'_>, faults: &mut Faults) -> Option<Plugin> {
    let name = item.text(faults)?;
    let plugin = Plugin::named(name);
    if plugin.is_none() {
        let name = name.to_owned();
        let problem = if REMOVED.contains(&name.as_str()) {
            Problem::RemovedPlugin { name }
        } else {
            let known = Plugin::ALL.iter().map(|plugin| plugin.name());
            let nearest = nearest(&name, known).unwrap_or_default();
            Problem::UnknownPlugin { name, nearest }
        };
        item.fault(problem, faults);
    }
    plugin
}
