//! `cel` with what device selectors need on top, used in the fastest way that we know.
//!
//! - Expressions are parsed once, and evaluated to a borrowed value, without the copy that `Program::execute` makes.
//! - Each device has values made before, a type that hands out borrows of them, and a context of its own.
//! - `quantity`, `semver` and `matches` are macros that turn a literal argument into a constant, made when parsing. The
//!   functions of `cel` would parse the text, and compile the pattern, in every evaluation.
//! - `cel.bind` is a macro too, and the functions of quantities, versions and lists are its functions.

mod declared;
mod values;

use std::sync::Arc;

use anyhow::Context as _;
use cel::common::types::CelBool;
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use cel::{Context, Env, Program, Value};

use super::devices::Published;
use values::Seen;

/// A constant and the name that the parsed expression has for it.
pub(super) struct Constant {
    name: String,
    value: Box<dyn Val>,
}

/// Parsed expressions and the devices to evaluate them over.
pub(super) struct Rival {
    env: Arc<Env>,
    programs: Vec<Program>,
    constants: Vec<Constant>,
    devices: Vec<Seen>,
}

/// The variables of one evaluation: the device and the constants.
pub(super) struct Asked<'r> {
    device: &'r Seen,
    constants: &'r [Constant],
}

impl VariableResolver for Asked<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        if variable == "device" {
            return Some(CowVal::Borrowed(self.device));
        }
        let constant = self.constants.iter().find(|constant| constant.name == variable)?;
        Some(CowVal::Borrowed(&*constant.value))
    }
}

impl Rival {
    pub(super) fn new(expressions: &[&str], published: &[Published]) -> anyhow::Result<Rival> {
        let (env, constants) = declared::environment()?;
        let parse = |expression: &&str| {
            env.compile(expression).map_err(|errors| anyhow::anyhow!("{expression}: {errors}"))
        };
        let programs = expressions.iter().map(parse).collect::<Result<_, _>>()?;
        let devices = published.iter().map(Seen::new).collect::<Result<_, _>>()?;
        let constants = declared::taken(&constants);
        Ok(Rival { env: Arc::new(env), programs, constants, devices })
    }

    /// The variables for each device.
    pub(super) fn asked(&self) -> Vec<Asked<'_>> {
        self.devices.iter().map(|device| Asked { device, constants: &self.constants }).collect()
    }

    /// A context for each device.
    pub(super) fn contexts<'r>(&self, asked: &'r [Asked<'r>]) -> Vec<Context<'r, 'r>> {
        let context = |asked: &'r Asked<'r>| {
            let mut context = Context::with_env(self.env.clone());
            context.set_variable_resolver(asked);
            context
        };
        asked.iter().map(context).collect()
    }

    /// Whether a device matches the expression of that number.
    pub(super) fn holds(&self, at: usize, context: &Context<'_, '_>) -> anyhow::Result<bool> {
        let value = Value::resolve_val(self.programs[at].expression(), context)?;
        let answer = value.downcast_ref::<CelBool>().context("the result is not a condition")?;
        Ok(*answer.inner())
    }
}
