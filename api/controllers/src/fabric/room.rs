//! How much room hosts and ports have: what is attached, and what is on its way.

use std::collections::BTreeMap;

use super::inventory::{Place, Port, Unit};
use super::ledger::{Origin, Phase, origin, phase};
use super::scene::{Scene, Seen};

/// How many devices each host and each port has, or will have.
pub(super) struct Room<'a> {
    scene: &'a Scene<'a>,
    hosts: BTreeMap<String, u32>,
    ports: BTreeMap<String, u32>,
}

impl<'a> Room<'a> {
    pub(super) fn of(scene: &'a Scene<'a>) -> Self {
        let mut room = Self { scene, hosts: BTreeMap::new(), ports: BTreeMap::new() };
        for place in scene.inventory.units.values().filter_map(|unit| unit.attached.as_ref()) {
            room.take(place);
        }
        for entry in scene.entries.values() {
            // What others attached is where the inventory has it, or nowhere.
            let will_be = origin(entry) == Origin::Attached
                && matches!(phase(entry), Phase::Attaching | Phase::Attached);
            if will_be && matches!(scene.place_of(entry), Seen::Free | Seen::NotYet) {
                room.take(&Place { host: entry.spec.host.clone(), port: entry.spec.port.clone() });
            }
        }
        room
    }

    pub(super) fn take(&mut self, place: &Place) {
        *self.hosts.entry(place.host.clone()).or_default() += 1;
        *self.ports.entry(place.port.clone()).or_default() += 1;
    }

    /// Where a host could have one more device: the port with the fewest.
    pub(super) fn for_unit(&self, host: &str, unit: &Unit) -> Option<Place> {
        let known = self.scene.host(host)?;
        let used = |of: &BTreeMap<String, u32>, name: &str| of.get(name).copied().unwrap_or(0);
        let units_max = known.units_max.or(self.scene.options.units_per_node_max);
        if units_max.is_some_and(|most| used(&self.hosts, host) >= most) {
            return None;
        }
        let has_room = |port: &&Port| port.units_max.is_none_or(|most| used(&self.ports, &port.name) < most);
        let ports = known.ports.iter().filter(|port| port.reaches(unit)).filter(has_room);
        let port = ports.min_by_key(|port| used(&self.ports, &port.name))?;
        Some(Place { host: host.to_owned(), port: port.name.clone() })
    }
}
