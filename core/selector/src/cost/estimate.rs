//! The worst-case cost of a checked expression.
//!
//! Costs are added up over the tree; calls ask [`super::calls`]. Sizes come from literals, from earlier calls, from types
//! of one fixed size, and from the place in the device that a value is read from, because the API bounds those.

use std::sync::Arc;

use super::bounds::Bounds;
use super::path::{Path, PathName};
use super::{LIST, MAP, MESSAGE, SELECT, calls};
use crate::check::Checked;
use crate::stack::deeper;
use crate::syntax::tree::{Comprehension, Expr, ExprKind, Literal};
use crate::types::Type;

/// The worst-case cost.
pub(crate) fn estimate(expr: &Expr, checked: &Checked, ids: usize) -> u64 {
    let mut estimator = Estimator {
        checked,
        paths: vec![Path::default(); ids],
        sizes: vec![None; ids],
        entries: vec![None; ids],
        locals: Vec::new(),
    };
    estimator.cost(expr).max
}

/// The sizes of what a list or map contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EntrySize {
    is_list: bool,
    key: Bounds,
    value: Bounds,
}

impl EntrySize {
    fn union(self, other: EntrySize) -> EntrySize {
        EntrySize {
            is_list: self.is_list,
            key: self.key.union(other.key),
            value: self.value.union(other.value),
        }
    }
}

struct Local {
    name: Arc<str>,
    path: Path,
    size: Option<Bounds>,
    entry: Option<EntrySize>,
}

/// An argument as the cost of a call sees it.
pub(super) struct Argument<'a> {
    pub(super) expr: &'a Expr,
    pub(super) known: &'a Type,
    pub(super) path: Path,
    pub(super) size: Option<Bounds>,
}

impl Argument<'_> {
    pub(super) fn size_or_unknown(&self) -> Bounds {
        self.size.unwrap_or(Bounds::UNKNOWN)
    }

    /// A literal integer, never below zero.
    pub(super) fn literal_int(&self) -> Option<u64> {
        match &self.expr.kind {
            ExprKind::Literal(Literal::Int(value)) => Some((*value).max(0) as u64),
            _ => None,
        }
    }
}

/// What a call costs and how large its result is.
pub(super) struct CallCost {
    pub(super) cost: Bounds,
    pub(super) result: Option<Bounds>,
}

pub(super) struct Estimator<'a> {
    checked: &'a Checked,
    paths: Vec<Path>,
    sizes: Vec<Option<Bounds>>,
    entries: Vec<Option<EntrySize>>,
    locals: Vec<Local>,
}

impl<'a> Estimator<'a> {
    fn cost(&mut self, expr: &'a Expr) -> Bounds {
        deeper(|| self.cost_here(expr))
    }

    fn cost_here(&mut self, expr: &'a Expr) -> Bounds {
        match &expr.kind {
            ExprKind::Literal(_) => Bounds::default(),
            ExprKind::Ident(name) => {
                self.paths[expr.id as usize] = match self.local(name) {
                    Some(local) => local.path.clone(),
                    None => Path::root(PathName::named(name)),
                };
                Bounds::exactly(SELECT)
            }
            ExprKind::Select { operand, field, test_only } => {
                let sum = self.cost(operand);
                if *test_only {
                    return sum;
                }
                self.paths[expr.id as usize] = self.path(operand).then(PathName::named(field));
                match self.checked.type_of(operand.id) {
                    Type::Map(_, _) | Type::Struct(_) | Type::Param(_) => sum.plus(Bounds::exactly(SELECT)),
                    _ => sum,
                }
            }
            ExprKind::Call { target, function, args } => self.call(expr, target.as_deref(), function, args),
            ExprKind::List(elements) => {
                let values = elements.iter().map(|element| &element.value);
                let (sum, value) = self.all_costs(values);
                let entry = EntrySize { is_list: true, key: Bounds::exactly(1), value };
                self.entries[expr.id as usize] = Some(entry);
                sum.plus(Bounds::exactly(LIST))
            }
            ExprKind::Map(entries) => {
                let mut sum = Bounds::default();
                let mut key = emptied(entries.is_empty());
                let mut value = emptied(entries.is_empty());
                for entry in entries {
                    sum = sum.plus(self.cost(&entry.key)).plus(self.cost(&entry.value));
                    key = key.union(self.size_or_unknown(&entry.key));
                    value = value.union(self.size_or_unknown(&entry.value));
                }
                self.entries[expr.id as usize] = Some(EntrySize { is_list: false, key, value });
                sum.plus(Bounds::exactly(MAP))
            }
            ExprKind::Struct { fields, .. } => {
                let (sum, _) = self.all_costs(fields.iter().map(|field| &field.value));
                sum.plus(Bounds::exactly(MESSAGE))
            }
            ExprKind::Comprehension(fold) if fold.is_bind() => self.bind(expr, fold),
            ExprKind::Comprehension(fold) => self.comprehension(expr, fold),
        }
    }

