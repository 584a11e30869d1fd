//! Whatever is written, compiling and evaluating end with an answer: no panic, no overflowing stack, no hang.

use std::thread;
use std::time::Instant;

use selector::{Device, Environment, ErrorClass, ExpressionKind, Selector};

fn compile(expression: &str) -> Result<Selector, selector::CompileError> {
    Selector::compile(expression, ExpressionKind::Selector, Environment::all())
}

/// Compiles and runs on a small stack, as a worker thread has.
fn answer(expression: String) -> Option<Result<bool, ErrorClass>> {
    let worker = thread::Builder::new().stack_size(2 << 20).spawn(move || {
        let selector = compile(&expression).ok()?;
        Some(selector.matches(&Device::new("d", false)).result.map_err(|error| error.class))
    });
    worker.expect("a thread starts").join().expect("nothing panics")
}

fn nested(open: &str, middle: &str, close: &str, depth: usize) -> String {
    format!("{}{middle}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn the_deepest_accepted_nesting_fits_a_small_stack() {
    for (open, middle, close) in [
        ("(", "true", ")"),
        ("!(", "true", ")"),
        ("[1].all(x, ", "true", ")"),
        ("[1].exists_one(x, ", "true", ")"),
        ("cel.bind(x, 1, ", "true", ")"),
        ("true ? true : (", "true", ")"),
        ("dyn(", "true", ")"),
        ("[1].map(x, ", "1", ").size() == 1 && [1].map(x, 1"),
    ] {
        let deepest = (1..=250).rev().find(|depth| compile(&nested(open, middle, close, *depth)).is_ok());
        let Some(depth) = deepest else { continue };
        answer(nested(open, middle, close, depth));
        assert!(compile(&nested(open, middle, close, 5000)).is_err());
    }
}

#[test]
fn a_chain_of_macros_that_repeat_their_target_is_refused_not_expanded_forever() {
    let chain = format!("optional.of(1){}.hasValue()", ".optMap(x, x)".repeat(60));
    let error = compile(&chain).expect_err("two to the sixtieth copies are too many");
    assert!(error.message.contains("too large"), "{error}");
}

#[test]
fn lists_that_double_fill_neither_memory_nor_time() {
    let uses = [
        "x62 == x62",
        "[x62] == [x62]",
        "3 in x62",
        "x62 in [x62]",
        "x62.indexOf(3) == 0",
        "x62.includes(3)",
        "x62.sum() > 0",
        "x62.sort() == []",
        "x62.distinct() == []",
        "x62.reverse() == []",
        "[x62].flatten() == []",
        "sets.contains(x62, [3])",
        "x62.all(x, x > 0)",
        "'%s'.format([x62]) == ''",
        "x62.map(x, x) == []",
    ];
    for usage in uses {
        let mut expression = usage.to_owned();
        for level in (0..62).rev() {
            expression = format!("cel.bind(x{}, x{level} + x{level}, {expression})", level + 1);
        }
        let expression = format!("cel.bind(x0, [1, 2], {expression})");
        let started = Instant::now();
        let selector = compile(&expression).expect("it is valid");
        let evaluated = selector.matches(&Device::new("d", false));
        assert!(evaluated.result.is_err(), "{usage} has an answer");
        assert!(started.elapsed().as_secs() < 20, "{usage} takes {:?}", started.elapsed());
    }
}

#[test]
fn a_replacement_that_explodes_ends_at_the_cost_limit() {
    let big = "a".repeat(3000);
    let expression = format!("'{big}'.replace('a', '{big}').replace('a', '{big}').size() > 0");
    let result = answer(expression).expect("it compiles");
    assert_eq!(result, Err(ErrorClass::CostLimit));
}

#[test]
fn patterns_run_in_linear_time() {
    let text = "a".repeat(5000);
    let started = Instant::now();
    assert_eq!(answer(format!("'{text}!'.matches('^(a+)+$')")), Some(Ok(false)));
    assert!(started.elapsed().as_secs() < 5);
}

#[test]
fn any_mutilation_of_an_expression_is_an_answer() {
    let seed = r#"device.attributes["d"].?x.orValue("a").matches("^[a-z]+$") && {"k": [1, 2u, 3.5]}.k.exists(i, v, v > 1) ? cel.bind(y, b"\x41", y.size() == 1) : "%s %d".format(["a", 1]) == 'é'"#;
    let characters: Vec<char> = seed.chars().collect();
    for at in 0..characters.len() {
        let mut shorter = characters.clone();
        shorter.remove(at);
        answer(shorter.iter().collect());
        for replacement in ['(', '"', '?', '[', '.', '1', '\u{0}', '`', '\\'] {
            let mut changed = characters.clone();
            changed[at] = replacement;
            let text: String = changed.iter().collect();
            let _ = compile(&text).map(|selector| selector.matches(&Device::new("d", true)));
        }
        answer(characters[..at].iter().collect());
    }
}
