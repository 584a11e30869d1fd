//! Macro expansion: calls that are shorthand for loops, bindings and presence tests.
//!
//! Expansion happens while parsing, innermost first. A macro that repeats its target copies it, so a chain of such
//! macros could grow without bound; [`Budget`] stops that.

use std::sync::Arc;

use crate::error::{CompileErrorKind, Mistake, SyntaxMistake};
use crate::stack::deeper;
use crate::syntax::parser::call;
use crate::syntax::tree::{
    Comprehension, Element, EntryExpr, Expr, ExprKind, Field, Literal, NodeId, Source,
};

/// The name of the accumulator of a loop; it cannot be written in an expression.
pub(crate) const ACCUMULATOR: &str = "@result";
/// The accumulator's name of old, which iteration variables still may not take.
const ACCUMULATOR_OF_OLD: &str = "__result__";
/// The loop variable of a binding, which nothing reads.
const UNUSED: &str = "#unused";
/// The variable that holds the list that `sortBy` sorts.
const SORT_INPUT: &str = "@__sortBy_input__";
/// How many nodes macros may copy in one expression.
const COPIES_MAX: u32 = 200_000;

/// How many nodes have been copied.
#[derive(Default)]
pub(crate) struct Budget {
    copied: u32,
}

/// Turns a call into what it stands for, or leaves it a call.
pub(crate) fn expand(
    source: &mut Source,
    budget: &mut Budget,
    id: NodeId,
    target: Option<Expr>,
    function: Arc<str>,
    args: Vec<Expr>,
) -> Result<Expr, Mistake> {
    let offset = source.offset(id);
    let mut writer = Writer { source, budget, offset };
    match (&*function, target, args.len()) {
        ("has", None, 1) => writer.presence_test(id, args),
        ("bind", Some(target), 3) if target.as_ident().is_some_and(|name| &**name == "cel") => {
            writer.bind(args)
        }
        ("all", Some(target), 2 | 3) => writer.quantifier(Quantifier::All, target, args),
        ("exists", Some(target), 2 | 3) => writer.quantifier(Quantifier::Exists, target, args),
        ("exists_one" | "existsOne", Some(target), 2 | 3) => {
            writer.quantifier(Quantifier::ExistsOne, target, args)
        }
        ("map", Some(target), 2 | 3) => writer.map(target, args),
        ("filter", Some(target), 2) => writer.filter(target, args),
        ("optMap", Some(target), 2) => writer.optional_map(target, args, true),
        ("optFlatMap", Some(target), 2) => writer.optional_map(target, args, false),
        ("sortBy", Some(target), 2) => writer.sort_by(target, args),
        ("transformList", Some(target), 3 | 4) => writer.transform(Transform::List, target, args),
        ("transformMap", Some(target), 3 | 4) => writer.transform(Transform::Map, target, args),
        ("transformMapEntry", Some(target), 3 | 4) => writer.transform(Transform::MapEntry, target, args),
        (_, target, _) => {
            let target = target.map(Box::new);
            Ok(Expr { id, kind: ExprKind::Call { target, function, args } })
        }
    }
}

#[derive(Clone, Copy)]
enum Quantifier {
    All,
    Exists,
    ExistsOne,
}

#[derive(Clone, Copy)]
enum Transform {
    List,
    Map,
    MapEntry,
}

/// Makes nodes at the place of the macro.
struct Writer<'a> {
    source: &'a mut Source,
    budget: &'a mut Budget,
    offset: u32,
}

/// The variables and bodies of a loop, before the accumulator is added.
struct Loop {
    range: Expr,
    variable: Arc<str>,
    second: Option<Arc<str>>,
}

