//! Devices of an instance.

use serde_json::{Value, json};

use crate::choices::Choices;

/// A device, with what holders need to know of it.
pub(super) struct Device {
    pub(super) name: String,
    pub(super) shareable: bool,
    /// What a share consumes when it asks for nothing.
    pub(super) default: Option<u64>,
    pub(super) draws: Vec<Draw>,
    pub(super) json: Value,
}

/// What a device draws from a counter set.
#[derive(Clone)]
pub(super) struct Draw {
    pub(super) set: &'static str,
    pub(super) amount: u64,
    pub(super) groups: Vec<&'static str>,
}

/// Whether and how the devices of a pool draw from counters.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Partitions {
    None,
    Plain,
    WithGroups,
}

/// The counter sets of a partitioned pool, each with so many units.
pub(super) const SETS: [(&str, u64); 2] = [("s0", 4), ("s1", 3)];

/// A device of a pool.
pub(super) fn device(choices: &mut Choices<'_>, at: usize, partitions: Partitions) -> Device {
    let name = format!("d{at}");
    let mut json = json!({"name": name, "attributes": attributes(choices, at)});
    let shareable = choices.one_in(3);
    if shareable {
        json["allowMultipleAllocations"] = json!(true);
    }
    let mut default = None;
    if choices.one_in(2) {
        let value = [4, 6, 8][choices.below(3)];
        let mut capacity = json!({"value": value.to_string()});
        default = Some(value);
        if shareable && !choices.one_in(3) {
            let (policy, amount) = policy(choices, value);
            capacity["requestPolicy"] = policy;
            default = amount.or(default);
        }
        json["capacity"] = json!({"mem": capacity});
    }
    if choices.one_in(6) {
        let effect = choices.pick(&["NoSchedule", "NoExecute", "None"]);
        json["taints"] = json!([{"key": "worn", "value": "yes", "effect": effect}]);
    }
    if choices.one_in(4) {
        json["bindingConditions"] = json!(["ready"]);
        json["bindingFailureConditions"] = json!(["broken"]);
    }
    if choices.one_in(12) {
        json["bindsToNode"] = json!(true);
    }
    let draws = draws(choices, partitions);
    if !draws.is_empty() {
        json["consumesCounters"] = draws.iter().map(consumption).collect();
    }
    Device { name, shareable, default, draws, json }
}

fn attributes(choices: &mut Choices<'_>, at: usize) -> Value {
    let mut attributes = json!({"index": {"int": at}});
    if !choices.one_in(8) {
        attributes["model"] = json!({"string": choices.pick(&["x", "y"])});
    }
    match choices.below(8) {
        7 => {}
        6 => attributes["numa"] = json!({"ints": [0, 1]}),
        5 => attributes["numa"] = json!({"ints": [1, 2]}),
        even if even % 2 == 0 => attributes["numa"] = json!({"int": 0}),
        _ => attributes["numa"] = json!({"int": 1}),
    }
    attributes
}

/// A policy for so much capacity, and the amount that it gives to whoever asks for nothing.
fn policy(choices: &mut Choices<'_>, value: u64) -> (Value, Option<u64>) {
    match choices.below(6) {
        0 => (json!({"default": "1"}), Some(1)),
        1 => (json!({"default": "1", "validRange": {"min": "1"}}), Some(1)),
        2 => {
            let max = (value - 1).to_string();
            (json!({"default": "1", "validRange": {"min": "1", "step": "2", "max": max}}), Some(1))
        }
        3 => (json!({"default": "1", "validRange": {"min": "500m", "step": "500m", "max": "3"}}), Some(1)),
        4 => (json!({"default": "2", "validValues": ["2", "3"]}), Some(2)),
        _ => (json!({}), None),
    }
}

fn draws(choices: &mut Choices<'_>, partitions: Partitions) -> Vec<Draw> {
    let mut draws = Vec::new();
    if partitions == Partitions::None {
        return draws;
    }
    let both = choices.one_in(3);
    for (at, (set, units)) in SETS.into_iter().enumerate() {
        if at == 0 || both {
            let amount = 1 + choices.below(3) as u64;
            let groups: &[&str] = match choices.below(5) {
                _ if partitions == Partitions::Plain => &[],
                0 | 4 => &["a"],
                1 => &["b"],
                2 => &["a", "b"],
                _ => &[],
            };
            draws.push(Draw { set, amount: amount.min(units), groups: groups.to_vec() });
        }
    }
    draws
}

fn consumption(draw: &Draw) -> Value {
    let counters = json!({"units": {"value": draw.amount.to_string()}});
    let mut json = json!({"counterSet": draw.set, "counters": counters});
    if !draw.groups.is_empty() {
        json["compatibilityGroups"] = json!(draw.groups);
    }
    json
}
