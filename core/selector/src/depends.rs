//! What a program reads of a device.
//!
//! Devices that are equal in everything a program reads get the same answer, so over a slice it is evaluated once for each
//! combination that occurs. This finds the columns; when in doubt it names too many.

use crate::columns::{Column, DeviceSlice, Source};
use crate::fast::Part;
use crate::program::{Attribute, Key, Node, Qualifier, Variable};
use crate::stack::deeper;
use crate::value::constant::Constant;

/// How many columns are combined at most; a program that reads more is evaluated for each device.
const COLUMNS_MAX: usize = 64;

/// One column for all that the program reads; `None` if combining does not pay.
pub(crate) fn signature(root: &Node, slice: &DeviceSlice) -> Option<Column> {
    let mut reads = Reads { slice, columns: Vec::new() };
    reads.node(root);
    if reads.columns.len() > COLUMNS_MAX {
        return None;
    }
    let mut combined = slice.column(Source::Constant)?.clone();
    for column in reads.columns {
        // A column with one value tells nothing apart.
        if column.examples.len() > 1 {
            combined = combined.with(column);
        }
        if combined.examples.len() * 2 > combined.codes.len() {
            return None;
        }
    }
    Some(combined)
}

struct Reads<'s> {
    slice: &'s DeviceSlice,
    columns: Vec<&'s Column>,
}

impl<'s> Reads<'s> {
    fn add(&mut self, column: &'s Column) {
        if !self.columns.iter().any(|known| std::ptr::eq(*known, column)) {
            self.columns.push(column);
        }
    }

    fn source(&mut self, source: Source<'_>) {
        if let Some(column) = self.slice.column(source) {
            self.add(column);
        }
    }

    fn whole(&mut self, part: Part, domain: Option<&str>) {
        for column in self.slice.columns_of(part, domain) {
            self.add(column);
        }
    }

    fn everything(&mut self) {
        self.source(Source::Driver);
        self.source(Source::Multiple);
        self.whole(Part::Attributes, None);
        self.whole(Part::Capacity, None);
    }

    fn node(&mut self, node: &Node) {
        deeper(|| self.node_here(node));
    }

    fn node_here(&mut self, node: &Node) {
        match node {
            Node::Constant(_) | Node::Prepared { .. } => {}
            Node::Attribute(attribute) | Node::Test(attribute) => self.attribute(attribute),
            Node::And(nodes)
            | Node::Or(nodes)
            | Node::Equal(nodes)
            | Node::NotEqual(nodes)
            | Node::OptionalOr(nodes)
            | Node::OptionalOrValue(nodes) => nodes.iter().for_each(|node| self.node(node)),
            Node::Call(call) => call.args.iter().for_each(|node| self.node(node)),
            Node::NotStrictlyFalse(inner) => self.node(inner),
            Node::List(elements) => elements.iter().for_each(|(node, _)| self.node(node)),
            Node::Map(entries) => entries.iter().for_each(|entry| {
                self.node(&entry.key);
                self.node(&entry.value);
            }),
            Node::Message(message) => message.fields.iter().for_each(|(_, node, _)| self.node(node)),
            Node::Fold(fold) => {
                for node in [&fold.range, &fold.init, &fold.condition, &fold.step, &fold.result] {
                    self.node(node);
                }
            }
            Node::InSet(set) => self.node(&set.element),
        }
    }

    fn attribute(&mut self, attribute: &Attribute) {
        let qualifiers = match attribute {
            Attribute::Variable { variable, qualifiers } => {
                if *variable == Variable::Device {
                    self.device(qualifiers);
                }
                qualifiers
            }
            Attribute::Relative { operand, qualifiers } => {
                self.node(operand);
                qualifiers
            }
            Attribute::Conditional { condition, yes, no } => {
                self.node(condition);
                self.attribute(yes);
                self.attribute(no);
                return;
            }
        };
        for qualifier in qualifiers {
            match &qualifier.key {
                Key::Constant(_) => {}
                Key::Attribute(attribute) => self.attribute(attribute),
                Key::Computed(node) => self.node(node),
            }
        }
    }

    /// What a chain of steps from the device reads.
    fn device(&mut self, qualifiers: &[std::sync::Arc<Qualifier>]) {
        let name = |at: usize| qualifiers.get(at).map(|qualifier| &qualifier.key);
        let part = match name(0) {
            Some(Key::Constant(Constant::String(field))) => match &**field {
                "driver" => return self.source(Source::Driver),
                "allowMultipleAllocations" => return self.source(Source::Multiple),
                "attributes" => Part::Attributes,
                "capacity" => Part::Capacity,
                _ => return self.everything(),
            },
            _ => return self.everything(),
        };
        match (name(1), name(2)) {
            (Some(Key::Constant(Constant::String(domain))), Some(Key::Constant(Constant::String(id)))) => {
                self.source(Source::Entry(part, Some(domain), id));
            }
            (Some(Key::Constant(Constant::String(domain))), _) => self.whole(part, Some(domain)),
            _ => self.whole(part, None),
        }
    }
}
