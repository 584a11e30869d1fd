//! Deciding a common selector for a device allocates nothing.

use allocation_counter::measure;
use selector::{AttributeValue, Device, DeviceSlice, Environment, ExpressionKind, Selector};

/// The common shapes, with `$a` and `$c` short for the driver's attributes and capacities.
const COMMON: [&str; 14] = [
    "device.driver == 'gpu.example.com'",
    "$a.model == 'H100'",
    "$a.model != 'A100' && device.attributes[device.driver].index == 3",
    "$a.index < 4",
    "$a.healthy",
    "$a.healthy == true && !$a.shared",
    "$a.version.isGreaterThan(semver('560.0.0'))",
    "$a.version.compareTo(semver('560.0.0')) >= 0",
    "$c.memory.compareTo(quantity('40Gi')) >= 0",
    "$a.model in ['A100', 'H100', 'H200']",
    "has($a.missing) || has($c.memory)",
    "device.driver == 'gpu.example.com' && $a.model == 'H100' && $c.memory.isGreaterThan(quantity('40Gi'))",
    "$a.rails.includes('rail-3')",
    "$a.?missing.orValue('none') == 'none' && $a.model.startsWith('H')",
];

fn device() -> Device {
    let mut device = Device::new("gpu.example.com", false);
    let attributes = [
        ("model", AttributeValue::String("H100")),
        ("index", AttributeValue::Int(3)),
        ("healthy", AttributeValue::Bool(true)),
        ("shared", AttributeValue::Bool(false)),
        ("version", AttributeValue::Version("570.124.6")),
        ("rails", AttributeValue::Strings(&["rail-1", "rail-3"])),
    ];
    for (name, value) in attributes {
        device.attribute(name, &value).expect("a valid attribute");
    }
    device.capacity("memory", "80Gi".parse().expect("a quantity"));
    device
}

fn compile(expression: &str) -> Selector {
    let expression = expression
        .replace("$a", "device.attributes['gpu.example.com']")
        .replace("$c", "device.capacity['gpu.example.com']");
    let compiled = Selector::compile(&expression, ExpressionKind::Selector, Environment::all());
    assert!(compiled.is_ok(), "{expression}: {:?}", compiled.err());
    compiled.expect("it was just asked")
}

#[test]
fn deciding_a_usual_selector_allocates_nothing() {
    // A device alone, and one that shares its names with others of its slice.
    let slice = DeviceSlice::new(vec![device(), device()]);
    for device in [&device(), &slice.devices()[1]] {
        for expression in COMMON {
            let selector = compile(expression);
            for evaluation in ["the first", "another"] {
                let counted = measure(|| assert_eq!(selector.holds(device), Ok(true), "{expression}"));
                assert_eq!(counted.count_total, 0, "{evaluation} evaluation of {expression}");
            }
        }
    }
}

#[test]
fn allocations_would_be_counted() {
    let selector = compile("$a.model.split('').size() == 4");
    let device = device();
    let counted = measure(|| assert_eq!(selector.holds(&device), Ok(true)));
    assert!(counted.count_total > 0, "the counter sees what evaluation allocates");
}
