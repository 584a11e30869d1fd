//! `supercargo explain`: why a pod, a group of pods or a claim waits or is where it is, and what would help.

mod json;

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use cluster::groups::Root;
use explain::{
    Audience, ClaimExplanation, Effort, GroupExplanation, PodExplanation, explain_claim, explain_group,
    explain_pod,
};
use model::claim::ClaimId;
use model::group::GroupId;
use model::pod::PodId;
use model::workload::WorkloadId;
use serde_json::Value;

use crate::failure::Failure;
use crate::state::{Source, State};
use crate::yaml;

const EXAMPLES: &str = "\
Examples:
  supercargo explain trainer                    why the pod trainer waits, in the namespace of the kubeconfig
  supercargo explain pod/trainer -n team-a      the same in namespace team-a
  supercargo explain podgroup/workers           why the pods of a PodGroup wait
  supercargo explain claim/gpus                 the devices of a ResourceClaim, and what it waits for
  supercargo explain trainer -o json            the same for programs
  supercargo explain latecomer -n team-b --state examples/devices
  kubectl get nodes,pods,resourceslices,resourceclaims,deviceclasses -A -o yaml | supercargo explain trainer --state -

Whether something fits is decided by the scheduler's own code, on a copy of what it knows; nothing is written. Each change that is
proposed was tried on such a copy. If not everything can be read (stderr says what), the answer is for the part that can be read.";

/// Explain why a pod, a pod group or a claim waits, and what would help
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Explain {
    /// The name of a pod, or KIND/NAME with one of the kinds pod, claim, podgroup, compositepodgroup and workload
    #[arg(value_name = "POD|KIND/NAME", value_parser = Subject::parse)]
    subject: Subject,
    /// The namespace of the object [default: that of the kubeconfig's context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    source: Source,
    /// How to write the answer
    #[arg(short, long, value_enum, default_value = "text")]
    output: Format,
}

/// What is to be explained, by its name.
#[derive(Clone, Debug)]
enum Subject {
    Pod(String),
    Claim(String),
    PodGroup(String),
    CompositePodGroup(String),
    Workload(String),
}

/// What is said of it.
enum Told {
    Pod(PodId, PodExplanation),
    Claim(ClaimId, ClaimExplanation),
    /// Of one group, or of all groups of a workload.
    Groups(Vec<GroupExplanation>),
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

impl Subject {
    fn parse(text: &str) -> Result<Subject, String> {
        let (kind, name) = text.split_once('/').unwrap_or(("pod", text));
        let name = name.to_owned();
        match kind {
            "pod" | "pods" | "po" => Ok(Subject::Pod(name)),
            "claim" | "resourceclaim" | "resourceclaims" => Ok(Subject::Claim(name)),
            "podgroup" | "podgroups" => Ok(Subject::PodGroup(name)),
            "compositepodgroup" | "compositepodgroups" => Ok(Subject::CompositePodGroup(name)),
            "workload" | "workloads" => Ok(Subject::Workload(name)),
            other => Err(format!(
                "{other:?} is none of the kinds pod, claim, podgroup, compositepodgroup and workload"
            )),
        }
    }
}

impl Explain {
    pub(crate) fn run(&self, out: &mut dyn Write, complaints: &mut dyn Write) -> Result<(), Failure> {
        let state = self.source.read(self.namespace.as_deref(), complaints)?;
        let told = self.explain(&state)?;
        match self.output {
            Format::Text => write!(out, "{}", told.text())?,
            Format::Json => {
                let text = serde_json::to_string_pretty(&told.document()).map_err(io::Error::from)?;
                writeln!(out, "{text}")?;
            }
            Format::Yaml => out.write_all(yaml::document(&told.document()).as_bytes())?,
        }
        Ok(())
    }

    /// Explains the object.
    fn explain(&self, state: &State) -> Result<Told, Failure> {
        let namespace = self.namespace.as_deref().unwrap_or(state.namespace());
        let (snapshot, effort) = (state.snapshot(), Effort::default());
        // What the caller may not read is not among the facts, so all that is known may be named.
        let audience = Audience::AllNamespaces;
        let group = |root: &Root| match explain_group(&snapshot, root, &audience, effort) {
            missing @ GroupExplanation::NotFound(_) => Err(unknown(&missing.to_string(), None)),
            told => Ok(told),
        };
        let group_id = |name: &str| GroupId { namespace: namespace.into(), name: name.into() };
        let groups = &state.facts().groups;
        match &self.subject {
            Subject::Pod(name) => {
                let id = PodId { namespace: namespace.into(), name: name.as_str().into() };
                match explain_pod(&snapshot, &id, &audience, effort) {
                    missing @ PodExplanation::NotFound(_) => {
                        Err(unknown(&missing.to_string(), nearest_pod(&id, state)))
                    }
                    told => Ok(Told::Pod(id, told)),
                }
            }
            Subject::Claim(name) => {
                let id = ClaimId { namespace: namespace.into(), name: name.as_str().into() };
                match explain_claim(&snapshot, &id, &audience) {
                    ClaimExplanation::Found(mut found) => {
                        // Facts keep the time only where a deadline is counted from it.
                        found.since = found.since.or(state.allocated_at(&id));
                        Ok(Told::Claim(id, ClaimExplanation::Found(found)))
                    }
                    missing @ ClaimExplanation::NotFound(_) => {
                        Err(unknown(&missing.to_string(), state.nearest_claim(&id)))
                    }
                }
            }
            // The pods of a group that belongs to a tree are placed with the tree.
            Subject::PodGroup(name) => {
                group(&groups.root_or_self(&group_id(name))).map(|told| Told::Groups(vec![told]))
            }
            Subject::CompositePodGroup(name) => {
                group(&Root::Composite(group_id(name))).map(|told| Told::Groups(vec![told]))
            }
            Subject::Workload(name) => {
                let id = WorkloadId { namespace: namespace.into(), name: name.as_str().into() };
                let Some(all) = groups.of_workload(&id) else {
                    return Err(unknown(&format!("workload {namespace}/{name} is not known"), None));
                };
                let told: Result<Vec<_>, _> = all.iter().map(|id| group(&Root::Group(id.clone()))).collect();
                told.map(Told::Groups)
            }
        }
    }
}

impl Told {
    fn text(&self) -> String {
        match self {
            Told::Pod(_, told) => told.to_string(),
            Told::Claim(_, told) => told.to_string(),
            Told::Groups(all) => all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        }
    }

    fn document(&self) -> Value {
        match self {
            Told::Pod(id, told) => json::pod(id, told),
            Told::Claim(id, told) => json::claim(id, told),
            Told::Groups(all) => {
                serde_json::json!({ "groups": all.iter().map(json::group).collect::<Vec<_>>() })
            }
        }
    }
}

/// The pod of the namespace whose name is nearest.
fn nearest_pod<'s>(id: &PodId, state: &'s State) -> Option<&'s str> {
    let facts = state.facts();
    let known = facts.waiting.values().chain(facts.nodes.pods());
    let known = known.filter(|pod| pod.id.namespace == id.namespace).map(|pod| &*pod.id.name);
    model::nearest::nearest(&id.name, known).filter(|nearest| *nearest != &*id.name)
}

/// An object that is not there, with the nearest name that is.
fn unknown(why: &str, nearest: Option<&str>) -> Failure {
    let hint = nearest.map(|nearest| format!("did you mean `{nearest}`?")).unwrap_or_default();
    Failure::Failed { wrong: why.trim_end().to_owned(), hint }
}
