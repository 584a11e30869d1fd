//! `supercargo version`: which build this is, and which APIs it speaks.

use std::collections::BTreeMap;
use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  supercargo version             the version, the commit, and the versions of APIs
  supercargo version -o json     the same for programs";

/// The commit that this was built from, if the build set it; `cargo xtask dist` does.
const COMMIT: Option<&str> = option_env!("SUPERCARGO_COMMIT");

/// Tell which build this is, and which versions of APIs it speaks
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Version {
    /// How to write it
    #[arg(short, long, value_enum, default_value = "text")]
    output: Format,
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

impl Version {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let (version, kubernetes) = (env!("CARGO_PKG_VERSION"), discovery::kubernetes_version());
        let apis = own_apis();
        match self.output {
            Format::Text => {
                writeln!(out, "supercargo  {version}")?;
                writeln!(out, "commit      {}", COMMIT.unwrap_or("unknown"))?;
                writeln!(out, "kubernetes  {kubernetes}")?;
                for (api, kinds) in &apis {
                    writeln!(out, "api         {api}: {}", kinds.join(", "))?;
                }
            }
            Format::Json => {
                let api = |(api, kinds): (String, Vec<String>)| json!({ "apiVersion": api, "kinds": kinds });
                let answer = json!({
                    "version": version,
                    "commit": COMMIT,
                    "kubernetesVersion": kubernetes,
                    "apis": apis.into_iter().map(api).collect::<Vec<Value>>(),
                });
                writeln!(out, "{answer:#}")?;
            }
        }
        Ok(())
    }
}

/// The versions of our own APIs with their kinds.
fn own_apis() -> BTreeMap<String, Vec<String>> {
    let mut apis: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for definition in schema::openapi::crds() {
        let spec = &definition["spec"];
        let group = spec["group"].as_str().unwrap_or_default();
        for version in spec["versions"].as_array().into_iter().flatten() {
            let api = format!("{group}/{}", version["name"].as_str().unwrap_or_default());
            let kind = spec["names"]["kind"].as_str().unwrap_or_default();
            apis.entry(api).or_default().push(kind.to_owned());
        }
    }
    apis
}
