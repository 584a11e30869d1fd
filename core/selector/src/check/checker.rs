//! The checker proper.
//!
//! It stops at the first mistake. Names that turn out to be qualified (`google.protobuf.Duration`, `optional.of`) are
//! rewritten in the tree, so that later passes see what was meant.

use std::sync::Arc;

use super::advice;
use super::unify::{Bindings, instantiate, most_general};
use crate::declare::{Environment, Function, type_named};
use crate::error::{CompileErrorKind, Mistake};
use crate::stack::deeper;
use crate::syntax::tree::{
    Comprehension, Element, EntryExpr, Expr, ExprKind, Field, Literal, NodeId, Source,
};
use crate::types::{DEVICE, Type};

/// What a name or a call refers to.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// A variable; `global` when a leading dot skips the local ones.
    Variable { global: bool },
    /// A type as a value.
    TypeValue(Type),
    /// The overloads that fit the static types.
    Overloads(Vec<&'static str>),
}

/// The tables that checking fills.
pub(crate) struct Checked {
    types: Vec<Option<Type>>,
    meanings: Vec<Option<Meaning>>,
}

impl Checked {
    /// The type of a node; `dyn` for nodes that have none.
    pub(crate) fn type_of(&self, id: NodeId) -> &Type {
        const DYN: &Type = &Type::Dyn;
        self.types.get(id as usize).and_then(Option::as_ref).unwrap_or(DYN)
    }

    pub(crate) fn meaning(&self, id: NodeId) -> Option<&Meaning> {
        self.meanings.get(id as usize).and_then(Option::as_ref)
    }

    /// The overloads of a call.
    pub(crate) fn overloads(&self, id: NodeId) -> &[&'static str] {
        match self.meaning(id) {
            Some(Meaning::Overloads(overloads)) => overloads,
            _ => &[],
        }
    }
}

/// Checks a tree in an environment.
pub(crate) fn check(expr: &mut Expr, source: &Source, environment: Environment) -> Result<Checked, Mistake> {
    let mut checker = Checker {
        environment,
        source,
        bindings: Bindings::default(),
        types: vec![None; source.len()],
        meanings: vec![None; source.len()],
        locals: Vec::new(),
    };
    checker.check(expr)?;
    let types = checker
        .types
        .iter()
        .map(|known| known.as_ref().map(|subject| checker.bindings.substitute(subject, true)))
        .collect();
    Ok(Checked { types, meanings: checker.meanings })
}

struct Checker<'a> {
    environment: Environment,
    source: &'a Source,
    bindings: Bindings,
    types: Vec<Option<Type>>,
    meanings: Vec<Option<Meaning>>,
    locals: Vec<(Arc<str>, Type)>,
}

