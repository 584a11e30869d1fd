//! A compiled expression and how it is used.

use std::fmt;

use crate::declare::{Environment, SEMVER};
use crate::device::Device;
use crate::error::{CompileError, CompileErrorKind, Mistake};
use crate::fast::{self, Test};
use crate::glance::Glance;
use crate::program::evaluate::Evaluation;
use crate::program::{Program, plan};
use crate::types::Type;
use crate::value::{ErrorClass, Fault, Outcome, Value};
use crate::{check, cost, syntax, validate};

/// What an evaluation may cost, and what admission lets an expression cost at worst.
pub const COST_MAX: u64 = 1_000_000;

/// The largest worst-case cost for which no evaluation can come near the limit. Estimates can be too low, by a factor of
/// ten at most for the shapes that this is asked about.
const FAST_COST_MAX: u64 = COST_MAX / 20;

/// What an expression is for, which decides the types that its result may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExpressionKind {
    /// Chooses devices: a condition.
    Selector,
    /// Computes an attribute: a scalar or a list of scalars.
    Derived,
}

/// A compiled expression.
#[derive(Debug)]
pub struct Selector {
    pub(crate) program: Program,
    /// The program's short form, if its shape is a common one.
    pub(crate) fast: Option<Test>,
    /// The short form of that, if a glance is enough.
    pub(crate) glance: Option<Glance>,
    estimated_max_cost: u64,
}

/// Why an evaluation gave no answer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub struct EvalError {
    /// The kind of error.
    pub class: ErrorClass,
    /// What happened.
    pub message: String,
}

impl fmt::Display for EvalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.message)?;
        if self.class == ErrorClass::NoSuchKey {
            write!(out, "; hint: select with .?name.orValue(…), or test with has() first")?;
        }
        Ok(())
    }
}

/// The answer of an evaluation and what it cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evaluated {
    /// Whether the device matches.
    pub result: Result<bool, EvalError>,
    /// The cost, also of an evaluation that failed.
    pub cost: u64,
}

impl Selector {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Says what is wrong with the expression, where, and what would be right.
    pub fn compile(
        expression: &str,
        kind: ExpressionKind,
        environment: Environment,
    ) -> Result<Selector, CompileError> {
        Selector::stages(expression, kind, environment).map_err(|mistake| mistake.located(expression))
    }

    fn stages(expression: &str, kind: ExpressionKind, environment: Environment) -> Result<Selector, Mistake> {
        let (mut expr, source) = syntax::parser::parse(expression)?;
        let checked = check::check(&mut expr, &source, environment)?;
        validate::validate(&expr, &checked, &source)?;
        output_type(checked.type_of(expr.id), kind, environment)?;
        let program = plan(&expr, &checked, &source, environment)?;
        let estimated_max_cost = cost::estimate(&expr, &checked, source.len());
        let fast = if estimated_max_cost <= FAST_COST_MAX { fast::recognize(&program.root) } else { None };
        let glance = fast.as_ref().and_then(Glance::of);
        Ok(Selector { program, fast, glance, estimated_max_cost })
    }

    /// The worst-case cost. Admission refuses an expression above [`COST_MAX`].
    #[must_use]
    pub fn estimated_max_cost(&self) -> u64 {
        self.estimated_max_cost
    }

    /// Whether a device matches, by the shortest way.
    ///
    /// # Errors
    /// The evaluation failed or cost too much.
    pub fn holds(&self, device: &Device) -> Result<bool, EvalError> {
        if !device.is_within_bounds() {
            return self.matches(device).result;
        }
        if let Some(answer) = self.glance.as_ref().and_then(|glance| glance.answer(device)) {
            return Ok(answer);
        }
        match &self.fast {
            Some(test) => condition(test.outcome(device)),
            None => self.matches(device).result,
        }
    }

    /// Whether the expression has one of the common shapes, which are decided without allocating.
    #[must_use]
    pub fn is_fast(&self) -> bool {
        self.fast.is_some()
    }

    /// Whether a device matches, and what finding out cost.
    #[must_use]
    pub fn matches(&self, device: &Device) -> Evaluated {
        let mut evaluation = Evaluation::new(&self.program, device, COST_MAX);
        let outcome = evaluation.node(&self.program.root);
        Evaluated { result: condition(outcome), cost: evaluation.meter.cost }
    }
}

fn condition(outcome: Outcome<'_>) -> Result<bool, EvalError> {
    match outcome {
        Ok(Value::Bool(value)) => Ok(value),
        // An optional condition counts as its value.
        Ok(Value::Optional(Some(inner))) => condition(Ok((*inner).clone())),
        Ok(other) => Err(EvalError {
            class: ErrorClass::NotBool,
            message: format!("the result is {}, not a condition", other.type_name()),
        }),
        Err(fault) => Err(error(&fault)),
    }
}

pub(crate) fn error(fault: &Fault<'_>) -> EvalError {
    EvalError { class: fault.class, message: fault.to_string() }
}

/// Refuses results that the place of the expression cannot use.
fn output_type(known: &Type, kind: ExpressionKind, environment: Environment) -> Result<(), Mistake> {
    let scalar = |known: &Type| {
        matches!(known, Type::Bool | Type::Int | Type::String | Type::Any | Type::Dyn | Type::Struct(SEMVER))
    };
    let (allowed, wanted) = match kind {
        ExpressionKind::Selector => (
            known.is_exactly(&Type::Bool) || known.is_exactly(&environment.attribute_type()),
            "a selector must be a condition (bool)",
        ),
        ExpressionKind::Derived => (
            scalar(known)
                || (environment.list_attributes && matches!(known, Type::List(element) if scalar(element))),
            "a derived attribute must be a string, an integer, a bool, a version or a list of these",
        ),
    };
    if allowed {
        return Ok(());
    }
    let message = format!("{wanted}, but this is {known}");
    Err(Mistake::new(CompileErrorKind::OutputType, 0, message)
        .hint("compare it with something, for example with =="))
}
