//! Lowers a checked tree to a program, folding constants on the way.
//!
//! Folding is not only for speed: a conversion of constants that fails, or a constant pattern that does not compile,
//! refuses the whole expression, also in a branch that is never taken.

use std::sync::Arc;

use super::evaluate::dispatch;
use super::meter::{call_cost, decided, overload_named, rule};
use super::{
    Attribute, Call, CallKind, Fold, InSet, Key, MapEntry, Message, Node, Program, Qualifier, Slot, Variable,
};
use crate::check::{Checked, Meaning};
use crate::declare::{Environment, Function};
use crate::error::{CompileErrorKind, Mistake};
use crate::library::pattern::{self, Search};
use crate::library::semver::Semver;
use crate::library::{family, is_shared};
use crate::stack::deeper;
use crate::syntax::tree::{Comprehension, EntryExpr, Expr, ExprKind, Literal, NodeId, Source};
use crate::value::constant::{Constant, ConstantMap};
use crate::value::map::{is_hashable, lossless_int};

/// Lowers a checked tree.
pub(crate) fn plan(
    expr: &Expr,
    checked: &Checked,
    source: &Source,
    environment: Environment,
) -> Result<Program, Mistake> {
    let mut planner = Planner { checked, source, environment, scopes: Vec::new(), slots: 0 };
    let root = planner.node(expr)?;
    Ok(Program { root, slots: planner.slots })
}

struct Planner<'a> {
    checked: &'a Checked,
    source: &'a Source,
    environment: Environment,
    scopes: Vec<(Arc<str>, Slot)>,
    slots: usize,
}

