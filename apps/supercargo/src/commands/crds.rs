//! `supercargo crds`: our own kinds for a real API server, which does not know them.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::failure::Failure;
use crate::yaml;

const EXAMPLES: &str = "\
Examples:
  supercargo crds | kubectl apply -f -     make our kinds known to a real API server
  supercargo crds -o json                  the same as one JSON list";

/// Print our own kinds as CustomResourceDefinitions
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Crds {
    /// How to write them
    #[arg(short, long, value_enum, default_value = "yaml")]
    output: Format,
}

/// How objects are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// One document for each
    Yaml,
    /// One list of all
    Json,
}

impl Crds {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let definitions = schema::openapi::crds();
        match self.output {
            Format::Yaml => {
                for definition in &definitions {
                    write!(out, "---\n{}", yaml::document(definition))?;
                }
            }
            Format::Json => {
                let list = json!({ "apiVersion": "v1", "kind": "List", "items": definitions });
                writeln!(out, "{list:#}")?;
            }
        }
        Ok(())
    }
}
