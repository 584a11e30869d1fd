//! What expressions say about devices.

use selector::{AttributeValue, Device, Environment, ErrorClass, ExpressionKind, Selector};

fn device() -> Device {
    let mut device = Device::new("gpu.example.com", true);
    let attributes = [
        ("model", AttributeValue::String("A100")),
        ("index", AttributeValue::Int(3)),
        ("healthy", AttributeValue::Bool(true)),
        ("version", AttributeValue::Version("550.54.15+build")),
        ("links", AttributeValue::Strings(&["l0", "l1"])),
        ("lanes", AttributeValue::Ints(&[8, 16])),
        ("topology.example.net/rack", AttributeValue::Int(7)),
    ];
    for (name, value) in attributes {
        device.attribute(name, &value).expect("a valid attribute");
    }
    device.capacity("memory", "80Gi".parse().expect("a quantity"));
    device
}

/// Evaluates with `a` and `c` short for the driver's attributes and capacities.
fn evaluate(expression: &str) -> Result<bool, ErrorClass> {
    let expression = expression
        .replace("$a", "device.attributes['gpu.example.com']")
        .replace("$c", "device.capacity['gpu.example.com']");
    let compiled = Selector::compile(&expression, ExpressionKind::Selector, Environment::all());
    assert!(compiled.is_ok(), "{expression}: {:?}", compiled.err());
    let selector = compiled.expect("it was just asked");
    let evaluated = selector.matches(&device());
    assert_eq!(selector.holds(&device()), evaluated.result, "the fast way differs for {expression}");
    evaluated.result.map_err(|error| error.class)
}

fn check(table: &[(&str, Result<bool, ErrorClass>)]) {
    for (expression, wanted) in table {
        assert_eq!(evaluate(expression), *wanted, "for {expression}");
    }
}

#[test]
fn fields_are_read_by_domain() {
    check(&[
        ("device.driver == 'gpu.example.com' && device.allowMultipleAllocations", Ok(true)),
        ("$a.model == 'A100' && device.attributes[device.driver].index == 3", Ok(true)),
        ("device.attributes['topology.example.net'].rack in [6, 7]", Ok(true)),
        ("$a.missing == 1", Err(ErrorClass::NoSuchKey)),
        ("device.attributes['nowhere'].x == 1", Err(ErrorClass::NoSuchKey)),
    ]);
}

#[test]
fn an_unknown_domain_is_an_empty_map_that_is_not_there() {
    check(&[
        ("device.attributes['nowhere'] == {}", Ok(true)),
        ("has(device.attributes.nowhere)", Ok(true)),
        ("'nowhere' in device.attributes", Ok(false)),
        ("has(device.attributes['nowhere'].x)", Ok(false)),
        ("device.attributes[?'nowhere'].hasValue()", Ok(true)),
        ("device.attributes.size() == 2", Ok(true)),
    ]);
}

#[test]
fn and_and_or_absorb_errors_in_any_order() {
    check(&[
        ("$a.missing == 1 && false", Ok(false)),
        ("false && $a.missing == 1", Ok(false)),
        ("$a.missing == 1 || true", Ok(true)),
        ("true && $a.missing == 1", Err(ErrorClass::NoSuchKey)),
        ("[1, 0].exists(x, 1 / x == 1)", Ok(true)),
        ("[0, 2].all(x, 1 / x == 1)", Ok(false)),
        ("$a.model && true", Err(ErrorClass::NoSuchOverload)),
    ]);
}

#[test]
fn numbers_never_wrap() {
    check(&[
        ("9223372036854775807 + 1 > 0", Err(ErrorClass::Overflow)),
        ("-9223372036854775808 - 1 < 0", Err(ErrorClass::Overflow)),
        ("0u - 1u > 0u", Err(ErrorClass::Overflow)),
        ("1 / 0 == 1", Err(ErrorClass::DivideByZero)),
        ("1.0 / 0.0 > 1.0", Ok(true)),
        ("dyn(1) == dyn(1.0) && dyn(1u) == dyn(1)", Ok(true)),
        ("7 % -2 == 1 && -7 / 2 == -3", Ok(true)),
    ]);
}

#[test]
fn optionals_chain() {
    check(&[
        ("$a.?missing.orValue('x') == 'x'", Ok(true)),
        ("$a.?model.orValue('x') == 'A100'", Ok(true)),
        ("$a.?missing.hasValue()", Ok(false)),
        ("$a.?missing.value() == 1", Err(ErrorClass::EmptyOptional)),
        ("$a.?model.optMap(m, m.size()).orValue(0) == 4", Ok(true)),
        ("[?$a.?missing, ?optional.of(dyn(1))] == [1]", Ok(true)),
    ]);
}

