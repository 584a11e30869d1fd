//! Any text is a selector or is refused with a place inside it; a selector says the same about a device each way it is
//! asked, and never more than the limit allows.

use selector::{
    AttributeValue, COST_MAX, Device, DeviceSlice, Environment, ErrorClass, ExpressionKind, Selector,
};

/// Pieces of expressions, so that random bytes have a chance to compile.
const PIECES: [&str; 92] = [
    "device",
    ".driver",
    ".attributes",
    ".capacity",
    "[\"d\"]",
    ".a",
    ".s",
    ".l",
    ".v",
    ".missing",
    ".?a",
    "[?0]",
    "[0]",
    "has(",
    ")",
    "(",
    "==",
    "!=",
    "<",
    ">=",
    "&&",
    "||",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "in",
    "?",
    ":",
    ",",
    "[",
    "]",
    "{",
    "}",
    "1",
    "0",
    "2u",
    "1.5",
    "\"x\"",
    "''",
    "b'a'",
    "true",
    "false",
    "null",
    "quantity(\"1Gi\")",
    "semver('1.2.3')",
    ".isGreaterThan(",
    ".compareTo(",
    ".add(",
    ".exists(x, ",
    ".all(x, ",
    ".map(x, ",
    ".filter(x, ",
    "x",
    ".size()",
    ".orValue(",
    ".optMap(y, ",
    "y",
    "cel.bind(z, ",
    "z",
    ".matches('^a')",
    ".split('')",
    ".join('-')",
    ".sort()",
    ".distinct()",
    ".flatten()",
    ".reverse()",
    ".includes(",
    "sets.contains(",
    "lists.range(",
    "dyn(",
    "int(",
    "string(",
    "duration('1h')",
    "timestamp(0)",
    ".getHours()",
    "'%s %d'",
    ".format(",
    "ip('10.0.0.1')",
    "cidr('10.0.0.0/8')",
    ".containsIP(",
    "url('https://h/p?q=1')",
    ".getQuery()",
    "optional.of(",
    "optional.none()",
    "type(",
    ".transformMap(k, v, ",
    "k",
    ".indexOf(",
    ".sum()",
];

/// Puts pieces together, one a byte.
pub fn spell(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| PIECES[usize::from(*byte) % PIECES.len()]).collect::<Vec<_>>().join(" ")
}

fn device(full: bool) -> Device {
    let mut device = Device::new("d", full);
    if full {
        let attributes = [
            ("a", AttributeValue::Int(1)),
            ("s", AttributeValue::String("abc")),
            ("l", AttributeValue::Strings(&["x", "y"])),
            ("v", AttributeValue::Version("1.2.3")),
        ];
        for (name, value) in attributes {
            device.attribute(name, &value).expect("the attributes are valid");
        }
        device.capacity("a", "2Gi".parse().expect("a quantity"));
    }
    device
}

/// Compiles the text and asks it about devices in every way. Says whether the text was a selector.
pub fn check(text: &str) -> bool {
    let selector = match Selector::compile(text, ExpressionKind::Selector, Environment::all()) {
        Ok(selector) => selector,
        Err(error) => {
            assert!(error.offset <= text.chars().count(), "{text:?} is refused at {}", error.offset);
            return false;
        }
    };
    let slice = DeviceSlice::new(vec![device(true), device(false), device(true)]);
    let together = selector.matches_slice(&slice);
    for (at, device) in slice.devices().iter().enumerate() {
        let evaluated = selector.matches(device);
        if let Err(error) = &evaluated.result {
            assert!(
                evaluated.cost <= COST_MAX || error.class == ErrorClass::CostLimit,
                "{text:?} costs too much"
            );
        }
        assert_eq!(selector.holds(device), evaluated.result, "{text:?} says two things about one device");
        assert_eq!(
            together.matching.contains(at),
            evaluated.result == Ok(true),
            "{text:?} differs in a slice"
        );
    }
    true
}
