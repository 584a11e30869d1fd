//! `supercargo crds`: our own kinds for a real API server, which does not know them.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::failure::Failure;
use crate::yaml;

const EXAMPLES: &str = "\
Examples:
  supercargo crds | kubectl apply -f -     install them on a Kubernetes API server
  supercargo crds -o json                  the same as one JSON list";

/// Print the CustomResourceDefinitions of supercargo.dev
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Crds {
    /// Output format
    #[arg(short, long, value_enum, default_value = "yaml")]
    output: Format,
}

/// How objects are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// One YAML document for each object
    Yaml,
    /// One JSON list
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