#[test]
fn a_variable_that_holds_an_empty_list_grows_when_it_is_added_to() {
    // Surprising, and the same in the reference: its accumulator is changed in place.
    check(&[
        ("cel.bind(l, [], (l + [1]).size() + (l + [2]).size() == 3)", Ok(true)),
        ("cel.bind(l, [0], (l + [1]).size() + (l + [2]).size() == 4)", Ok(true)),
    ]);
}

#[test]
fn amounts_and_versions_compare_by_value() {
    check(&[
        ("$c.memory.compareTo(quantity('40Gi')) > 0", Ok(true)),
        ("$c.memory == quantity('81920Mi')", Ok(true)),
        ("quantity('2') == quantity('1').add(1)", Err(ErrorClass::NoSuchOverload)),
        ("quantity('1').add(1) == quantity('2')", Ok(true)),
        ("$a.version == semver('550.54.15')", Ok(true)),
        ("$a.version.isGreaterThan(semver('v550', true))", Ok(true)),
        ("$a.version == '550.54.15'", Err(ErrorClass::NoSuchOverload)),
        ("'550.54.15' == $a.version", Ok(false)),
    ]);
}

#[test]
fn comparing_with_a_wide_amount_is_remembered() {
    check(&[
        ("cel.bind(q, quantity('5'), q.isInteger())", Ok(true)),
        ("cel.bind(q, quantity('5'), q.isLessThan(quantity('1Ei')) && q.isInteger())", Ok(false)),
        ("cel.bind(q, quantity('5'), quantity('1Ei').isGreaterThan(q) && q.isInteger())", Ok(true)),
        (
            "[1, 2].all(x, cel.bind(q, quantity('5'), q.isInteger() && q.isLessThan(quantity('1Ei'))))",
            Ok(true),
        ),
    ]);
}

#[test]
fn lists_of_a_device_are_lists() {
    check(&[
        ("$a.links.exists(l, l == 'l1')", Ok(true)),
        ("'l0' in $a.links && $a.links.includes('l1')", Ok(true)),
        ("$a.model.includes('A100')", Ok(true)),
        ("$a.lanes.sum() == 24 && $a.lanes.max() == 16", Ok(true)),
        ("$a.lanes[2] == 1", Err(ErrorClass::Index)),
        ("$a.model.exists(l, l == 'x')", Err(ErrorClass::NotIterable)),
    ]);
}

#[test]
fn keys_of_maps_are_found_by_value() {
    check(&[
        ("null in {null: 1} && duration('60s') in {duration('1m'): 1} && int in {type(1): 2}", Ok(true)),
        ("dyn(1.0) in {1: 2} && dyn(1u) in {1: 2} && !(dyn('1') in {1: 2})", Ok(true)),
        ("{'a': 1, 'a': 2}.size() == 1 && {'a': 1, 'a': 2}['a'] == 2", Ok(true)),
        ("{1: 'x'}[dyn(2)] == 'x'", Err(ErrorClass::NoSuchKey)),
        ("[1] in {[1]: 2}", Ok(false)),
    ]);
}

#[test]
fn some_operations_end_the_evaluation() {
    check(&[
        ("$a.version in ['x'] || true", Err(ErrorClass::Internal)),
        ("$a.missing.distinct().size() == 0 || true", Err(ErrorClass::Internal)),
        ("lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))", Err(ErrorClass::CostLimit)),
    ]);
}

#[test]
fn a_result_that_is_no_condition_is_an_error() {
    check(&[
        ("$a.index", Err(ErrorClass::NotBool)),
        ("$a.healthy", Ok(true)),
        ("dyn(optional.of(true))", Ok(true)),
    ]);
}

#[test]
fn texts_count_characters_and_print_like_people_write() {
    check(&[
        ("'żółw'.size() == 4 && 'żółw'.charAt(1) == 'ó' && 'żółw'.indexOf('w') == 3", Ok(true)),
        ("'%.2f'.format([1234567.891]) == '1,234,567.89'", Ok(true)),
        ("'%e'.format([12345.678]) == '1.234568×10⁰⁴'", Ok(true)),
        ("'%s'.format([[1.5, 2.0]]) == '[1.500000, 2.000000]'", Ok(true)),
        ("string(1e6) == '1e+06' && string(100000.0) == '100000'", Ok(true)),
        ("timestamp('2024-02-29T23:30:00Z').getDate('Europe/Warsaw') == 1", Ok(true)),
        ("timestamp('2024-02-29T23:30:00Z').getDate('europe/warsaw') == 1", Err(ErrorClass::InvalidArgument)),
    ]);
}

#[test]
fn a_device_with_a_broken_version_is_refused_as_a_whole() {
    let mut device = Device::new("d", false);
    let bad = device.attribute("v", &AttributeValue::Version("1.2")).expect_err("two numbers are no version");
    assert_eq!(bad.name, "v");
    assert!(device.attribute("w", &AttributeValue::Missing).is_err());
}
