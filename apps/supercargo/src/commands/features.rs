//! `supercargo features`: what can be turned on and off, and what a setting would lead to.

use std::io::Write;

use clap::Args;
use gates::{GateError, Gates, listing, listing_of};

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  supercargo features                                          every gate, its stage and its default
  supercargo features --feature-gates=AllBeta=true             which gates would be on
  supercargo features --feature-gates=DRAAdminAccess=false     which gates would be on, or why the setting is invalid";

/// List the feature gates, or check a setting of them
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Features {
    /// Feature gates to set, such as A=true,B=false; AllAlpha and AllBeta set all gates of a stage
    #[arg(long, value_name = "SETTING")]
    feature_gates: Option<String>,
}

impl Features {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let text = match &self.feature_gates {
            None => listing(),
            Some(setting) => listing_of(setting.parse::<Gates>().map_err(|error| refusal(&error))?),
        };
        Ok(out.write_all(text.as_bytes())?)
    }
}

/// The gates' own words, with their hint on a line of its own.
pub(crate) fn refusal(error: &GateError) -> Failure {
    let text = error.to_string();
    let (wrong, hint) =
        text.split_once("; hint: ").unwrap_or((&text, "`supercargo features` lists the gates"));
    Failure::Usage { wrong: wrong.to_owned(), hint: hint.to_owned() }
}