    /// The sum of the costs and the union of the sizes.
    fn all_costs(&mut self, exprs: impl ExactSizeIterator<Item = &'a Expr>) -> (Bounds, Bounds) {
        let mut sum = Bounds::default();
        let mut size = emptied(exprs.len() == 0);
        for expr in exprs {
            sum = sum.plus(self.cost(expr));
            size = size.union(self.size_or_unknown(expr));
        }
        (sum, size)
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| &*local.name == name)
    }

    fn path(&self, expr: &Expr) -> Path {
        let local = expr.as_ident().and_then(|name| self.local(name));
        local.map_or(&self.paths[expr.id as usize], |local| &local.path).clone()
    }

    pub(super) fn size(&mut self, expr: &Expr) -> Option<Bounds> {
        if let Some(size) = self.sizes[expr.id as usize].or_else(|| literal_size(expr)) {
            return Some(size);
        }
        if let Some(size) = self.path(expr).size() {
            self.sizes[expr.id as usize] = Some(size);
            return Some(size);
        }
        if is_scalar(self.checked.type_of(expr.id)) {
            return Some(Bounds::ONE);
        }
        expr.as_ident().and_then(|name| self.local(name)).and_then(|local| local.size)
    }

    fn size_or_unknown(&mut self, expr: &Expr) -> Bounds {
        self.size(expr).unwrap_or(Bounds::UNKNOWN)
    }

    pub(super) fn entry(&self, expr: &Expr) -> Option<EntrySize> {
        self.entries[expr.id as usize]
            .or_else(|| expr.as_ident().and_then(|name| self.local(name)).and_then(|local| local.entry))
    }

    /// Remembers what the result of an operation on two containers contains.
    pub(super) fn join_entries(&mut self, of: &Expr, left: &Expr, right: &Expr) {
        if let (Some(left), Some(right)) = (self.entry(left), self.entry(right)) {
            self.entries[of.id as usize] = Some(left.union(right));
        }
    }

    fn argument(&mut self, expr: &'a Expr) -> Argument<'a> {
        let size = self.size(expr);
        Argument { expr, known: self.checked.type_of(expr.id), path: self.path(expr), size }
    }

    fn call(&mut self, expr: &'a Expr, target: Option<&'a Expr>, function: &str, args: &'a [Expr]) -> Bounds {
        if function == "dyn"
            && let [arg] = args
        {
            let cost = self.cost(arg).plus(Bounds::ONE);
            self.copy_sizes(expr, arg);
            return cost;
        }
        let mut costs = Vec::with_capacity(args.len());
        let mut arguments = Vec::with_capacity(args.len());
        for arg in args {
            costs.push(self.cost(arg));
            arguments.push(self.argument(arg));
        }
        let overloads = self.checked.overloads(expr.id).to_vec();
        if overloads.is_empty() {
            return Bounds::default();
        }
        let (sum, target) = match target {
            Some(target) => (self.cost(target), Some(self.argument(target))),
            None => (Bounds::default(), None),
        };
        let call = calls::Call { expr, function, target: target.as_ref(), args: &arguments, costs: &costs };
        let mut worst = Bounds::between(u64::MAX, 0);
        let mut result: Option<Bounds> = None;
        for overload in overloads {
            let one = calls::cost(self, &call, overload);
            worst = worst.union(one.cost);
            result = match (result, one.result) {
                (Some(known), Some(more)) => Some(known.union(more)),
                (known, more) => known.or(more),
            };
            if matches!(overload, "index_list" | "index_map") {
                result = self.entry(&args[0]).map(|entry| entry.value);
                self.paths[expr.id as usize] = self.path(&args[0]).then(PathName::Elements);
            }
            if result.is_none() {
                result = self.size(expr);
            }
        }
        if result.is_some() {
            self.sizes[expr.id as usize] = result;
        }
        sum.plus(worst)
    }

    fn copy_sizes(&mut self, to: &Expr, from: &Expr) {
        if let Some(size) = self.size(from) {
            self.sizes[to.id as usize] = Some(size);
        }
        if let Some(entry) = self.entry(from) {
            self.entries[to.id as usize] = Some(entry);
        }
    }

    fn push_bound(&mut self, name: &Arc<str>, init: &Expr) {
        let local = Local {
            name: name.clone(),
            path: self.path(init),
            size: self.size(init),
            entry: self.entry(init),
        };
        self.locals.push(local);
    }

    /// Pushes a loop variable: the key, or the element or value.
    fn push_loop(&mut self, name: &Arc<str>, range: &Expr, which: LoopVariable) {
        let entry = self.entry(range);
        let is_list = entry
            .map_or_else(|| matches!(self.checked.type_of(range.id), Type::List(_)), |entry| entry.is_list);
        let element = match which {
            LoopVariable::Key => false,
            LoopVariable::Value => true,
            LoopVariable::Only => is_list,
        };
        let size = entry.map(|entry| if element { entry.value } else { entry.key });
        let path = self.path(range).then(match (element, is_list) {
            (true, _) => PathName::Elements,
            (false, true) => PathName::Other,
            (false, false) => PathName::Keys,
        });
        self.locals.push(Local { name: name.clone(), path, size, entry: None });
    }

    fn bind(&mut self, expr: &Expr, fold: &'a Comprehension) -> Bounds {
        let sum = self.cost(&fold.range).plus(self.cost(&fold.init));
        self.push_bound(&fold.accumulator, &fold.init);
        let sum = sum.plus(self.cost(&fold.result));
        self.locals.pop();
        self.copy_sizes(expr, &fold.result);
        sum
    }

    fn comprehension(&mut self, expr: &Expr, fold: &'a Comprehension) -> Bounds {
        let mut sum = self.cost(&fold.range).plus(self.cost(&fold.init));
        self.push_bound(&fold.accumulator, &fold.init);
        let outer = self.locals.len();
        match &fold.second {
            Some(second) => {
                self.push_loop(&fold.variable, &fold.range, LoopVariable::Key);
                self.push_loop(second, &fold.range, LoopVariable::Value);
            }
            None => self.push_loop(&fold.variable, &fold.range, LoopVariable::Only),
        }
        let turn = self.cost(&fold.condition);
        let turn = self.cost(&fold.step).plus(turn);
        self.locals.truncate(outer);
        sum = sum.plus(self.cost(&fold.result));
        self.locals.pop();
        let count = self.size_or_unknown(&fold.range);
        match &fold.init.kind {
            ExprKind::Literal(_) => self.sizes[expr.id as usize] = self.size(&fold.init),
            ExprKind::List(_) | ExprKind::Map(_) => {
                self.sizes[expr.id as usize] = Some(count);
                if let Some(entry) = self.entry(&fold.step) {
                    self.entries[expr.id as usize] = Some(entry);
                }
            }
            _ => {}
        }
        sum.plus(count.times(turn))
    }
}

#[derive(Clone, Copy)]
enum LoopVariable {
    Key,
    Value,
    /// The only variable: elements of lists, keys of maps.
    Only,
}

/// The start of a union: nothing, or zero for an empty container.
fn emptied(is_empty: bool) -> Bounds {
    Bounds::between(if is_empty { 0 } else { u64::MAX }, 0)
}

fn literal_size(expr: &Expr) -> Option<Bounds> {
    let size = match &expr.kind {
        ExprKind::Literal(Literal::String(text)) => text.chars().count(),
        ExprKind::Literal(Literal::Bytes(bytes)) => bytes.len(),
        ExprKind::Literal(_) => 1,
        ExprKind::List(elements) => elements.len(),
        ExprKind::Map(entries) => entries.len(),
        _ => return None,
    };
    Some(Bounds::exactly(size as u64))
}

fn is_scalar(known: &Type) -> bool {
    match known {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        Type::Nullable(inner) => is_scalar(inner),
        other => other.optional_inner().is_some_and(is_scalar),
    }
}
