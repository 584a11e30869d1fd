//! From what a profile enables and disables to what runs at each point.
//!
//! A profile says for `multiPoint` what runs wherever it can, beginning with the defaults, and for each point what runs
//! there. The more specific word counts, and enabling outweighs disabling.
//!
//! Invariant: no plugin is twice in a list, and every plugin runs at the points whose lists it is in.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Plugin, Point};

/// A plugin in a list, with its weight; zero if none was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub plugin: Plugin,
    pub weight: i64,
}

/// What a profile says about a point, or about all points.
#[derive(Clone, Debug, Default)]
pub(crate) struct PluginSet {
    pub enabled: Vec<Listed>,
    pub disabled: Disabled,
}

/// What is not wanted.
#[derive(Clone, Debug)]
pub(crate) enum Disabled {
    /// Nothing but what is enabled by name.
    All,
    /// These.
    Some(BTreeSet<Plugin>),
}

impl Default for Disabled {
    fn default() -> Self {
        Self::Some(BTreeSet::new())
    }
}

impl Disabled {
    fn has(&self, plugin: Plugin) -> bool {
        match self {
            Self::All => true,
            Self::Some(plugins) => plugins.contains(&plugin),
        }
    }
}

/// What a profile says about its plugins.
#[derive(Clone, Debug, Default)]
pub(crate) struct PluginSets {
    pub multi_point: PluginSet,
    pub points: BTreeMap<Point, PluginSet>,
}

/// What runs at each point, in order, and how much its word counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugins {
    lists: BTreeMap<Point, Vec<Plugin>>,
    /// Weights of the plugins that rank nodes.
    pub score_weights: BTreeMap<Plugin, i64>,
    /// Weights of the plugins that rank places for groups.
    pub placement_score_weights: BTreeMap<Plugin, i64>,
}

impl Plugins {
    /// What runs at a point, in order.
    #[must_use]
    pub fn at(&self, point: Point) -> &[Plugin] {
        self.lists.get(&point).map_or(&[], Vec::as_slice)
    }

    /// What runs at the point `filter`, in order.
    #[must_use]
    pub fn filters(&self) -> &[Plugin] {
        self.at(Point::Filter)
    }

    /// Whether a plugin runs anywhere.
    #[must_use]
    pub fn has(&self, plugin: Plugin) -> bool {
        self.lists.values().any(|list| list.contains(&plugin))
    }

    /// What runs when a profile says this, and these are the defaults.
    pub(crate) fn merged(defaults: &[Listed], sets: &PluginSets) -> Self {
        let everywhere = everywhere(defaults, &sets.multi_point);
        let silent = PluginSet::default();
        let set = |point| sets.points.get(&point).unwrap_or(&silent);
        let lists: BTreeMap<_, _> =
            Point::ALL.iter().map(|point| (*point, at_point(*point, &everywhere, set(*point)))).collect();
        let weights = |point| weights(&lists[&point], &set(point).enabled, &everywhere);
        let score_weights = weights(Point::Score);
        let placement_score_weights = weights(Point::PlacementScore);
        Self { lists, score_weights, placement_score_weights }
    }
}

/// What runs wherever it can: a default that is listed again keeps its position and takes the new weight, and what is
/// no default, or was disabled as one, comes after them.
fn everywhere(defaults: &[Listed], set: &PluginSet) -> Vec<Listed> {
    let again = |plugin| set.enabled.iter().find(|listed| listed.plugin == plugin);
    let mut merged: Vec<_> = defaults
        .iter()
        .filter(|listed| !set.disabled.has(listed.plugin))
        .map(|listed| *again(listed.plugin).unwrap_or(listed))
        .collect();
    for listed in &set.enabled {
        if !merged.iter().any(|earlier| earlier.plugin == listed.plugin) {
            merged.push(*listed);
        }
    }
    merged
}

/// What runs at a point. First comes what its own list repeats of the plugins that run everywhere, so that a list can put
/// them in order; then the others that run everywhere; then what is only in its own list.
fn at_point(point: Point, everywhere: &[Listed], set: &PluginSet) -> Vec<Plugin> {
    let own = || set.enabled.iter().map(|listed| listed.plugin);
    let inherited: Vec<_> = everywhere
        .iter()
        .map(|listed| listed.plugin)
        .filter(|plugin| plugin.runs_at(point) && !set.disabled.has(*plugin))
        .collect();
    let (repeated, only): (Vec<_>, Vec<_>) = own().partition(|plugin| inherited.contains(plugin));
    let others = inherited.iter().copied().filter(|plugin| !repeated.contains(plugin));
    repeated.iter().copied().chain(others).chain(only).collect()
}

/// The weights of the plugins in a list. A plugin that the point lists takes its weight from there even if none is given,
/// which makes it one.
fn weights(list: &[Plugin], own: &[Listed], everywhere: &[Listed]) -> BTreeMap<Plugin, i64> {
    let weight = |plugin: Plugin| {
        let listed = own.iter().chain(everywhere).find(|listed| listed.plugin == plugin);
        match listed.map_or(0, |listed| listed.weight) {
            0 => 1,
            weight => weight,
        }
    };
    list.iter().map(|plugin| (*plugin, weight(*plugin))).collect()
}
