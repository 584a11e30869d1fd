//! `supercargo plan`: whether pods would fit, where, and what would be preempted for them, before anything is made.

mod capacity;
mod defragment;
pub(crate) mod json;
mod tables;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use plan::{Alteration, NoSuchThing, PlanQuestion, WORK_MAX, plan};
use serde_json::{Value, json};
use simulation::{Manifest, make, namespace_of, needed_gates};

use crate::commands::simulate::read_path;
use crate::failure::{Failure, UNWELCOME, advice};
use crate::state::{Source, State};
use crate::yaml;

const EXAMPLES: &str = "\
Examples:
  supercargo plan -f pods.yaml                                    show whether and where these pods would fit
  supercargo plan -f pods.yaml --with add-node=node-1:2           with two more nodes like node-1
  supercargo plan -f pods.yaml --with 'attach=4×a100@rack-1'      with four more devices of model a100 in rack-1
  supercargo plan --with drain=node-1                             show where the pods of node-1 would go
  supercargo plan -f pods.yaml --with priority=trainer=high --with without=default/old
  supercargo plan -f examples/plan/pods.yaml --state examples/plan/cluster.yaml
  supercargo plan capacity -f pod.yaml                            count how many more of these pods fit
  supercargo plan defragment -f gang.yaml                         find the fewest moves of pods that make these fit

The scheduler's own code decides, on a copy of the state; nothing is written. Pods that wait in the cluster take part in the order of the
scheduler's queue. As in `supercargo simulate`, claims are created from templates, and pods for Deployments, StatefulSets, DaemonSets
(on the nodes that there are, without those of add-node), Jobs and CronJobs.

Values of --with:
  drain=NODE                 no new pods on NODE, and its pods are rescheduled; pods of DaemonSets stay
  add-node=NODE[:COUNT]      COUNT more nodes like NODE, with devices like its own, without pods
  attach=COUNT×MODEL@DOMAIN  COUNT more devices; MODEL is a DeviceClass or the value of an attribute, DOMAIN a node, a label
                             with its value, or a value that nodes have for one label; x works like ×
  gate=NAME=true|false       a feature gate of the cluster
  priority=POD=VALUE         VALUE is a number or a PriorityClass
  without=POD                POD does not exist

Exit codes: 0 every pod fits, 1 the plan cannot be made, 2 usage error, 3 a pod does not fit";

/// Check whether and where pods would fit in a cluster, and which pods would be preempted for them
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Plan {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    input: Input,
}

/// What else can be planned.
#[derive(Debug, Subcommand)]
enum Action {
    Capacity(capacity::CapacityPlan),
    Defragment(defragment::DefragmentPlan),
}

/// What is asked, and of which cluster.
#[derive(Args, Debug)]
struct Input {
    /// Manifests in YAML or JSON; a folder of files, or - for stdin
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Something that is to be otherwise; may be given several times
    #[arg(long, value_name = "CHANGE", value_parser = Alteration::parse)]
    with: Vec<Alteration>,
    /// The namespace of manifests and pods that name none [default: that of the kubeconfig's context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    source: Source,
    /// How to write the answer
    #[arg(short, long, value_enum, default_value = "table")]
    output: Format,
}

/// How plans are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Sentences and tables for people
    Table,
    /// One JSON object
    Json,
    /// One YAML document
    Yaml,
}

impl Plan {
    /// Writes the plan to `out`, and to `complaints` what it does not take into account.
    pub(crate) fn run(&self, out: &mut dyn Write, complaints: &mut dyn Write) -> Result<ExitCode, Failure> {
        match &self.action {
            Some(Action::Capacity(capacity)) => return capacity.run(out, complaints),
            Some(Action::Defragment(defragment)) => return defragment.run(out, complaints),
            None => {}
        }
        let input = &self.input;
        if input.files.is_empty() && input.with.is_empty() {
            return Err(Failure::Usage {
                wrong: "there is nothing to plan".to_owned(),
                hint: "name manifests with -f, or a change with --with, such as --with drain=node-1"
                    .to_owned(),
            });
        }
        let question = input.question(complaints)?;
        let facts = question.snapshot.facts.clone();
        let plan = plan(question).map_err(no_such_thing)?;
        say_all(complaints, &plan.notes);
        input.write(out, || tables::plan(&plan, &facts), || json::plan(&plan))?;
        Ok(if plan.fits() { ExitCode::SUCCESS } else { ExitCode::from(UNWELCOME) })
    }
}

impl Input {
    /// The question to the scheduler. What is ignored is reported to `complaints`.
    fn question(&self, complaints: &mut dyn Write) -> Result<PlanQuestion, Failure> {
        let manifests = self.manifests()?;
        let used = needed_gates(&manifests).into_keys().collect();
        let features = features(&self.with);
        let state = self.source.read_for_manifests(self.namespace.as_deref(), &features, used, complaints)?;
        self.check_namespace(&manifests, &state)?;
        question(manifests, &self.with, &state, complaints)
    }

