//! `supercargo explain`: why a pod waits or is where it is, and what would help.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use explain::{Audience, Effort, PodExplanation, RefusedPod, WaitingPod, explain_pod};
use model::pod::PodId;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::state::{Source, State};
use crate::yaml;

const EXAMPLES: &str = "\
Examples:
  supercargo explain trainer                    why the pod trainer waits, in the namespace of the kubeconfig
  supercargo explain pod/trainer -n team-a      the same in namespace team-a
  supercargo explain trainer -o json            the same for programs
  supercargo explain latecomer -n team-b --state examples/devices
  kubectl get nodes,pods,resourceslices,resourceclaims,deviceclasses -A -o yaml | supercargo explain trainer --state -

Whether something fits is decided by the scheduler's own code, on a copy of what it knows; nothing is written. Each change that is
proposed was tried on such a copy. If not everything can be read (stderr says what), the answer is for the part that can be read.";

/// Explain why a pod waits or is where it is, and what would help
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Explain {
    /// The pod: its name, or pod/NAME
    #[arg(value_name = "POD")]
    subject: String,
    /// The namespace of the pod [default: that of the kubeconfig's context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    source: Source,
    /// How to write the answer
    #[arg(short, long, value_enum, default_value = "text")]
    output: Format,
}

/// How explanations are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Sentences for people
    Text,
    /// One JSON object
    Json,
    /// One YAML document
    Yaml,
}

impl Explain {
    pub(crate) fn run(&self, out: &mut dyn Write, complaints: &mut dyn Write) -> Result<(), Failure> {
        let name = self.pod()?;
        let state = self.source.read(self.namespace.as_deref(), complaints)?;
        let namespace = self.namespace.as_deref().unwrap_or(state.namespace());
        let id = PodId { namespace: namespace.into(), name: name.into() };
        // What the caller may not read is not among the facts, so all that is known may be named.
        let told = explain_pod(&state.snapshot(), &id, &Audience::AllNamespaces, Effort::default());
        if let PodExplanation::NotFound(_) = &told {
            return Err(unknown(&told.to_string(), &id, &state));
        }
        match self.output {
            Format::Text => write!(out, "{told}")?,
            Format::Json => {
                let text = serde_json::to_string_pretty(&document(&id, &told)).map_err(io::Error::from)?;
                writeln!(out, "{text}")?;
            }
            Format::Yaml => out.write_all(yaml::document(&document(&id, &told)).as_bytes())?,
        }
        Ok(())
    }

    /// The name of the pod.
    fn pod(&self) -> Result<&str, Failure> {
        match self.subject.split_once('/') {
            None => Ok(&self.subject),
            Some(("pod" | "pods" | "po", name)) => Ok(name),
            Some((kind, _)) => Err(Failure::Usage {
                wrong: format!("objects of kind {kind:?} cannot be explained"),
                hint: "name a pod, as NAME or pod/NAME".to_owned(),
            }),
        }
    }
}

/// A pod that is not there, with the nearest name of its namespace.
fn unknown(why: &str, id: &PodId, state: &State) -> Failure {
    let facts = state.facts();
    let known =
        facts.waiting.values().chain(facts.nodes.pods()).filter(|pod| pod.id.namespace == id.namespace);
    let nearest = model::nearest::nearest(&id.name, known.map(|pod| &*pod.id.name));
    let hint = nearest.filter(|nearest| **nearest != *id.name);
    Failure::Failed {
        wrong: why.trim_end().to_owned(),
        hint: hint.map(|nearest| format!("did you mean `{nearest}`?")).unwrap_or_default(),
    }
}

/// An explanation for programs: codes, and all of it as text. Names of fields and codes stay as they are; new ones may come.
fn document(id: &PodId, told: &PodExplanation) -> Value {
    let text = told.to_string();
    let first = text.lines().next().unwrap_or_default();
    let mut document = json!({
        "pod": { "namespace": *id.namespace, "name": *id.name },
        "verdict": verdict(told),
        "message": first,
        "text": text,
    });
    match told {
        PodExplanation::Placed { node, .. } | PodExplanation::Waiting(WaitingPod::Fits { node, .. }) => {
            document["nodeName"] = json!(**node);
        }
        PodExplanation::Gated { gates, .. } => {
            document["schedulingGates"] = gates.iter().map(|gate| json!(**gate)).collect();
        }
        PodExplanation::Waiting(WaitingPod::Refused(refused)) => refusal(refused, &mut document),
        PodExplanation::Waiting(WaitingPod::Undecided { .. }) | PodExplanation::NotFound(_) => {}
    }
    document
}

fn verdict(told: &PodExplanation) -> &'static str {
    match told {
        PodExplanation::NotFound(_) => "NotFound",
        PodExplanation::Gated { .. } => "Gated",
        PodExplanation::Placed { .. } => "Placed",
        PodExplanation::Waiting(WaitingPod::Fits { .. }) => "Fits",
        PodExplanation::Waiting(WaitingPod::Undecided { .. }) => "Undecided",
        PodExplanation::Waiting(WaitingPod::Refused(_)) => "Unschedulable",
    }
}

/// Why a pod has no place, by codes.
fn refusal(refused: &RefusedPod, document: &mut Value) {
    document["message"] = json!(refused.message());
    document["codes"] = json!(refused.codes());
    let groups = refused.groups.iter().map(|group| {
        let codes: Vec<&str> = group.reasons.iter().map(|reason| reason.code()).collect();
        let examples: Vec<&str> = group.examples.iter().map(|node| &**node).collect();
        json!({ "count": group.count, "codes": codes, "examples": examples })
    });
    document["nodes"] = groups.collect();
    if let Some(nearest) = &refused.nearest {
        document["nearestNode"] = json!(*nearest.node);
    }
    document["conflict"] =
        refused.conflict.constraints.iter().map(|one| json!({ "code": one.code() })).collect();
    let remedies = refused.remedies.remedies.iter();
    let codes =
        remedies.map(|remedy| remedy.edits.iter().map(|edit| json!({ "code": edit.code() })).collect());
    document["remedies"] = Value::Array(codes.collect::<Vec<Value>>());
}
