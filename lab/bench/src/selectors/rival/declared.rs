//! The functions and macros that device selectors need.
#![expect(clippy::needless_pass_by_value, reason = "cel hands arguments over like this")]

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, ListExpr, LiteralValue};
use cel::common::types::{CelBool, CelInt, CelString, DYN_TYPE, LIST_TYPE, STRING_TYPE};
use cel::common::value::{CowVal, Val};
use cel::parser::{Macro, MacroExprHelper};
use cel::{DeclarationError, Env, ExecutionError};
use regex::Regex;

use super::Constant;
use super::values::{AMOUNT, Amount, PATTERN, Pattern, VERSION, Version};

/// The constants that macros have found so far.
pub(super) type Found = Arc<Mutex<Vec<Constant>>>;

type CelResult<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// The results of all functions, so that none of them has to allocate one.
static NUMBERS: LazyLock<[CelInt; 3]> =
    LazyLock::new(|| [CelInt::from(-1), CelInt::from(0), CelInt::from(1)]);
static BOOLS: LazyLock<[CelBool; 2]> = LazyLock::new(|| [CelBool::from(false), CelBool::from(true)]);

/// The environment of device selectors, and the place where parsing puts constants.
pub(super) fn environment() -> Result<(Env, Found), DeclarationError> {
    let found = Found::default();
    let mut env = Env::stdlib();
    env.add_macro(bind())?;
    env.add_macro(constant("quantity", &found, |text| Some(Box::new(Amount(text.parse().ok()?)))))?;
    env.add_macro(constant("semver", &found, |text| Some(Box::new(Version::parse(text)?))))?;
    env.add_macro(matches(&found))?;
    let own = |known: &'static cel::common::types::Type| known.to_owned();
    env.add_member_overload("compareTo", "quantity_compare", own(&AMOUNT), vec![own(&AMOUNT)], compare)?;
    env.add_member_overload(
        "isGreaterThan",
        "semver_greater",
        own(&VERSION),
        vec![own(&VERSION)],
        is_greater,
    )?;
    env.add_member_overload("includes", "list_includes", LIST_TYPE, vec![DYN_TYPE], includes)?;
    env.add_member_overload("finds", "string_finds", STRING_TYPE, vec![own(&PATTERN)], finds)?;
    Ok((env, found))
}

/// The constants that parsing found.
pub(super) fn taken(found: &Found) -> Vec<Constant> {
    std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner))
}

fn condition<'b, 'v>(answer: bool) -> CowVal<'b, 'v> {
    CowVal::Borrowed(&BOOLS[usize::from(answer)])
}

fn argument<'a, T: cel::common::value::StaticVal>(
    args: &'a [CowVal<'_, '_>],
    at: usize,
) -> Result<&'a T, ExecutionError> {
    let value = args.get(at).and_then(|value| value.as_any()).and_then(|value| value.downcast_ref());
    value.ok_or(ExecutionError::MissingArgumentOrTarget)
}

fn compare<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> CelResult<'b, 'v> {
    let order = argument::<Amount>(&args, 0)?.0.cmp(&argument::<Amount>(&args, 1)?.0);
    Ok(CowVal::Borrowed(&NUMBERS[(order as i8 + 1) as usize]))
}

fn is_greater<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> CelResult<'b, 'v> {
    Ok(condition(argument::<Version>(&args, 0)? > argument::<Version>(&args, 1)?))
}

fn includes<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> CelResult<'b, 'v> {
    match (args[0].as_container(), args.get(1)) {
        (Some(list), Some(element)) => list.contains(element.as_ref()).map(condition),
        _ => Err(ExecutionError::MissingArgumentOrTarget),
    }
}

fn finds<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> CelResult<'b, 'v> {
    let text = args[0].downcast_ref::<CelString>().ok_or(ExecutionError::MissingArgumentOrTarget)?;
    Ok(condition(argument::<Pattern>(&args, 1)?.0.is_match(text.inner())))
}

/// The text of an argument that is a literal.
fn literal(arg: Option<&IdedExpr>) -> Option<String> {
    match arg.map(|arg| &arg.expr) {
        Some(Expr::Literal(LiteralValue::String(text))) => Some(text.inner().to_owned()),
        _ => None,
    }
}

/// A name for a new constant, as an expression.
fn named(helper: &mut MacroExprHelper<'_>, found: &Found, value: Box<dyn Val>) -> IdedExpr {
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    let name = format!("@{}", found.len());
    found.push(Constant { name: name.clone(), value });
    helper.next_expr(Expr::Ident(name))
}

/// A function of a literal, whose result is a constant.
fn constant(name: &str, found: &Found, make: fn(&str) -> Option<Box<dyn Val>>) -> Macro {
    let found = found.clone();
    Macro::global(name, 1, move |helper, _, args| {
        let value = literal(args.first()).and_then(|text| make(&text));
        Ok(value.map(|value| named(helper, &found, value)))
    })
}

/// `text.matches("literal")`, with the pattern compiled when parsing.
fn matches(found: &Found) -> Macro {
    let found = found.clone();
    Macro::receiver("matches", 1, move |helper, target, args| {
        let Some(pattern) = literal(args.first()).and_then(|text| Regex::new(&text).ok()) else {
            return Ok(None);
        };
        let pattern = named(helper, &found, Box::new(Pattern(pattern)));
        let call = CallExpr {
            func_name: "finds".to_owned(),
            target: target.take().map(Box::new),
            args: vec![pattern],
        };
        Ok(Some(helper.next_expr(Expr::Call(call))))
    })
}

/// `cel.bind(name, value, result)`: a loop over nothing, whose accumulator is the variable.
fn bind() -> Macro {
    Macro::receiver("bind", 3, |helper, target, args| {
        let on_cel = target.as_ref().is_some_and(|target| target.expr == Expr::Ident("cel".to_owned()));
        let (true, [name, value, result]) = (on_cel, args.as_mut_slice()) else { return Ok(None) };
        let Expr::Ident(variable) = &name.expr else { return Ok(None) };
        let variable = variable.clone();
        let (value, result) = (std::mem::take(value), std::mem::take(result));
        let expr = Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: helper.next_expr(Expr::List(ListExpr::default())),
            iter_var: "@unused".to_owned(),
            iter_var2: None,
            accu_var: variable.clone(),
            accu_init: value,
            loop_cond: helper.next_expr(Expr::Literal(LiteralValue::Boolean(CelBool::from(false)))),
            loop_step: helper.next_expr(Expr::Ident(variable)),
            result,
        }));
        Ok(Some(helper.next_expr(expr)))
    })
}