impl Planner<'_> {
    fn mistake(&self, id: NodeId, message: impl Into<String>) -> Mistake {
        Mistake::new(CompileErrorKind::Constant, self.source.offset(id), message)
    }

    fn node(&mut self, expr: &Expr) -> Result<Node, Mistake> {
        deeper(|| self.node_here(expr))
    }

    fn node_here(&mut self, expr: &Expr) -> Result<Node, Mistake> {
        match &expr.kind {
            ExprKind::Literal(literal) => Ok(Node::Constant(constant(literal))),
            ExprKind::Ident(name) => Ok(self.ident(expr.id, name)),
            ExprKind::Select { operand, field, test_only } => {
                let operand = self.node(operand)?;
                let key = Key::Constant(Constant::String(field.clone()));
                let attribute = qualified(operand, Qualifier { key, optional: false, test: *test_only });
                Ok(if *test_only { Node::Test(attribute) } else { Node::Attribute(attribute) })
            }
            ExprKind::Call { target, function, args } => {
                self.call(expr.id, target.as_deref(), function, args)
            }
            ExprKind::List(elements) => {
                let mut nodes = Vec::with_capacity(elements.len());
                for element in elements {
                    nodes.push((self.node(&element.value)?, element.optional));
                }
                Ok(folded_list(nodes))
            }
            ExprKind::Map(entries) => self.map(expr.id, entries),
            ExprKind::Struct { name, fields } => {
                let mut nodes = Vec::with_capacity(fields.len());
                for field in fields {
                    nodes.push((field.name.clone(), self.node(&field.value)?, field.optional));
                }
                Ok(Node::Message(Box::new(Message { name: name.clone(), fields: nodes })))
            }
            ExprKind::Comprehension(fold) => self.fold(fold),
        }
    }

    fn ident(&self, id: NodeId, name: &str) -> Node {
        let variable = match self.checked.meaning(id) {
            Some(Meaning::TypeValue(known)) => return Node::Constant(Constant::Type(known.runtime_name())),
            Some(Meaning::Variable { global: true }) => Variable::Device,
            _ => match self.scopes.iter().rev().find(|(local, _)| &**local == name) {
                Some((_, slot)) => Variable::Local(*slot),
                None => Variable::Device,
            },
        };
        Node::Attribute(Attribute::Variable { variable, qualifiers: Vec::new() })
    }

    fn map(&mut self, id: NodeId, entries: &[EntryExpr]) -> Result<Node, Mistake> {
        let mut nodes = Vec::with_capacity(entries.len());
        for entry in entries {
            let key = self.node(&entry.key)?;
            nodes.push(MapEntry { key, value: self.node(&entry.value)?, optional: entry.optional });
        }
        let is_constant = |entry: &MapEntry| {
            matches!((&entry.key, &entry.value), (Node::Constant(_), Node::Constant(_))) && !entry.optional
        };
        if !nodes.iter().all(is_constant) {
            return Ok(Node::Map(nodes.into()));
        }
        let mut constants = ConstantMap::default();
        for entry in nodes {
            let (Node::Constant(key), Node::Constant(value)) = (entry.key, entry.value) else { continue };
            if !is_hashable(&key.value()) {
                return Err(self
                    .mistake(id, "bytes cannot be the key of a map")
                    .hint("use a string as the key"));
            }
            constants.set(key, value);
        }
        Ok(Node::Constant(Constant::Map(constants)))
    }

    fn call(
        &mut self,
        id: NodeId,
        target: Option<&Expr>,
        function: &str,
        args: &[Expr],
    ) -> Result<Node, Mistake> {
        let mut nodes = Vec::with_capacity(args.len() + 1);
        for arg in target.into_iter().chain(args) {
            nodes.push(self.node(arg)?);
        }
        match function {
            "_&&_" => Ok(Node::And(pair(nodes))),
            "_||_" => Ok(Node::Or(pair(nodes))),
            "_==_" => Ok(Node::Equal(pair(nodes))),
            "_!=_" => Ok(Node::NotEqual(pair(nodes))),
            "or" if nodes.len() == 2 => Ok(Node::OptionalOr(pair(nodes))),
            "orValue" if nodes.len() == 2 => Ok(Node::OptionalOrValue(pair(nodes))),
            "_?_:_" => Ok(conditional(nodes)),
            "_[_]" => self.index(id, nodes, false),
            "_?._" | "_[?_]" => self.index(id, nodes, true),
            "@not_strictly_false" => match nodes.pop() {
                Some(node) => Ok(Node::NotStrictlyFalse(Box::new(node))),
                None => Err(self.mistake(id, "an argument is missing")),
            },
            _ => self.function(id, function, nodes),
        }
    }

    fn index(&self, id: NodeId, mut nodes: Vec<Node>, optional: bool) -> Result<Node, Mistake> {
        let (Some(key), Some(operand)) = (nodes.pop(), nodes.pop()) else {
            return Err(self.mistake(id, "an index has two parts"));
        };
        let key = match key {
            Node::Constant(constant) => {
                let usable = matches!(
                    constant,
                    Constant::String(_)
                        | Constant::Int(_)
                        | Constant::Uint(_)
                        | Constant::Bool(_)
                        | Constant::Double(_)
                );
                if !usable {
                    return Err(self
                        .mistake(id, "this cannot be an index")
                        .hint("use a string, number or bool"));
                }
                Key::Constant(constant)
            }
            Node::Attribute(attribute) | Node::Test(attribute) => Key::Attribute(attribute),
            other => Key::Computed(other),
        };
        Ok(Node::Attribute(qualified(operand, Qualifier { key, optional, test: false })))
    }

    fn function(&mut self, id: NodeId, name: &str, nodes: Vec<Node>) -> Result<Node, Mistake> {
        let Some(declared) = self.environment.function(name) else {
            return Err(self.mistake(id, format!("there is no function {name:?}")));
        };
        let overload = decided(self.checked.overloads(id));
        if overload == "in_list"
            && let [_, Node::Constant(Constant::List(members))] = nodes.as_slice()
            && let Some(members) = membership(members)
        {
            return Ok(in_set(nodes, members));
        }
        let rule = rule(declared.name, overload);
        if let Some(search) = pattern_search(declared.name)
            && let Some(Node::Constant(Constant::String(text))) = nodes.get(1)
        {
            let pattern = pattern::compile(text)
                .map_err(|reason| self.mistake(id, format!("the pattern {text:?} is not valid: {reason}")))?;
            let kind = CallKind::Pattern { search, pattern };
            return Ok(Node::Call(Box::new(Call { args: nodes, kind, stops_early: true, rule })));
        }
        let (kind, stops_early) = call_kind(declared, overload);
        if is_conversion(declared.name)
            && let [Node::Constant(arg)] = nodes.as_slice()
        {
            return self.converted(id, declared, &kind, arg);
        }
        if let [Node::Constant(Constant::String(text))] = nodes.as_slice()
            && let Some(value) = prepared(overload, text)
        {
            let cost = call_cost(rule, &[Constant::String(text.clone()).value()], None).unwrap_or(1);
            return Ok(Node::Prepared { value, cost });
        }
        Ok(Node::Call(Box::new(Call { args: nodes, kind, stops_early, rule })))
    }

    /// Folds a conversion of a constant.
    fn converted(
        &self,
        id: NodeId,
        function: &'static Function,
        kind: &CallKind,
        arg: &Constant,
    ) -> Result<Node, Mistake> {
        let folded = match dispatch(kind, &[arg.value()]) {
            Ok(value) => Constant::of(&value),
            Err(fault) => {
                let message = format!("{}() cannot convert this constant: {fault}", function.name);
                return Err(self
                    .mistake(id, message)
                    .hint("correct the constant; it is converted before any device is looked at"));
            }
        };
        folded.map(Node::Constant).ok_or_else(|| self.mistake(id, "this conversion is not possible"))
    }

    fn slot(&mut self) -> Slot {
        self.slots += 1;
        self.slots - 1
    }

    fn fold(&mut self, fold: &Comprehension) -> Result<Node, Mistake> {
        let init = self.node(&fold.init)?;
        let range = self.node(&fold.range)?;
        let (accumulator, variable) = (self.slot(), self.slot());
        let second = fold.second.as_ref().map(|_| self.slot());
        let outer = self.scopes.len();
        // The accumulator is found before a loop variable of the same name.
        self.scopes.push((fold.variable.clone(), variable));
        if let (Some(name), Some(slot)) = (&fold.second, second) {
            self.scopes.push((name.clone(), slot));
        }
        self.scopes.push((fold.accumulator.clone(), accumulator));
        let condition = self.node(&fold.condition)?;
        let step = self.node(&fold.step)?;
        self.scopes.truncate(outer);
        self.scopes.push((fold.accumulator.clone(), accumulator));
        let result = self.node(&fold.result)?;
        self.scopes.truncate(outer);
        Ok(Node::Fold(Box::new(Fold { range, accumulator, variable, second, init, condition, step, result })))
    }
}

