//! GPUs, NICs and disks of three drivers that must be near each other in two ways: by twos and threes on a root port, and by fewer,
//! larger places around these.

use serde_json::{Value, json};

use super::dice::Dice;
use super::node::{self, Pool, claim, class_of, device, request, wanted};
use crate::instances::Instance;

/// By which attributes devices are near each other, whatever their driver.
const PORT: &str = "resource.kubernetes.io/pcieRoot";
const PLACE: &str = "dra.example.com/numa";

/// As many constraints as a claim may have.
const CONSTRAINTS_MAX: usize = 32;

const DRIVERS: [&str; 3] = ["gpu.example.com", "nic.example.com", "disk.example.com"];

pub(super) fn instance(dice: &mut Dice, requests: usize) -> Instance {
    let kinds = if requests >= 6 && dice.one_in(2) { 3 } else { 2 };
    let bundles = (requests / kinds).max(1);
    let places = dice.within(1, 4);
    let by_port = dice.within(1, 3);
    // A place has several ports, and some ports lead to two places.
    let ports = bundles.div_ceil(by_port) + dice.below(3);
    let spread = dice.one_in(3);
    let mut pools: Vec<Vec<Value>> = vec![Vec::new(); kinds];
    for port in 0..ports {
        for (kind, devices) in pools.iter_mut().enumerate() {
            let count = if dice.one_in(4) { dice.within(0, by_port + 1) } else { by_port };
            for _ in 0..count {
                let place = if spread && dice.one_in(3) { dice.below(places) } else { port % places };
                let mut made = device(devices.len(), &[("speed", dice.below(3))]);
                made["attributes"][PORT] = json!({"string": format!("pci{port:04}")});
                made["attributes"][PLACE] = json!({"int": place});
                if kind > 0 && dice.one_in(8) {
                    made["attributes"][PORT] = json!({"strings": [format!("pci{port:04}"), format!("pci{:04}", (port + 1) % ports)]});
                    if ports == 1 {
                        made["attributes"][PORT] = json!({"string": format!("pci{port:04}")});
                    }
                }
                devices.push(made);
            }
        }
    }
    let ask = |at: usize| {
        let mut ask = wanted(1, "speed", &[]);
        ask["deviceClassName"] = json!(class_of(DRIVERS[at % kinds]));
        ask
    };
    let asked: Vec<Value> = (0..bundles * kinds).map(|at| request(at, &ask(at))).collect();
    let rules = rules(dice, bundles, kinds);
    // A driver without devices has its class all the same.
    let pools = pools.into_iter().zip(DRIVERS);
    let pools =
        pools.map(|(devices, driver)| Pool { name: class_of(driver), driver, devices, ..Pool::default() });
    node::instance_of(&pools.collect::<Vec<_>>(), vec![claim(0, &asked, &rules)])
}

/// What has to match, and what has to differ.
fn rules(dice: &mut Dice, bundles: usize, kinds: usize) -> Vec<Value> {
    let named = |members: &[usize]| members.iter().map(|at| format!("r{at}")).collect::<Vec<_>>();
    let all: Vec<Vec<usize>> =
        (0..bundles).map(|bundle| (bundle * kinds..(bundle + 1) * kinds).collect()).collect();
    let mut rules: Vec<Value> = Vec::new();
    for members in &all {
        match dice.below(4) {
            // Two of three match by the port, and others of these by the place.
            0 if kinds == 3 => {
                rules.push(json!({"matchAttribute": PORT, "requests": named(&members[..2])}));
                rules.push(json!({"matchAttribute": PLACE, "requests": named(&members[1..])}));
            }
            1 => rules.push(json!({"matchAttribute": PLACE, "requests": named(members)})),
            _ => rules.push(json!({"matchAttribute": PORT, "requests": named(members)})),
        }
    }
    match dice.below(4) {
        0 => {
            let some: Vec<usize> = all.iter().take(dice.within(1, bundles)).map(|all| all[0]).collect();
            rules.push(json!({"matchAttribute": PLACE, "requests": named(&some)}));
        }
        1 if bundles > 1 => {
            let some: Vec<usize> = all.iter().take(dice.within(2, bundles)).map(|all| all[0]).collect();
            rules.push(json!({"distinctAttribute": PORT, "requests": named(&some)}));
        }
        _ => {}
    }
    rules.truncate(CONSTRAINTS_MAX);
    rules
}
