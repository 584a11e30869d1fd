//! `supercargo simulate`: where the pods of manifests would go, without a cluster.

mod explained;

use std::fs;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use gates::Gates;
use inventory::observed::Namespaces;
use kubelet::simulated::Times;
use model::pod::PodId;
use serde_json::Value;
use simulation::{
    Aftermath, BadInput, Ending, Manifest, Outcome, POD_KINDS, PodOutcome, Rules, kind_of, makes_pods,
    names_pods, needed_gates, read, simulate_by, simulate_to_end,
};
use views::observer::Observer;
use views::waiting::{PodNote, Told};

use crate::cli::{address, seconds};
use crate::columns::{columns, row};
use crate::commands::apiserver::stopped;
use crate::commands::features::refusal;
use crate::configuration;
use crate::failure::{Failure, UNWELCOME};
use crate::page;
use crate::yaml;
use explained::Explained;

const EXAMPLES: &str = "\
Examples:
  supercargo simulate examples/simulate/gpus.yaml       where each pod would be scheduled, or why not
  supercargo simulate cluster/ pods.yaml -o json        the same for programs
  kubectl get nodes,resourceslices,deviceclasses -o yaml | supercargo simulate - pods.yaml
  supercargo simulate cluster/ --config scheduler.yaml  with a KubeSchedulerConfiguration
  supercargo simulate cluster/ --explain                why pods wait, what would help, and a table of all devices

Pods of Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs are created as their controllers would create them.

Exit codes: 0 every pod has a node, 1 a manifest is wrong, 2 usage error, 3 a pod waits";

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
    /// supercargo.dev/run-seconds says otherwise; for pods that run already, from now on [default: it does not end]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    run_seconds: Option<Duration>,
    /// Explain each waiting pod as `supercargo explain` does, and show devices, utilization and fragmentation
    #[arg(long)]
    explain: bool,
    /// Then serve a web page of the result on this address of this machine, such as 127.0.0.1:0, until the command is interrupted
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    page: Option<SocketAddr>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "table")]
    output: Format,
    /// Feature gates to set, such as A=true,B=false; gates that the manifests need are on by default
    #[arg(long, value_name = "SETTING")]
    feature_gates: Option<String>,
}

/// How many workloads are listed.
const NOTES_MAX: usize = 50;

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
        if !manifests.iter().any(makes_pods) {
            return Err(self.without_pods(&manifests));
        }
        let gates = self.gates(&manifests, complaints)?;
        let scheduler = match &self.config {
            None => None,
            Some(file) => Some(configuration::read(file, gates)?),
        };
        let times = Times { run: self.run_seconds, ..Times::default() };
        let rules = Rules { scheduler: scheduler.as_ref(), times, ..Rules::new(gates) };
        let (ending, aftermath) = if self.explain || self.page.is_some() {
            let (ending, aftermath) = simulate_to_end(manifests, &rules)?;
            (ending, Some(aftermath))
        } else {
            (simulate_by(manifests, &rules)?, None)
        };
        let Ending { outcome, unheeded, troubles, notes, .. } = ending;
        say_notes(&notes, complaints);
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
        let explained = aftermath
            .as_ref()
            .filter(|_| self.explain)
            .map(|aftermath| explained::explained(&outcome, aftermath));
        match self.output {
            Format::Table => {
                out.write_all(table(&outcome).as_bytes())?;
                if let Some(explained) = explained {
                    out.write_all(explained.text().as_bytes())?;
                }
            }
            Format::Json => {
                let text = serde_json::to_string_pretty(&document(&outcome, explained.as_ref())?);
                writeln!(out, "{}", text.map_err(io::Error::from)?)?;
            }
            Format::Yaml => {
                out.write_all(yaml::document(&document(&outcome, explained.as_ref())?).as_bytes())?;
            }
        }
        if let (Some(listen), Some(aftermath)) = (self.page, aftermath) {
            out.flush()?;
            serve(listen, aftermath, &outcome, complaints)?;
        }
        Ok(if outcome.pending() == 0 { ExitCode::SUCCESS } else { ExitCode::from(UNWELCOME) })
    }
}

