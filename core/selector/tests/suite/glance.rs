//! The short ways of deciding a common condition say what the full evaluation says, whatever the device is like.

use selector::{AttributeValue, Device, DeviceSlice, Environment, ExpressionKind, Names, Selector};

/// Conditions of the common shapes, with `$a` and `$c` short for attributes and capacities of a domain.
const CONDITIONS: [&str; 34] = [
    "device.driver == 'a.example.com'",
    "'a.example.com' != device.driver",
    "$a.x == 'one'",
    "'one' != $a.x",
    "$a.x in ['one', 'two']",
    "$a.x in [2, 3]",
    "$a.x.startsWith('o')",
    "$a.x.endsWith('e')",
    "$a.x.contains('n')",
    "$a.x.matches('^(one|two)$')",
    "$a.x.includes('one')",
    "$a.x == true",
    "$a.x != false",
    "$a.x",
    "!$a.x",
    "$a.x == 2",
    "2 != $a.x",
    "$a.x < 3",
    "3 <= $a.x",
    "$a.x >= 2 && $a.x > 1",
    "$a.x == semver('1.2.3')",
    "$a.x.isGreaterThan(semver('1.2.0'))",
    "$a.x.isLessThan(semver('1.3.0')) || $a.x.compareTo(semver('1.2.3')) == 0",
    "semver('1.2.3').compareTo($a.x) < 0",
    "$c.x.compareTo(quantity('2Gi')) >= 0",
    "$c.x.compareTo(quantity('2Gi')) != 1 && 5 > $c.x.compareTo(quantity('1'))",
    "$c.x.isGreaterThan(quantity('1Gi'))",
    "$c.x == quantity('2048Mi')",
    "quantity('3Gi').isLessThan($c.x)",
    "has($a.x) && $a.x == 'one'",
    "!has($c.x) || $c.x.isLessThan(quantity('3Gi'))",
    "$a.y == 7 || $a.x == 'one'",
    "$a.y == 7 && $a.x == 'one'",
    "device.attributes[device.driver].x == 'one'",
];

const VALUES: [AttributeValue<'static>; 12] = [
    AttributeValue::String("one"),
    AttributeValue::String("two"),
    AttributeValue::String(""),
    AttributeValue::Int(2),
    AttributeValue::Int(-9),
    AttributeValue::Bool(true),
    AttributeValue::Bool(false),
    AttributeValue::Version("1.2.3"),
    AttributeValue::Version("2.0.0-rc.1"),
    AttributeValue::Strings(&["three", "one"]),
    AttributeValue::Ints(&[2]),
    AttributeValue::Missing,
];

/// Devices of two drivers with all kinds of values, some without, and with names in different places.
fn devices() -> Vec<Device> {
    let mut devices = Vec::new();
    for round in 0..3 {
        for (number, value) in VALUES.iter().enumerate() {
            let mut device = Device::new(["a.example.com", "b.example.com"][(number + round) % 2], false);
            if !matches!(value, AttributeValue::Missing) {
                device.attribute("a.example.com/x", value).expect("a valid attribute");
                device.attribute("b.example.com/x", &VALUES[round]).expect("a valid attribute");
            }
            if round > 0 {
                device.attribute("a.example.com/a", &VALUES[0]).expect("a valid attribute");
                device.attribute("a.example.com/y", &AttributeValue::Int(7)).expect("a valid attribute");
                let amount = ["1Gi", "2Gi", "4Gi"][number % 3].parse().expect("a quantity");
                device.capacity("a.example.com/x", amount);
            }
            devices.push(device);
        }
    }
    devices
}

fn compile(condition: &str) -> Selector {
    let expression = condition
        .replace("$a", "device.attributes['a.example.com']")
        .replace("$c", "device.capacity['a.example.com']");
    let compiled = Selector::compile(&expression, ExpressionKind::Selector, Environment::all());
    assert!(compiled.is_ok(), "{expression}: {:?}", compiled.err());
    compiled.expect("it was just asked")
}

#[test]
fn a_glance_says_what_the_full_evaluation_says() {
    let mut shared = devices();
    let mut names = Names::default();
    shared.iter_mut().for_each(|device| names.share(device));
    for condition in CONDITIONS {
        let selector = compile(condition);
        assert!(selector.is_fast(), "{condition} is a common shape");
        for device in devices().iter().chain(&shared).chain(shared.iter().rev()).chain(&devices()) {
            assert_eq!(selector.holds(device), selector.matches(device).result, "{condition}: {device:?}");
        }
    }
}

#[test]
fn a_slice_of_any_size_is_answered_like_its_devices() {
    for condition in CONDITIONS {
        let selector = compile(condition);
        for times in [1, 2, 4] {
            let slice = DeviceSlice::new(std::iter::repeat_with(devices).take(times).flatten().collect());
            let found = selector.matches_slice(&slice);
            let mut failures = found.failures.into_iter();
            for (at, device) in slice.devices().iter().enumerate() {
                match selector.matches(device).result {
                    Ok(answer) => assert_eq!(found.matching.contains(at), answer, "{condition}: {device:?}"),
                    Err(error) => assert_eq!(failures.next(), Some((at, error)), "{condition}: {device:?}"),
                }
            }
            assert_eq!(failures.next(), None, "{condition}");
        }
        let few = DeviceSlice::new(devices().into_iter().take(8).collect());
        let found = selector.matches_slice(&few).matching.count_ones(..);
        let one_by_one = few.devices().iter().filter(|device| selector.matches(device).result == Ok(true));
        assert_eq!(found, one_by_one.count(), "{condition}");
    }
}
