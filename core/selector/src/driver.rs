//! The driver that an expression asks for, so that it is known without evaluation which devices cannot match.
//!
//! Invariant: a driver is told only if the expression matches no device of any other. A condition that is false decides whatever
//! stands beside it in a conjunction, errors too, so one comparison of `device.driver` with a constant is a proof.

use crate::fast::{Read, read};
use crate::program::Node;
use crate::selector::Selector;
use crate::stack::deeper;
use crate::value::constant::Constant;

impl Selector {
    /// The only driver whose devices can match, if the expression says so in a common way.
    #[must_use]
    pub fn driver(&self) -> Option<&str> {
        driver_of(&self.program.root)
    }
}

fn driver_of(node: &Node) -> Option<&str> {
    match node {
        Node::And(terms) => deeper(|| terms.iter().find_map(driver_of)),
        Node::Equal(sides) => {
            let [left, right] = &**sides;
            compared(left, right).or_else(|| compared(right, left))
        }
        _ => None,
    }
}

/// The constant that a driver is compared with.
fn compared<'n>(driver: &Node, constant: &'n Node) -> Option<&'n str> {
    match (read(driver)?, constant) {
        (Read::Driver, Node::Constant(Constant::String(name))) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Environment, ExpressionKind, Selector};

    #[test]
    fn a_driver_is_told_only_if_no_other_can_match() {
        let table = [
            ("device.driver == 'a.example.com'", Some("a.example.com")),
            ("'a.example.com' == device.driver", Some("a.example.com")),
            ("device.attributes['x'].y == 1 && device.driver == 'a' && true", Some("a")),
            ("(device.driver == 'a' && device.capacity['x'].y.isGreaterThan(quantity('1')))", Some("a")),
            ("device.driver == 'a' || device.driver == 'b'", None),
            ("device.driver != 'a'", None),
            ("!(device.driver == 'a')", None),
            ("device.driver.startsWith('a')", None),
            ("device.attributes['a'].driver == 'a'", None),
            ("device.driver == 'a' ? true : true", None),
            ("true", None),
        ];
        for (expression, driver) in table {
            let selector = Selector::compile(expression, ExpressionKind::Selector, Environment::all());
            let selector = selector.unwrap_or_else(|error| panic!("{expression}: {error}"));
            assert_eq!(selector.driver(), driver, "{expression}");
        }
    }
}
