//! A node with 128 devices, of which a claim wants five that have something in common.
//!
//! Devices come in 16 trays of eight. What a tray lacks decides whether five requests can be satisfied from it.

use std::collections::BTreeMap;

use model::device::{Attribute, Device};

use super::world::World;

const TRAYS: usize = 16;
const IN_TRAY: usize = 8;
const PROFILES: usize = 5;

/// Every tray but the last lacks one of five profiles, each in turn.
pub(super) fn last_tray_has_all() -> anyhow::Result<World> {
    trays(|tray| (tray + 1 < TRAYS).then_some(tray % PROFILES))
}

/// Every tray lacks one of five profiles.
pub(super) fn no_tray_has_all() -> anyhow::Result<World> {
    trays(|tray| Some(tray % PROFILES))
}

/// Trays of devices of all profiles but one.
fn trays(lacks: impl Fn(usize) -> Option<usize>) -> anyhow::Result<World> {
    let device = |number: usize| {
        let (tray, place) = (number / IN_TRAY, number % IN_TRAY);
        let offered: Vec<usize> = (0..PROFILES).filter(|profile| Some(*profile) != lacks(tray)).collect();
        device(number, offered[place % offered.len()], &[("tray", tray)])
    };
    World::new(vec![(0..TRAYS * IN_TRAY).map(device).collect()], Vec::new())
}

/// Every four devices share a switch; the last have no fifth either, or they have.
fn switches(last_four_join: bool) -> anyhow::Result<World> {
    let last = TRAYS * IN_TRAY / 4 - 1;
    let device = |number: usize| {
        let switch = number / 4;
        let joined = last_four_join && switch == last;
        device(number, 0, &[("switch", if joined { switch - 1 } else { switch })])
    };
    World::new(vec![(0..TRAYS * IN_TRAY).map(device).collect()], Vec::new())
}

/// Four devices on each switch, and eight on the last.
pub(super) fn last_switch_has_five() -> anyhow::Result<World> {
    switches(true)
}

/// Four devices on each switch.
pub(super) fn no_switch_has_five() -> anyhow::Result<World> {
    switches(false)
}

/// Devices with a row and a column, 64 by 8, so that each row and each column has enough of them.
///
/// Five that share both are in the last row only, or nowhere: elsewhere a row has two in each of four columns.
fn grid(last_row_is_one_column: bool) -> anyhow::Result<World> {
    let device = |number: usize| {
        let (row, place) = (number / IN_TRAY, number % IN_TRAY);
        let column = if last_row_is_one_column && row == TRAYS - 1 { 0 } else { place / 2 };
        device(number, 0, &[("row", row), ("column", column)])
    };
    World::new(vec![(0..TRAYS * IN_TRAY).map(device).collect()], Vec::new())
}

/// Five devices share a row and a column in the last row.
pub(super) fn last_row_is_one_column() -> anyhow::Result<World> {
    grid(true)
}

/// At most two devices share a row and a column.
pub(super) fn two_in_each_cell() -> anyhow::Result<World> {
    grid(false)
}

fn device(number: usize, profile: usize, values: &[(&str, usize)]) -> Device {
    let mut attributes =
        BTreeMap::from([("profile".into(), Attribute::String(format!("kind-{profile}").into()))]);
    for (name, value) in values {
        attributes.insert((*name).into(), Attribute::String(format!("{name}-{value}").into()));
    }
    Device { name: format!("device-{number:03}").into(), attributes, ..Device::default() }
}