impl Simulate {
    /// What is said if there is nothing to place.
    fn without_pods(&self, manifests: &[Manifest]) -> Failure {
        // Perhaps one was to be a pod.
        let may_be = |manifest: &&Manifest| manifest.value["kind"].as_str().is_none() || names_pods(manifest);
        for manifest in manifests.iter().filter(may_be) {
            if let Err(what) = kind_of(&manifest.value) {
                return BadInput::at(manifest.place.clone(), what).into();
            }
        }
        let files: Vec<String> = self.files.iter().map(|file| shown(file)).collect();
        Failure::Failed {
            wrong: format!("no pods to place in {}", files.join(", ")),
            hint: format!("add a manifest of kind {}", list(&POD_KINDS)),
        }
    }

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

/// Serves a web page of the result until the command is interrupted.
fn serve(
    listen: SocketAddr,
    aftermath: Aftermath,
    outcome: &Outcome,
    complaints: &mut dyn Write,
) -> Result<(), Failure> {
    let note = |pod: &PodOutcome| {
        let message = pod.reason.as_deref()?;
        let told =
            Told { holds: false, reason: "Unschedulable".into(), message: message.into(), since: None };
        let id = PodId { namespace: pod.namespace.as_str().into(), name: pod.name.as_str().into() };
        Some((id, PodNote { scheduled: Some(told), disrupted: None }))
    };
    let notes = outcome.pods.iter().filter_map(note).collect();
    let (engine, uses) = aftermath.into_parts();
    let observer = Observer::still(engine, uses, Namespaces::All, Namespaces::All, &notes);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let page = page::bind_still(observer, "simulation".to_owned(), listen).await?;
        // Who closed stderr opens no page.
        let _ = writeln!(complaints, "page: {}\nhint: stop with Ctrl-C", page.link());
        page.serve(stopped()).await;
        Ok(())
    })
}

/// A manifest in a message: its kind, its name and its place in the file.
fn named(manifest: &Manifest) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&manifest.value["kind"]), text(&manifest.value["metadata"]["name"]));
    format!("{kind} {name} ({})", manifest.place)
}

/// The answer for programs.
fn document(outcome: &Outcome, explained: Option<&Explained>) -> Result<Value, Failure> {
    let mut document = serde_json::to_value(outcome).map_err(io::Error::from)?;
    if let Some(explained) = explained {
        explained.add_to(&mut document);
    }
    Ok(document)
}

/// Tells how many pods were made for workloads; of very many workloads only the first.
fn say_notes(notes: &[String], complaints: &mut dyn Write) {
    // Whoever closed stderr does not want to know.
    for note in notes.iter().take(NOTES_MAX) {
        let _ = writeln!(complaints, "note: {note}");
    }
    if notes.len() > NOTES_MAX {
        let _ = writeln!(complaints, "note: and pods from {} more workloads", notes.len() - NOTES_MAX);
    }
}

/// Words as a choice.
fn list(words: &[&str]) -> String {
    match words {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        _ => words.concat(),
    }
}

/// A file as it is named to the user.
fn shown(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() }
}

fn without_manifests(what: &str) -> Failure {
    let hint = "a manifest is an object in YAML or JSON with apiVersion and kind; in folders, files ending in .yaml, .yml or .json are \
                read";
    Failure::Failed { wrong: format!("no manifests in {what}"), hint: hint.to_owned() }
}

/// The manifests of a file, of all files of a folder in the order of their names, or of stdin. There is at least one.
pub(crate) fn read_path(path: &Path) -> Result<Vec<Manifest>, Failure> {
    let manifests = read_objects(path)?;
    if manifests.is_empty() { Err(without_manifests(&shown(path))) } else { Ok(manifests) }
}

/// The same if there may be none.
pub(crate) fn read_objects(path: &Path) -> Result<Vec<Manifest>, Failure> {
    let unreadable = |error: io::Error| Failure::hinted(&format!("cannot read {}: {error}", shown(path)));
    let mut manifests = Vec::new();
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(unreadable)?;
        manifests = read("stdin", &text)?;
    } else if path.is_dir() {
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
        for file in files {
            manifests.extend(read_file(&file)?);
        }
    } else {
        manifests = read_file(path)?;
    }
    Ok(manifests)
}

/// The manifests of a file, which may be none.
fn read_file(path: &Path) -> Result<Vec<Manifest>, Failure> {
    let name = path.display().to_string();
    let text =
        fs::read_to_string(path).map_err(|error| Failure::hinted(&format!("cannot read {name}: {error}")))?;
    Ok(read(&name, &text)?)
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