    /// Fails if the namespace that was named is not there, as far as namespaces are known.
    fn check_namespace(&self, manifests: &[Manifest], state: &State) -> Result<(), Failure> {
        let Some(wanted) = self.namespace.as_deref() else { return Ok(()) };
        let made = manifests.iter().map(|manifest| &manifest.value);
        let namespaces = state.around().iter().chain(made).filter(|object| object["kind"] == "Namespace");
        let known: BTreeSet<&str> =
            namespaces.filter_map(|object| object["metadata"]["name"].as_str()).collect();
        // A saved state may have none of them, and so may a caller who cannot list them.
        let are_known = state.around().iter().any(|object| object["kind"] == "Namespace");
        if !are_known || known.contains(wanted) {
            return Ok(());
        }
        let hint = advice(wanted, known.iter().copied());
        Err(Failure::Failed { wrong: format!("namespace {wanted} does not exist"), hint })
    }

    fn manifests(&self) -> Result<Vec<Manifest>, Failure> {
        let stdin = self.files.iter().filter(|file| *file == Path::new("-")).count();
        if stdin > 1 || stdin == 1 && self.source.reads_stdin() {
            return Err(Failure::Usage {
                wrong: "stdin can be read once only".to_owned(),
                hint: "give - to one of -f and --state".to_owned(),
            });
        }
        let mut manifests = Vec::new();
        for file in &self.files {
            manifests.extend(read_path(file)?);
        }
        Ok(manifests)
    }

    /// Writes an answer in the form that is wanted.
    fn write(
        &self,
        out: &mut dyn Write,
        table: impl FnOnce() -> String,
        document: impl FnOnce() -> Value,
    ) -> Result<(), Failure> {
        match self.output {
            Format::Table => out.write_all(table().as_bytes())?,
            Format::Json => {
                let text = serde_json::to_string_pretty(&document()).map_err(io::Error::from)?;
                writeln!(out, "{text}")?;
            }
            Format::Yaml => out.write_all(yaml::document(&document()).as_bytes())?,
        }
        Ok(())
    }
}

/// The features that changes set.
pub(crate) fn features(with: &[Alteration]) -> Vec<String> {
    let features = with.iter().filter_map(|one| match one {
        Alteration::Gate(setting) => Some(setting.clone()),
        _ => None,
    });
    features.collect()
}

/// The question what would become of the pods of manifests in a state. What is ignored is reported to `complaints`.
pub(crate) fn question(
    manifests: Vec<Manifest>,
    with: &[Alteration],
    state: &State,
    complaints: &mut dyn Write,
) -> Result<PlanQuestion, Failure> {
    if let Some(why) = state.unread().nodes() {
        return Err(Failure::Failed {
            wrong: format!("cannot plan without nodes: {why}"),
            hint: "ask for permission to list nodes, resourceslices and deviceclasses".to_owned(),
        });
    }
    if ["pods", "resourceclaims"].iter().any(|plural| state.unread().kinds().contains(plural)) {
        let text =
            "pods and claims that cannot be listed are left out, so that less may fit than is said here";
        say(complaints, "warning", text);
    }
    let has_manifests = !manifests.is_empty();
    let made = made(manifests, state)?;
    for trouble in &made.troubles {
        say(complaints, "warning", trouble);
    }
    for kind in &made.unheeded {
        say(
            complaints,
            "warning",
            &format!("ignored objects of kind {kind}; add their pods to the manifests to plan for them"),
        );
    }
    let has_pods = made.changes.iter().any(|one| matches!(one, cluster::change::Change::PodApplied(_)));
    if has_manifests && !has_pods {
        return Err(Failure::Failed {
            wrong: "the manifests have no pods".to_owned(),
            hint: "a plan is about pods: add a Pod, or a Job whose pods are made".to_owned(),
        });
    }
    Ok(PlanQuestion {
        snapshot: state.snapshot(),
        arrivals: made.changes,
        alterations: with.to_vec(),
        namespace: state.namespace().to_owned(),
        priorities: made.priorities,
        stays: state.of_nodes().clone(),
        work_max: WORK_MAX,
    })
}

/// What the cluster makes of the manifests.
fn made(mut manifests: Vec<Manifest>, state: &State) -> Result<simulation::Made, Failure> {
    for manifest in &mut manifests {
        let object = &mut manifest.value;
        let is_open = object["metadata"]["namespace"].as_str().is_none_or(str::is_empty);
        let is_namespaced =
            simulation::kind_of(object).is_ok_and(|kind| !namespace_of(kind, object).is_empty());
        if is_open && is_namespaced {
            object["metadata"]["namespace"] = json!(state.namespace());
        }
    }
    let mut around = state.around().to_vec();
    if manifests.iter().any(|manifest| manifest.value["kind"] == "DaemonSet") {
        around.extend(state.nodes());
    }
    make(manifests, &around, state.gates()).map_err(|bad| Failure::hinted(&bad.to_string()))
}

pub(crate) fn no_such_thing(missing: NoSuchThing) -> Failure {
    let hint = missing.nearest.map(|nearest| format!("did you mean `{nearest}`?")).unwrap_or_default();
    Failure::Failed { wrong: missing.wrong, hint }
}

/// Tells that pods of the cluster are not part of a plan.
fn say_left_out(complaints: &mut dyn Write, count: usize) {
    match count {
        0 => {}
        1 => say(complaints, "note", "1 pod that waits in the cluster is left out"),
        count => say(complaints, "note", &format!("{count} pods that wait in the cluster are left out")),
    }
}

fn say_all(complaints: &mut dyn Write, notes: &[String]) {
    notes.iter().for_each(|note| say(complaints, "note", note));
}

fn say(complaints: &mut dyn Write, what: &str, text: &str) {
    // A caller that closed stderr reads no notes.
    let _ = writeln!(complaints, "{what}: {text}");
}
