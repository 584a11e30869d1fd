//! What is wrong with an expression is said with its place and what would be right.

use selector::{CompileErrorKind, Environment, ExpressionKind, Selector, SyntaxMistake};

fn refusal(expression: &str) -> selector::CompileError {
    let compiled = Selector::compile(expression, ExpressionKind::Selector, Environment::all());
    compiled.expect_err("the expression is wrong")
}

/// Checks the text of the refusals of many expressions.
fn check(table: &[(&str, &str)]) {
    for (expression, wanted) in table {
        assert_eq!(refusal(expression).to_string(), *wanted, "for {expression}");
    }
}

#[test]
fn a_name_that_does_not_exist_is_answered_with_one_that_does() {
    check(&[
        ("devise.driver == 'x'", "column 1: \"devise\" is not declared; hint: did you mean \"device\"?"),
        (
            "device.attribute == 1",
            "column 7: device has no field \"attribute\"; hint: did you mean \"attributes\"?",
        ),
        (
            "'a'.lowerAsci() == 'a'",
            "column 14: there is no function \"lowerAsci\"; hint: did you mean \"lowerAscii\"?",
        ),
        (
            "[1].any(x, x == 1)",
            "column 9: \"x\" is not declared; hint: a selector can use the variable \"device\"",
        ),
        ("'a'.length() == 1", "column 11: there is no function \"length\"; hint: use size()"),
    ]);
}

#[test]
fn types_that_do_not_fit_are_named_with_those_that_would() {
    check(&[
        (
            "device.driver == 1",
            "column 15: == cannot be applied to string and int; hint: both sides must have one type; convert one, for \
             example with string() or int()",
        ),
        (
            "device.driver && true",
            "column 7: && combines conditions, but this is string; hint: compare it, for example with ==",
        ),
        (
            "quantity('1').sign() == 1",
            "column 19: sign() cannot be applied to kubernetes.Quantity with (); hint: call it as a function: f(x)",
        ),
        (
            "[1, 'a'].size() == 2",
            "column 5: this is string, but the ones before are int; hint: all must have one type; wrap each in dyn() to mix \
             types",
        ),
        (
            "device.driver",
            "column 1: a selector must be a condition (bool), but this is string; hint: compare it with something, for \
             example with ==",
        ),
    ]);
}

#[test]
fn broken_text_is_pointed_at() {
    check(&[
        ("device.driver = 'x'", "column 15: unexpected '='; hint: compare with =="),
        (
            "true and false",
            "column 6: unexpected \"and\", wanted an operator or the end; hint: combine conditions with &&",
        ),
        ("(true", "column 6: the expression ends too early, ')' is missing"),
        (
            "true &&\n  'abc",
            "line 2, column 3: this string does not end, or contains an unknown escape sequence; hint: close the quote; write \
             a backslash as \\\\",
        ),
        (
            "has(device.attributes['x'])",
            "column 22: has() needs a field selection; hint: write has(a.b); for a key use \"key\" in map, or \
             a[?\"key\"].hasValue()",
        ),
    ]);
    assert_eq!(refusal("if == 1").kind, CompileErrorKind::Syntax(SyntaxMistake::Reserved));
    assert_eq!(refusal("9223372036854775808 == 1").kind, CompileErrorKind::Syntax(SyntaxMistake::Literal));
}

#[test]
fn columns_count_characters() {
    assert_eq!(refusal("'żółw' == 'a' && foo").column, 18);
}

#[test]
fn constants_are_tried_before_any_device_is_seen() {
    assert_eq!(refusal("true || int('x') == 1").kind, CompileErrorKind::Constant);
    assert_eq!(refusal("'a'.find('(') == ''").kind, CompileErrorKind::Constant);
    assert_eq!(refusal("duration('1x') == duration('1s')").kind, CompileErrorKind::LiteralArgument);
    assert_eq!(refusal("'%d'.format(['a']) == ''").kind, CompileErrorKind::FormatString);
}

#[test]
fn what_is_behind_a_gate_exists_only_with_the_gate() {
    let none = Environment { list_attributes: false, multiple_allocations: false };
    for gated in [
        "device.allowMultipleAllocations",
        "device.attributes['d'].x.includes('a')",
        "device.attributes['d'].x.exists(e, e == 'a')",
    ] {
        assert!(Selector::compile(gated, ExpressionKind::Selector, Environment::all()).is_ok(), "{gated}");
        assert!(Selector::compile(gated, ExpressionKind::Selector, none).is_err(), "{gated}");
    }
    assert!(Selector::compile("device.attributes['d'].x", ExpressionKind::Selector, none).is_ok());
}

#[test]
fn the_worst_cost_is_known_before_evaluation() {
    let cost = |expression: &str| {
        let selector = Selector::compile(expression, ExpressionKind::Selector, Environment::all());
        selector.expect("it is valid").estimated_max_cost()
    };
    assert_eq!(cost("device.driver == 'dra.example.com'"), 4);
    assert_eq!(cost("device.attributes['d'].name"), 4);
    assert_eq!(cost("'x' in device.attributes"), 3);
    assert_eq!(cost("device.capacity['d'].name.isGreaterThan(quantity('1Ki'))"), 6);
    assert_eq!(cost("cel.bind(dra, device.attributes['d'], dra.name)"), 15);
    assert_eq!(cost("device.attributes['d'].name.includes('x')"), 68);
    // The key of a two-variable loop is estimated by the size of the value; see the estimate's paths.
    assert_eq!(cost("device.capacity['d'].exists(k, v, k == 'a')"), 164);
}