fn constant(literal: &Literal) -> Constant {
    match literal {
        Literal::Null => Constant::Null,
        Literal::Bool(value) => Constant::Bool(*value),
        Literal::Int(value) => Constant::Int(*value),
        Literal::Uint(value) => Constant::Uint(*value),
        Literal::Double(value) => Constant::Double(*value),
        Literal::String(text) => Constant::String(text.clone()),
        Literal::Bytes(bytes) => Constant::Bytes(bytes.clone()),
    }
}

fn pair(nodes: Vec<Node>) -> Box<[Node; 2]> {
    let pair: [Node; 2] = nodes.try_into().unwrap_or_else(|_| [absent(), absent()]);
    Box::new(pair)
}

/// Stands for an argument that the checker would not have let be missing.
fn absent() -> Node {
    Node::Constant(Constant::Null)
}

/// Adds a qualifier to what a node reads.
fn qualified(node: Node, qualifier: Qualifier) -> Attribute {
    let mut attribute = match node {
        Node::Attribute(attribute) => attribute,
        other => Attribute::Relative { operand: Box::new(other), qualifiers: Vec::new() },
    };
    push(&mut attribute, &Arc::new(qualifier));
    attribute
}

fn push(attribute: &mut Attribute, qualifier: &Arc<Qualifier>) {
    match attribute {
        Attribute::Variable { qualifiers, .. } | Attribute::Relative { qualifiers, .. } => {
            qualifiers.push(qualifier.clone());
        }
        Attribute::Conditional { yes, no, .. } => {
            push(yes, qualifier);
            push(no, qualifier);
        }
    }
}