impl Writer<'_> {
    fn node(&mut self, kind: ExprKind) -> Expr {
        Expr { id: self.source.new_id(self.offset), kind }
    }

    fn literal(&mut self, value: Literal) -> Expr {
        self.node(ExprKind::Literal(value))
    }

    fn ident(&mut self, name: &str) -> Expr {
        self.node(ExprKind::Ident(Arc::from(name)))
    }

    fn accumulator(&mut self) -> Expr {
        self.ident(ACCUMULATOR)
    }

    fn list(&mut self, elements: Vec<Expr>) -> Expr {
        let elements = elements.into_iter().map(|value| Element { value, optional: false }).collect();
        self.node(ExprKind::List(elements))
    }

    fn call(&mut self, function: &str, args: Vec<Expr>) -> Expr {
        let id = self.source.new_id(self.offset);
        call(id, function, args)
    }

    fn member_call(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Expr {
        self.node(ExprKind::Call { target: Some(Box::new(target)), function: Arc::from(function), args })
    }

    fn mistake(&self, at: &Expr, message: impl Into<String>) -> Mistake {
        let kind = CompileErrorKind::Syntax(SyntaxMistake::Macro);
        Mistake::new(kind, self.source.offset(at.id), message)
    }

    fn variable(&self, arg: &Expr) -> Result<Arc<str>, Mistake> {
        let Some(name) = arg.as_ident() else {
            return Err(self.mistake(arg, "the loop variable must be a simple name").hint("for example x"));
        };
        if &**name == ACCUMULATOR || &**name == ACCUMULATOR_OF_OLD {
            return Err(self
                .mistake(arg, "this name is taken by the loop itself")
                .hint("choose another name"));
        }
        Ok(name.clone())
    }

    fn bound_name(&self, arg: &Expr, form: &str) -> Result<Arc<str>, Mistake> {
        let name = arg.as_ident().cloned();
        name.ok_or_else(|| self.mistake(arg, format!("the variable of {form}() must be a simple name")))
    }

    fn presence_test(&mut self, id: NodeId, args: Vec<Expr>) -> Result<Expr, Mistake> {
        let arg = args.into_iter().next().expect("the arity was matched");
        match arg.kind {
            ExprKind::Select { operand, field, .. } => {
                // The test takes the place of the call, so its id is fresh.
                let _ = id;
                Ok(self.node(ExprKind::Select { operand, field, test_only: true }))
            }
            _ => Err(self
                .mistake(&arg, "has() needs a field selection")
                .hint("write has(a.b); for a key use \"key\" in map, or a[?\"key\"].hasValue()")),
        }
    }

    fn bind(&mut self, args: Vec<Expr>) -> Result<Expr, Mistake> {
        let [name, init, result] = take(args);
        let name = self.bound_name(&name, "cel.bind")?;
        Ok(self.binding(name, init, result))
    }

    /// A variable for one expression: a loop over nothing whose accumulator is the variable.
    fn binding(&mut self, name: Arc<str>, init: Expr, result: Expr) -> Expr {
        let range = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(false));
        let step = self.ident(&name);
        self.node(ExprKind::Comprehension(Box::new(Comprehension {
            range,
            variable: Arc::from(UNUSED),
            second: None,
            accumulator: name,
            init,
            condition,
            step,
            result,
        })))
    }

    fn fold(&mut self, over: Loop, init: Expr, condition: Expr, step: Expr, result: Expr) -> Expr {
        self.node(ExprKind::Comprehension(Box::new(Comprehension {
            range: over.range,
            variable: over.variable,
            second: over.second,
            accumulator: Arc::from(ACCUMULATOR),
            init,
            condition,
            step,
            result,
        })))
    }

    /// The two variables of a two-variable macro.
    fn variables(&self, first: &Expr, second: &Expr) -> Result<(Arc<str>, Arc<str>), Mistake> {
        let one = self.variable(first)?;
        let two = self.variable(second)?;
        if one == two {
            return Err(self.mistake(second, format!("the variable {one} is named twice")));
        }
        Ok((one, two))
    }

    fn quantifier(
        &mut self,
        quantifier: Quantifier,
        range: Expr,
        mut args: Vec<Expr>,
    ) -> Result<Expr, Mistake> {
        let predicate = args.pop().expect("the arity was matched");
        let over = match args.as_slice() {
            [variable] => Loop { range, variable: self.variable(variable)?, second: None },
            [first, second] => {
                let (variable, second) = self.variables(first, second)?;
                Loop { range, variable, second: Some(second) }
            }
            _ => return Err(self.mistake(&range, "wrong number of arguments")),
        };
        Ok(match quantifier {
            Quantifier::All => {
                let init = self.literal(Literal::Bool(true));
                let so_far = self.accumulator();
                let condition = self.call("@not_strictly_false", vec![so_far]);
                let so_far = self.accumulator();
                let step = self.call("_&&_", vec![so_far, predicate]);
                let result = self.accumulator();
                self.fold(over, init, condition, step, result)
            }
            Quantifier::Exists => {
                let init = self.literal(Literal::Bool(false));
                let so_far = self.accumulator();
                let negated = self.call("!_", vec![so_far]);
                let condition = self.call("@not_strictly_false", vec![negated]);
                let so_far = self.accumulator();
                let step = self.call("_||_", vec![so_far, predicate]);
                let result = self.accumulator();
                self.fold(over, init, condition, step, result)
            }
            Quantifier::ExistsOne => {
                let init = self.literal(Literal::Int(0));
                let condition = self.literal(Literal::Bool(true));
                let so_far = self.accumulator();
                let one = self.literal(Literal::Int(1));
                let counted = self.call("_+_", vec![so_far, one]);
                let so_far = self.accumulator();
                let step = self.call("_?_:_", vec![predicate, counted, so_far]);
                let so_far = self.accumulator();
                let one = self.literal(Literal::Int(1));
                let result = self.call("_==_", vec![so_far, one]);
                self.fold(over, init, condition, step, result)
            }
        })
    }

    /// `filter ? step : accumulator`, or just the step.
    fn filtered(&mut self, filter: Option<Expr>, step: Expr) -> Expr {
        match filter {
            Some(filter) => {
                let so_far = self.accumulator();
                self.call("_?_:_", vec![filter, step, so_far])
            }
            None => step,
        }
    }

    fn appended(&mut self, element: Expr) -> Expr {
        let so_far = self.accumulator();
        let element = self.list(vec![element]);
        self.call("_+_", vec![so_far, element])
    }

    fn map(&mut self, range: Expr, mut args: Vec<Expr>) -> Result<Expr, Mistake> {
        let transform = args.pop().expect("the arity was matched");
        let filter = if args.len() == 2 { args.pop() } else { None };
        let over = Loop { range, variable: self.variable(&args[0])?, second: None };
        let init = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(true));
        let step = self.appended(transform);
        let step = self.filtered(filter, step);
        let result = self.accumulator();
        Ok(self.fold(over, init, condition, step, result))
    }

    fn filter(&mut self, range: Expr, args: Vec<Expr>) -> Result<Expr, Mistake> {
        let [variable, predicate] = take(args);
        let over = Loop { range, variable: self.variable(&variable)?, second: None };
        let init = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(true));
        let step = self.appended(variable);
        let step = self.filtered(Some(predicate), step);
        let result = self.accumulator();
        Ok(self.fold(over, init, condition, step, result))
    }

    fn transform(&mut self, transform: Transform, range: Expr, mut args: Vec<Expr>) -> Result<Expr, Mistake> {
        let body = args.pop().expect("the arity was matched");
        let filter = if args.len() == 3 { args.pop() } else { None };
        let (variable, second) = self.variables(&args[0], &args[1])?;
        let over = Loop { range, variable: variable.clone(), second: Some(second) };
        let init = match transform {
            Transform::List => self.list(Vec::new()),
            Transform::Map | Transform::MapEntry => self.node(ExprKind::Map(Vec::new())),
        };
        let condition = self.literal(Literal::Bool(true));
        let step = match transform {
            Transform::List => self.appended(body),
            Transform::Map => {
                let so_far = self.accumulator();
                let key = self.ident(&variable);
                self.call("cel.@mapInsert", vec![so_far, key, body])
            }
            Transform::MapEntry => {
                let so_far = self.accumulator();
                self.call("cel.@mapInsert", vec![so_far, body])
            }
        };
        let step = self.filtered(filter, step);
        let result = self.accumulator();
        Ok(self.fold(over, init, condition, step, result))
    }

    /// `optMap` wraps the result again; `optFlatMap` expects an optional.
    fn optional_map(&mut self, target: Expr, args: Vec<Expr>, wrap: bool) -> Result<Expr, Mistake> {
        let [variable, body] = take(args);
        let name = self.bound_name(&variable, if wrap { "optMap" } else { "optFlatMap" })?;
        let copy = self.copy(&target)?;
        let present = self.member_call("hasValue", target, Vec::new());
        let value = self.member_call("value", copy, Vec::new());
        let mut some = self.binding(name, value, body);
        if wrap {
            some = self.call("optional.of", vec![some]);
        }
        let none = self.call("optional.none", Vec::new());
        Ok(self.call("_?_:_", vec![present, some, none]))
    }

    fn sort_by(&mut self, target: Expr, args: Vec<Expr>) -> Result<Expr, Mistake> {
        if matches!(target.kind, ExprKind::Literal(_) | ExprKind::Map(_) | ExprKind::Struct { .. }) {
            return Err(self.mistake(&target, "sortBy() sorts a list").hint("call it on a list"));
        }
        let input = self.ident(SORT_INPUT);
        let keys = self.map(input, args)?;
        let input = self.ident(SORT_INPUT);
        let sorted = self.member_call("@sortByAssociatedKeys", input, vec![keys]);
        Ok(self.binding(Arc::from(SORT_INPUT), target, sorted))
    }

    /// The same expression with fresh ids.
    fn copy(&mut self, expr: &Expr) -> Result<Expr, Mistake> {
        deeper(|| self.copy_here(expr))
    }

    fn copy_here(&mut self, expr: &Expr) -> Result<Expr, Mistake> {
        self.budget.copied += 1;
        if self.budget.copied > COPIES_MAX {
            return Err(Mistake::limit(
                self.offset,
                "the expression becomes too large when its macros are expanded",
            )
            .hint("bind the repeated part with cel.bind"));
        }
        let id = self.source.new_id(self.source.offset(expr.id));
        let kind = match &expr.kind {
            ExprKind::Literal(value) => ExprKind::Literal(value.clone()),
            ExprKind::Ident(name) => ExprKind::Ident(name.clone()),
            ExprKind::Select { operand, field, test_only } => {
                let operand = Box::new(self.copy(operand)?);
                ExprKind::Select { operand, field: field.clone(), test_only: *test_only }
            }
            ExprKind::Call { target, function, args } => ExprKind::Call {
                target: target.as_ref().map(|target| self.copy(target).map(Box::new)).transpose()?,
                function: function.clone(),
                args: args.iter().map(|arg| self.copy(arg)).collect::<Result<_, _>>()?,
            },
            ExprKind::List(elements) => {
                let copied = elements.iter().map(|element| {
                    Ok(Element { value: self.copy(&element.value)?, optional: element.optional })
                });
                ExprKind::List(copied.collect::<Result<_, Mistake>>()?)
            }
            ExprKind::Map(entries) => ExprKind::Map(self.copy_entries(entries)?),
            ExprKind::Struct { name, fields } => {
                ExprKind::Struct { name: name.clone(), fields: self.copy_fields(fields)? }
            }
            ExprKind::Comprehension(fold) => ExprKind::Comprehension(Box::new(self.copy_fold(fold)?)),
        };
        Ok(Expr { id, kind })
    }

    fn copy_entries(&mut self, entries: &[EntryExpr]) -> Result<Vec<EntryExpr>, Mistake> {
        entries
            .iter()
            .map(|entry| {
                Ok(EntryExpr {
                    key: self.copy(&entry.key)?,
                    value: self.copy(&entry.value)?,
                    optional: entry.optional,
                })
            })
            .collect()
    }

    fn copy_fields(&mut self, fields: &[Field]) -> Result<Vec<Field>, Mistake> {
        fields
            .iter()
            .map(|field| {
                let id = self.source.new_id(self.source.offset(field.id));
                Ok(Field {
                    id,
                    name: field.name.clone(),
                    value: self.copy(&field.value)?,
                    optional: field.optional,
                })
            })
            .collect()
    }

    fn copy_fold(&mut self, fold: &Comprehension) -> Result<Comprehension, Mistake> {
        Ok(Comprehension {
            range: self.copy(&fold.range)?,
            variable: fold.variable.clone(),
            second: fold.second.clone(),
            accumulator: fold.accumulator.clone(),
            init: self.copy(&fold.init)?,
            condition: self.copy(&fold.condition)?,
            step: self.copy(&fold.step)?,
            result: self.copy(&fold.result)?,
        })
    }
}

/// The arguments of a macro whose number was matched before.
fn take<const COUNT: usize>(args: Vec<Expr>) -> [Expr; COUNT] {
    args.try_into().expect("the arity was matched")
}