impl Checker<'_> {
    fn mistake(&self, kind: CompileErrorKind, id: NodeId, message: impl Into<String>) -> Mistake {
        Mistake::new(kind, self.source.offset(id), message)
    }

    fn set(&mut self, id: NodeId, subject: Type) {
        self.types[id as usize] = Some(subject);
    }

    fn get(&self, expr: &Expr) -> Type {
        self.types[expr.id as usize].clone().unwrap_or(Type::Dyn)
    }

    fn mean(&mut self, id: NodeId, meaning: Meaning) {
        self.meanings[id as usize] = Some(meaning);
    }

    fn check(&mut self, expr: &mut Expr) -> Result<(), Mistake> {
        deeper(|| self.check_here(expr))
    }

    fn check_here(&mut self, expr: &mut Expr) -> Result<(), Mistake> {
        match &mut expr.kind {
            ExprKind::Literal(literal) => {
                let known = literal_type(literal);
                self.set(expr.id, known);
                Ok(())
            }
            ExprKind::Ident(_) => self.ident(expr),
            ExprKind::Select { .. } => self.select(expr),
            ExprKind::Call { .. } => self.call(expr),
            ExprKind::List(elements) => self.list(expr.id, elements),
            ExprKind::Map(entries) => self.map(expr.id, entries),
            ExprKind::Struct { name, fields } => {
                let known = self.message(expr.id, name, fields)?;
                self.set(expr.id, known);
                Ok(())
            }
            ExprKind::Comprehension(fold) => self.comprehension(expr.id, fold),
        }
    }

    fn local(&self, name: &str) -> Option<&Type> {
        self.locals.iter().rev().find(|(local, _)| &**local == name).map(|(_, known)| known)
    }

    /// Gives a node the meaning of a global name, if there is one.
    fn resolve_global(&mut self, id: NodeId, name: &str, shadowed: bool) -> Option<Arc<str>> {
        let plain = name.strip_prefix('.').unwrap_or(name);
        let known = self.environment.global(plain)?;
        let plain: Arc<str> = Arc::from(plain);
        let meaning = match &known {
            Type::Meta(Some(inner)) => Meaning::TypeValue((**inner).clone()),
            _ => Meaning::Variable { global: shadowed },
        };
        self.set(id, known);
        self.mean(id, meaning);
        Some(plain)
    }

    fn ident(&mut self, expr: &mut Expr) -> Result<(), Mistake> {
        let id = expr.id;
        let ExprKind::Ident(name) = &mut expr.kind else { return Ok(()) };
        let plain = name.strip_prefix('.').unwrap_or(name);
        let local = self.local(plain).cloned();
        if let Some(known) = &local
            && !name.starts_with('.')
        {
            self.set(id, known.clone());
            self.mean(id, Meaning::Variable { global: false });
            return Ok(());
        }
        match self.resolve_global(id, &name.clone(), local.is_some()) {
            Some(resolved) => {
                *name = resolved;
                Ok(())
            }
            None => Err(self.undeclared(id, name)),
        }
    }

    fn undeclared(&self, id: NodeId, name: &str) -> Mistake {
        let message = format!("{name:?} is not declared");
        let locals = self.locals.iter().map(|(local, _)| &**local);
        let hint = advice::for_name(name, locals.chain(["device"]));
        let mistake = self.mistake(CompileErrorKind::Undeclared, id, message);
        mistake.hint(hint.unwrap_or_else(|| "a selector can use the variable \"device\"".to_owned()))
    }

    fn select(&mut self, expr: &mut Expr) -> Result<(), Mistake> {
        let id = expr.id;
        if let Some(name) = expr.qualified_name() {
            let root = name.trim_start_matches('.').split('.').next().unwrap_or_default();
            let shadowed = self.local(root).is_some();
            if (!shadowed || name.starts_with('.'))
                && let Some(resolved) = self.resolve_global(id, &name, shadowed)
            {
                expr.kind = ExprKind::Ident(resolved);
                return Ok(());
            }
        }
        let ExprKind::Select { operand, field, test_only } = &mut expr.kind else { return Ok(()) };
        let selected = self.selected(id, operand, field, false)?;
        let known = if *test_only { Type::Bool } else { self.bindings.substitute(&selected, false) };
        self.set(id, known);
        Ok(())
    }

    /// The type of a field; optional if the operand or the selection is.
    fn selected(
        &mut self,
        id: NodeId,
        operand: &mut Expr,
        field: &str,
        optional: bool,
    ) -> Result<Type, Mistake> {
        self.check(operand)?;
        let whole = self.bindings.substitute(&self.get(operand), false);
        let inner = whole.optional_inner();
        let subject = inner.unwrap_or(&whole);
        let result = match subject {
            Type::Map(_, value) => (**value).clone(),
            Type::Struct(name) => self.field(id, name, field)?,
            Type::Param(_) => {
                let subject = subject.clone();
                self.bindings.assign(&Type::Dyn, &subject);
                Type::Dyn
            }
            dynamic if dynamic.is_dyn() => Type::Dyn,
            other => {
                let message =
                    format!("a value of type {other} has no fields, so .{field} cannot be selected");
                let mistake = self.mistake(CompileErrorKind::Selection, id, message);
                return Err(match advice::for_selection(self.environment, other, field) {
                    Some(hint) => mistake.hint(hint),
                    None => mistake,
                });
            }
        };
        Ok(if inner.is_some() || optional { Type::optional(result) } else { result })
    }

    fn field(&self, id: NodeId, object: &str, field: &str) -> Result<Type, Mistake> {
        if object == DEVICE {
            return self.environment.device_field(field).ok_or_else(|| {
                let message = format!("device has no field {field:?}");
                let known = ["driver", "attributes", "capacity", "allowMultipleAllocations"];
                let hint = advice::for_name(field, known.into_iter()).unwrap_or_else(|| {
                    "device has driver, attributes, capacity and allowMultipleAllocations".to_owned()
                });
                self.mistake(CompileErrorKind::Undeclared, id, message).hint(hint)
            });
        }
        let message = format!("{object} has no fields, so .{field} cannot be selected");
        let mistake = self.mistake(CompileErrorKind::Selection, id, message);
        Err(match advice::for_selection(self.environment, &Type::Struct(""), field) {
            Some(hint) => mistake.hint(hint),
            None => mistake,
        })
    }

    fn call(&mut self, expr: &mut Expr) -> Result<(), Mistake> {
        let id = expr.id;
        let ExprKind::Call { target, function, args } = &mut expr.kind else { return Ok(()) };
        if &**function == "_?._" {
            return self.optional_select(id, args);
        }
        for arg in args.iter_mut() {
            self.check(arg)?;
        }
        if target.is_none() {
            let plain = function.strip_prefix('.').unwrap_or(function);
            let Some(declared) = self.environment.function(plain) else {
                return Err(self.unknown_function(id, function));
            };
            *function = Arc::from(declared.name);
            return self.resolve(id, declared, None, args);
        }
        let namespaced = target.as_ref().and_then(|target| target.qualified_name());
        let namespaced = namespaced.map(|prefix| format!("{prefix}.{function}"));
        let plain = namespaced.as_ref().map(|name| name.strip_prefix('.').unwrap_or(name));
        if let Some(declared) = plain.and_then(|name| self.environment.function(name)) {
            *target = None;
            *function = Arc::from(declared.name);
            return self.resolve(id, declared, None, args);
        }
        let receiver = target.as_deref_mut().expect("a call without target was handled above");
        self.check(receiver)?;
        match self.environment.function(function) {
            Some(declared) => self.resolve(id, declared, Some(receiver), args),
            None => Err(self.unknown_function(id, function)),
        }
    }

    fn unknown_function(&self, id: NodeId, name: &str) -> Mistake {
        let mistake =
            self.mistake(CompileErrorKind::Undeclared, id, format!("there is no function {name:?}"));
        match advice::for_function(self.environment, name) {
            Some(hint) => mistake.hint(hint),
            None => mistake,
        }
    }

    fn optional_select(&mut self, id: NodeId, args: &mut [Expr]) -> Result<(), Mistake> {
        let [operand, field] = args else {
            return Err(self.mistake(
                CompileErrorKind::NoOverload,
                id,
                "an optional selection has two parts",
            ));
        };
        let ExprKind::Literal(Literal::String(name)) = &field.kind else {
            return Err(self.mistake(
                CompileErrorKind::NoOverload,
                id,
                "an optional selection needs a field name",
            ));
        };
        let name = name.clone();
        self.set(field.id, Type::String);
        let selected = self.selected(id, operand, &name, true)?;
        let known = self.bindings.substitute(&selected, false);
        self.set(id, known);
        self.mean(id, Meaning::Overloads(vec!["select_optional_field"]));
        Ok(())
    }

    /// Finds the overloads that fit the arguments.
    fn resolve(
        &mut self,
        id: NodeId,
        function: &'static Function,
        receiver: Option<&Expr>,
        args: &[Expr],
    ) -> Result<(), Mistake> {
        let types: Vec<Type> = receiver.into_iter().chain(args).map(|arg| self.get(arg)).collect();
        if matches!(function.name, "_&&_" | "_||_") {
            return self.logical(id, function, args, &types);
        }
        let mut fitting = Vec::new();
        let mut result: Option<Type> = None;
        for overload in function.overloads.iter().filter(|overload| overload.member == receiver.is_some()) {
            if overload.args.len() != types.len() {
                continue;
            }
            let variables: Vec<Type> = (0..overload.params).map(|_| self.bindings.fresh()).collect();
            let wanted: Vec<Type> = overload.args.iter().map(|arg| instantiate(arg, &variables)).collect();
            if !self.bindings.assign_all(&types, &wanted) {
                continue;
            }
            fitting.push(overload.id);
            let produced = self.bindings.substitute(&instantiate(&overload.result, &variables), false);
            result = Some(match result {
                None => produced,
                Some(known) if !known.is_dyn() && !produced.is_exactly(&known) => Type::Dyn,
                Some(known) => known,
            });
        }
        let Some(result) = result else {
            let shown: Vec<Type> = types.iter().map(|known| self.bindings.substitute(known, true)).collect();
            return Err(self.no_overload(id, function, receiver.is_some(), &shown));
        };
        self.set(id, result);
        self.mean(id, Meaning::Overloads(fitting));
        Ok(())
    }

    fn no_overload(&self, id: NodeId, function: &'static Function, member: bool, args: &[Type]) -> Mistake {
        let message =
            format!("{} cannot be applied to {}", advice::spoken(function.name), advice::types(member, args));
        let mistake = self.mistake(CompileErrorKind::NoOverload, id, message);
        match advice::for_overload(function, member, args) {
            Some(hint) => mistake.hint(hint),
            None => mistake,
        }
    }

    fn logical(
        &mut self,
        id: NodeId,
        function: &'static Function,
        args: &[Expr],
        types: &[Type],
    ) -> Result<(), Mistake> {
        for (arg, known) in args.iter().zip(types) {
            if !self.bindings.assign(known, &Type::Bool) {
                let shown = self.bindings.substitute(known, true);
                let message =
                    format!("{} combines conditions, but this is {shown}", advice::spoken(function.name));
                return Err(self
                    .mistake(CompileErrorKind::TypeMismatch, arg.id, message)
                    .hint("compare it, for example with =="));
            }
        }
        self.set(id, Type::Bool);
        self.mean(id, Meaning::Overloads(vec![function.overloads[0].id]));
        Ok(())
    }

    /// The common type of elements so far and one more; `dyn` if they have none. Whether a mixture is allowed at all is
    /// decided later, because it depends on the function around it.
    fn join(&mut self, so_far: Option<Type>, next: Type) -> Type {
        match so_far {
            None => next,
            Some(so_far) if self.bindings.assign(&so_far, &next) => most_general(&so_far, &next),
            Some(_) => Type::Dyn,
        }
    }

    /// The type of a value that is written as optional.
    fn unwrapped(&mut self, value: &Expr, optional: bool) -> Result<Type, Mistake> {
        let known = self.get(value);
        if !optional {
            return Ok(known);
        }
        if let Some(inner) = known.optional_inner() {
            return Ok(inner.clone());
        }
        // The reference breaks down on a value of unknown type here; a refusal says what to do instead.
        let message = format!("an element after '?' must be optional, but this is {known}");
        Err(self
            .mistake(CompileErrorKind::TypeMismatch, value.id, message)
            .hint("wrap it in optional.of(), or remove the '?'"))
    }

    fn list(&mut self, id: NodeId, elements: &mut [Element]) -> Result<(), Mistake> {
        let mut common = None;
        for element in elements {
            self.check(&mut element.value)?;
            let known = self.unwrapped(&element.value, element.optional)?;
            common = Some(self.join(common, known));
        }
        let element = common.unwrap_or_else(|| self.bindings.fresh());
        self.set(id, Type::list(element));
        Ok(())
    }

    fn map(&mut self, id: NodeId, entries: &mut [EntryExpr]) -> Result<(), Mistake> {
        let mut keys = None;
        let mut values = None;
        for entry in entries {
            self.check(&mut entry.key)?;
            let known = self.get(&entry.key);
            keys = Some(self.join(keys, known));
            self.check(&mut entry.value)?;
            let known = self.unwrapped(&entry.value, entry.optional)?;
            values = Some(self.join(values, known));
        }
        let key = keys.unwrap_or_else(|| self.bindings.fresh());
        let value = values.unwrap_or_else(|| self.bindings.fresh());
        self.set(id, Type::map(key, value));
        Ok(())
    }

    fn message(&mut self, id: NodeId, name: &mut Arc<str>, fields: &mut [Field]) -> Result<Type, Mistake> {
        let plain = name.strip_prefix('.').unwrap_or(name);
        let known = match plain {
            DEVICE => Some(Type::Struct(DEVICE)),
            _ => type_named(plain),
        };
        let Some(known) = known else { return Err(self.undeclared(id, name)) };
        let creatable = matches!(
            known,
            Type::Struct(_)
                | Type::Nullable(_)
                | Type::Duration
                | Type::Timestamp
                | Type::Any
                | Type::Null
                | Type::Dyn
        ) || plain.starts_with("google.protobuf.");
        if !creatable {
            let message = format!("{plain} is not a message type");
            return Err(self
                .mistake(CompileErrorKind::TypeMismatch, id, message)
                .hint("use a literal or a function"));
        }
        let plain: Arc<str> = Arc::from(plain);
        for field in fields {
            self.check(&mut field.value)?;
            let value = self.unwrapped(&field.value, field.optional)?;
            let wanted = self.message_field(&plain, &field.name, field.id)?;
            if !self.bindings.assign(&wanted, &value) {
                let message = format!("the field {} is {wanted}, but the value is {value}", field.name);
                return Err(self.mistake(CompileErrorKind::TypeMismatch, field.id, message));
            }
        }
        *name = plain;
        Ok(known)
    }

    fn message_field(&self, message: &str, field: &str, id: NodeId) -> Result<Type, Mistake> {
        let known = match (type_named(message), field) {
            (Some(Type::Nullable(inner)), "value") => Some((*inner).clone()),
            (Some(Type::Duration | Type::Timestamp), "seconds" | "nanos") => Some(Type::Int),
            (Some(Type::List(_)), "values") => Some(Type::list(Type::Dyn)),
            (Some(Type::Map(_, _)), "fields") => Some(Type::map(Type::String, Type::Dyn)),
            (Some(Type::Dyn), "null_value") => Some(Type::Int),
            (Some(Type::Dyn), "number_value") => Some(Type::Double),
            (Some(Type::Dyn), "string_value") => Some(Type::String),
            (Some(Type::Dyn), "bool_value") => Some(Type::Bool),
            (Some(Type::Dyn), "struct_value") => Some(Type::map(Type::String, Type::Dyn)),
            (Some(Type::Dyn), "list_value") => Some(Type::list(Type::Dyn)),
            _ if message == DEVICE => self.environment.device_field(field),
            _ => None,
        };
        known.ok_or_else(|| {
            self.mistake(CompileErrorKind::Undeclared, id, format!("{message} has no field {field:?}"))
        })
    }

    fn comprehension(&mut self, id: NodeId, fold: &mut Comprehension) -> Result<(), Mistake> {
        self.check(&mut fold.range)?;
        self.check(&mut fold.init)?;
        let range = self.bindings.substitute(&self.get(&fold.range), false);
        let accumulated = self.get(&fold.init);
        let (first, second) = match &range {
            Type::List(element) if fold.second.is_some() => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Dyn),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn | Type::Param(_) => {
                self.bindings.assign(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message = format!("this is {other}, but only a list or a map has elements");
                return Err(self.mistake(CompileErrorKind::Range, fold.range.id, message));
            }
        };
        let outer = self.locals.len();
        self.locals.push((fold.accumulator.clone(), accumulated.clone()));
        let inner = self.locals.len();
        self.locals.push((fold.variable.clone(), first));
        if let Some(name) = &fold.second {
            self.locals.push((name.clone(), second));
        }
        self.check(&mut fold.condition)?;
        self.expect(&fold.condition, &Type::Bool)?;
        self.check(&mut fold.step)?;
        self.expect(&fold.step, &accumulated)?;
        self.locals.truncate(inner);
        self.check(&mut fold.result)?;
        self.locals.truncate(outer);
        let known = self.bindings.substitute(&self.get(&fold.result), false);
        self.set(id, known);
        Ok(())
    }

    fn expect(&mut self, expr: &Expr, wanted: &Type) -> Result<(), Mistake> {
        let found = self.get(expr);
        if self.bindings.assign(wanted, &found) {
            return Ok(());
        }
        let wanted = self.bindings.substitute(wanted, true);
        let found = self.bindings.substitute(&found, true);
        Err(self.mistake(
            CompileErrorKind::TypeMismatch,
            expr.id,
            format!("wanted {wanted}, but this is {found}"),
        ))
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}