fn conditional(nodes: Vec<Node>) -> Node {
    let [condition, yes, no]: [Node; 3] = nodes.try_into().unwrap_or_else(|_| [absent(), absent(), absent()]);
    let branch = |node: Node| match node {
        Node::Attribute(attribute) | Node::Test(attribute) => attribute,
        other => Attribute::Relative { operand: Box::new(other), qualifiers: Vec::new() },
    };
    Node::Attribute(Attribute::Conditional {
        condition: Box::new(condition),
        yes: Box::new(branch(yes)),
        no: Box::new(branch(no)),
    })
}

/// A list of constants is a constant.
fn folded_list(nodes: Vec<(Node, bool)>) -> Node {
    if !nodes.iter().all(|(node, optional)| matches!(node, Node::Constant(_)) && !optional) {
        return Node::List(nodes.into());
    }
    let constants = nodes.into_iter().filter_map(|(node, _)| match node {
        Node::Constant(constant) => Some(constant),
        _ => None,
    });
    Node::Constant(Constant::List(constants.collect()))
}

/// The members of a list of constants, if all can be looked up.
fn membership(members: &[Constant]) -> Option<ConstantMap> {
    let mut set = ConstantMap::default();
    let mut add = |member: Constant| set.set(member, Constant::Null);
    for member in members {
        match member {
            Constant::Bool(_) | Constant::String(_) => {}
            // Numbers are also found as the other kinds of number, as far as they convert.
            Constant::Int(number) => {
                add(Constant::Double(*number as f64));
                if let Ok(number) = u64::try_from(*number) {
                    add(Constant::Uint(number));
                }
            }
            Constant::Uint(number) => {
                add(Constant::Double(*number as f64));
                if let Ok(number) = i64::try_from(*number) {
                    add(Constant::Int(number));
                }
            }
            Constant::Double(number) => {
                if let Some(int) = lossless_int(*number) {
                    add(Constant::Int(int));
                }
                if *number >= 0.0 && *number < u64::MAX as f64 && number.fract() == 0.0 {
                    add(Constant::Uint(*number as u64));
                }
            }
            _ => return None,
        }
        add(member.clone());
    }
    Some(set)
}

fn in_set(mut nodes: Vec<Node>, members: ConstantMap) -> Node {
    nodes.truncate(1);
    match nodes.pop() {
        // Nothing is in an empty list, whatever it is.
        Some(element) if members.len() > 0 => Node::InSet(Box::new(InSet { element, members })),
        _ => Node::Constant(Constant::Bool(false)),
    }
}

/// A quantity or version, if the text is one; if not, evaluation will say so.
fn prepared(overload: &str, text: &str) -> Option<Constant> {
    match overload {
        "string_to_quantity" => text.parse().ok().map(|amount| Constant::Quantity(Arc::new(amount))),
        "string_to_semver" => Semver::parse(text).ok().map(|version| Constant::Semver(Arc::new(version))),
        _ => None,
    }
}

fn pattern_search(function: &str) -> Option<Search> {
    match function {
        "matches" => Some(Search::Matches),
        "find" => Some(Search::Find),
        "findAll" => Some(Search::FindAll),
        _ => None,
    }
}

fn is_conversion(function: &str) -> bool {
    matches!(
        function,
        "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp" | "type" | "uint"
    )
}

/// How a function is called, and whether a failing argument ends it at once.
fn call_kind(function: &'static Function, overload: &str) -> (CallKind, bool) {
    if is_shared(function.name) {
        return (CallKind::Shared(function.name), false);
    }
    let checked = !matches!(function.name, "contains" | "startsWith" | "endsWith" | "flatten");
    match overload_named(&function.overloads, overload) {
        Some(overload) => {
            let many = overload.args.len() > 2 || overload.id == "string_format";
            (CallKind::One { overload, family: family(overload.id), checked }, many)
        }
        None => (CallKind::Any { overloads: &function.overloads, checked }, true),
    }
}
