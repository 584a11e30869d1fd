//! Device selectors: the CEL dialect of dynamic resource allocation, compiled.
//!
//! `compile` parses, expands macros, checks types, folds constants, estimates the worst-case cost and lowers the
//! expression; evaluation runs the result over a device and counts what it costs.

mod check;
mod cost;
mod declare;
mod error;
mod syntax;
mod types;

pub use declare::Environment;
pub use error::{CompileError, CompileErrorKind, SyntaxMistake};

use error::Mistake;
use types::Type;

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
pub struct Compiled {
    estimated_max_cost: u64,
}

impl Compiled {
    /// The worst-case cost.
    #[must_use]
    pub fn estimated_max_cost(&self) -> u64 {
        self.estimated_max_cost
    }
}

/// Compiles an expression.
///
/// # Errors
/// Says what is wrong with the expression, where, and what would be right.
pub fn compile(
    expression: &str,
    kind: ExpressionKind,
    environment: Environment,
) -> Result<Compiled, CompileError> {
    stages(expression, kind, environment).map_err(|mistake| mistake.located(expression))
}

fn stages(expression: &str, kind: ExpressionKind, environment: Environment) -> Result<Compiled, Mistake> {
    let (mut expr, source) = syntax::parser::parse(expression)?;
    let checked = check::check(&mut expr, &source, environment)?;
    output_type(checked.type_of(expr.id), kind, environment)?;
    Ok(Compiled { estimated_max_cost: cost::estimate(&expr, &checked, source.len()) })
}

/// Refuses results that the place of the expression cannot use.
fn output_type(known: &Type, kind: ExpressionKind, environment: Environment) -> Result<(), Mistake> {
    let scalar = |known: &Type| {
        matches!(
            known,
            Type::Bool | Type::Int | Type::String | Type::Any | Type::Dyn | Type::Struct(declare::SEMVER)
        )
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
