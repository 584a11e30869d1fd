//! `supercargo simulate`: where the pods of manifests would go, without a cluster.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use gates::Gates;
use kubelet::simulated::Times;
use serde_json::Value;
use simulation::{Ending, Manifest, Outcome, PodOutcome, Rules, needed_gates, read, simulate_by};

use crate::cli::seconds;
use crate::columns::{columns, row};
use crate::commands::features::refusal;
use crate::configuration;
use crate::failure::Failure;
use crate::yaml;

const EXAMPLES: &str = "\
Examples:
  supercargo simulate examples/simulate/gpus.yaml       where each pod would be scheduled, or why not
  supercargo simulate cluster/ pods.yaml -o json        the same for programs
  kubectl get nodes,resourceslices,deviceclasses -o yaml | supercargo simulate - pods.yaml
  supercargo simulate cluster/ --config scheduler.yaml  with a KubeSchedulerConfiguration

Exit codes: 0 every pod has a node, 1 a manifest is wrong, 2 a pod waits";

/// Show where the pods of manifests would be scheduled, without a cluster
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Simulate {
    /// Manifest files in YAML or JSON, folders of manifests, or - for stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// KubeSchedulerConfiguration file; pods that name none of its profiles are not scheduled
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Seconds until the containers of a pod end, if it is to end (restartPolicy Never or OnFailure), unless its annotation
    /// supercargo.dev/run-seconds says otherwise [default: it does not end]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    run_seconds: Option<Duration>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "table")]
    output: Format,
    /// Feature gates to set, such as A=true,B=false; gates that the manifests need are on by default
    #[arg(long, value_name = "SETTING")]
    feature_gates: Option<String>,
}

/// How placements are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A table
    Table,
    /// One JSON object
    Json,
    /// One YAML document
    Yaml,
}

impl Simulate {
    /// Writes the placements to `out`, and to `complaints` what the answer does not take into account.
    pub(crate) fn run(&self, out: &mut dyn Write, complaints: &mut dyn Write) -> Result<ExitCode, Failure> {
        let mut manifests = Vec::new();
        for file in &self.files {
            manifests.extend(read_path(file)?);
        }
        let gates = self.gates(&manifests, complaints)?;
        let scheduler = match &self.config {
            None => None,
            Some(file) => Some(configuration::read(file, gates)?),
        };
        let times = Times { run: self.run_seconds, ..Times::default() };
        let rules = Rules { scheduler: scheduler.as_ref(), times, ..Rules::new(gates) };
        let ending = simulate_by(manifests, &rules).map_err(|bad| failed(bad.to_string()))?;
        let Ending { outcome, unheeded, troubles, .. } = ending;
        for trouble in troubles {
            let _ = writeln!(complaints, "warning: {trouble}");
        }
        for kind in unheeded {
            // Whoever closed stderr does not want to know.
            let _ = writeln!(
                complaints,
                "warning: the simulation ignores objects of kind {kind}; a cluster would use them"
            );
        }
        match self.output {
            Format::Table => out.write_all(table(&outcome).as_bytes())?,
            Format::Json => {
                let text = serde_json::to_string_pretty(&outcome).map_err(io::Error::from)?;
                writeln!(out, "{text}")?;
            }
            Format::Yaml => {
                let value = serde_json::to_value(&outcome).map_err(io::Error::from)?;
                out.write_all(yaml::document(&value).as_bytes())?;
            }
        }
        Ok(if outcome.pending() == 0 { ExitCode::SUCCESS } else { ExitCode::from(2) })
    }
}

impl Simulate {
    /// The feature gates: as set, and those that the manifests need unless they are turned off. Both are reported.
    fn gates(&self, manifests: &[Manifest], complaints: &mut dyn Write) -> Result<Gates, Failure> {
        let setting = self.feature_gates.as_deref().unwrap_or_default();
        let needed = needed_gates(manifests);
        let (gates, turned_on) =
            Gates::with_needed(setting, needed.keys().copied()).map_err(|error| refusal(&error))?;
        // Whoever closed stderr does not want to know.
        for gate in &turned_on {
            let user = match needed.get(gate) {
                Some(manifest) => named(manifest),
                None => {
                    let user = turned_on.iter().find(|user| user.spec().needs.contains(gate));
                    user.map(|user| format!("feature gate {user}")).unwrap_or_default()
                }
            };
            let _ = writeln!(complaints, "note: turned on feature gate {gate}, which {user} needs");
        }
        if !turned_on.is_empty() {
            let hint = "a cluster has these feature gates off by default; to simulate it without one, pass --feature-gates NAME=false";
            let _ = writeln!(complaints, "hint: {hint}");
        }
        for (gate, manifest) in needed.iter().filter(|(gate, _)| !gates.enabled(**gate)) {
            let manifest = named(manifest);
            let _ = writeln!(
                complaints,
                "warning: feature gate {gate} is off, so the simulation ignores what needs it in {manifest}"
            );
        }
        Ok(gates)
    }
}

/// A manifest in a message: its kind, its name and its place in the file.
fn named(manifest: &Manifest) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&manifest.value["kind"]), text(&manifest.value["metadata"]["name"]));
    format!("{kind} {name} ({})", manifest.place)
}

fn failed(wrong: String) -> Failure {
    Failure::Failed { wrong, hint: String::new() }
}

/// The manifests of a file, of all files of a folder in the order of their names, or of stdin.
pub(crate) fn read_path(path: &Path) -> Result<Vec<Manifest>, Failure> {
    let unreadable = |error: io::Error| failed(format!("cannot read {}: {error}", path.display()));
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(unreadable)?;
        return read("stdin", &text).map_err(|bad| failed(bad.to_string()));
    }
    if !path.is_dir() {
        let text = fs::read_to_string(path).map_err(unreadable)?;
        return read(&path.display().to_string(), &text).map_err(|bad| failed(bad.to_string()));
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        files.push(entry.map_err(unreadable)?.path());
    }
    let is_manifest = |file: &PathBuf| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        file.is_file() && matches!(extension, Some("yaml" | "yml" | "json"))
    };
    files.retain(is_manifest);
    files.sort();
    let mut manifests = Vec::new();
    for file in files {
        manifests.extend(read_path(&file)?);
    }
    Ok(manifests)
}

/// Pods with their nodes and reasons, and claims with their devices.
fn table(outcome: &Outcome) -> String {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let mut pods = vec![row(["POD", "NODE", "REASON"])];
    pods.extend(
        outcome.pods.iter().map(|pod| {
            vec![format!("{}/{}", pod.namespace, pod.name), or_dash(&pod.node), or_dash(&told(pod))]
        }),
    );
    let mut claims = vec![row(["CLAIM", "REQUEST", "DEVICE"])];
    for claim in &outcome.claims {
        let name = format!("{}/{}", claim.namespace, claim.name);
        if claim.devices.is_empty() {
            claims.push(row([&name, "-", "-"]));
        }
        claims.extend(claim.devices.iter().map(|one| {
            vec![name.clone(), one.request.clone(), format!("{}/{}/{}", one.driver, one.pool, one.device)]
        }));
    }
    let mut text = columns(&pods);
    if claims.len() > 1 {
        text.push('\n');
        text.push_str(&columns(&claims));
    }
    text
}

/// Why a pod waits, or how it ended.
fn told(pod: &PodOutcome) -> Option<String> {
    let ended =
        pod.ended.as_ref().map(|end| format!("{} after {}s", end.phase.to_lowercase(), end.after_seconds));
    pod.reason.clone().or(ended)
}
