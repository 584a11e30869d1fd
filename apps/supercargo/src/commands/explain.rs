//! `supercargo explain`: why a pod, a group of pods or a claim waits or is where it is, and what would help.

use std::collections::BTreeSet;
use std::io::{self, Write};

use clap::{Args, ValueEnum};
use explain::{
    Audience, ClaimExplanation, Effort, Explanation, GroupExplanation, PodExplanation, Subject, explain,
};
use model::claim::ClaimId;
use model::group::GroupId;
use model::pod::PodId;
use model::workload::WorkloadId;
use scheduling::explanation::to_json;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::state::{Source, State, Unread};
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
    /// Name of a pod, or KIND/NAME where KIND is pod, claim, podgroup, compositepodgroup or workload
    #[arg(value_name = "POD|KIND/NAME", value_parser = Target::parse)]
    object: Target,
    /// Namespace of the object [default: namespace of the kubeconfig context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    source: Source,
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    output: Format,
}

/// What is to be explained, by its kind and name.
#[derive(Clone, Debug)]
struct Target {
    kind: Kind,
    name: String,
}

/// The kinds of objects that can be explained.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Pod,
    Claim,
    Group,
    Workload,
}

/// How explanations are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Plain text
    Text,
    /// One JSON object
    Json,
    /// One YAML document
    Yaml,
}

impl Target {
    fn parse(text: &str) -> Result<Target, String> {
        let (kind, name) = text.split_once('/').unwrap_or(("pod", text));
        let kind = match kind {
            "pod" | "pods" | "po" => Kind::Pod,
            "claim" | "resourceclaim" | "resourceclaims" => Kind::Claim,
            "podgroup" | "podgroups" | "compositepodgroup" | "compositepodgroups" => Kind::Group,
            "workload" | "workloads" => Kind::Workload,
            other => {
                let kinds = "pod, claim, podgroup, compositepodgroup or workload";
                return Err(format!("{other:?} is not a kind that can be explained; hint: use {kinds}"));
            }
        };
        Ok(Target { kind, name: name.to_owned() })
    }

    /// The object in a namespace.
    fn within(&self, namespace: &str) -> Subject {
        let (namespace, name) = (namespace.into(), self.name.as_str());
        match self.kind {
            Kind::Pod => Subject::Pod(PodId { namespace, name: name.into() }),
            Kind::Claim => Subject::Claim(ClaimId { namespace, name: name.into() }),
            Kind::Group => Subject::Group(GroupId { namespace, name: name.into() }),
            Kind::Workload => Subject::Workload(WorkloadId { namespace, name: name.into() }),
        }
    }
}

impl Explain {
    pub(crate) fn run(&self, out: &mut dyn Write, complaints: &mut dyn Write) -> Result<(), Failure> {
        let state = self.source.read(self.namespace.as_deref(), complaints)?;
        let subject = self.object.within(self.namespace.as_deref().unwrap_or(state.namespace()));
        // What the caller may not read is not among the facts, so all that is known may be named.
        let told = explain(&state.snapshot(), &subject, &Audience::AllNamespaces, Effort::default());
        let told = self.found(&subject, told, &state)?;
        let (text, document) = of_what_was_read(&subject, &told, state.unread())?;
        match self.output {
            Format::Text => write!(out, "{text}")?,
            Format::Json => {
                let text = serde_json::to_string_pretty(&document).map_err(io::Error::from)?;
                writeln!(out, "{text}")?;
            }
            Format::Yaml => out.write_all(yaml::document(&document).as_bytes())?,
        }
        Ok(())
    }

    /// What is said of an object that is there, with what its claim says of itself.
    fn found(&self, subject: &Subject, told: Explanation, state: &State) -> Result<Explanation, Failure> {
        let nearest = match (subject, &told) {
            (Subject::Pod(id), Explanation::Pod(pod)) if matches!(**pod, PodExplanation::NotFound(_)) => {
                if let Some(aside) = self.source.aside(id, state)? {
                    return Err(aside.into());
                }
                nearest_pod(id, state)
            }
            (Subject::Claim(id), Explanation::Claim(ClaimExplanation::NotFound(_))) => {
                state.nearest_claim(id)
            }
            (_, Explanation::Group(GroupExplanation::NotFound(_))) => None,
            (_, Explanation::Workload(_, groups)) if groups.is_empty() => None,
            (Subject::Claim(id), _) => return Ok(with_time(id, told, state)),
            _ => return Ok(told),
        };
        let hint = match nearest {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => elsewhere(subject, state),
        };
        Err(Failure::Failed { wrong: told.to_string().trim_end().to_owned(), hint })
    }
}

/// An explanation as text, and for programs: codes and figures, and all of it as text. If not everything could be read, first what the
/// scheduler wrote to the pod, since it knows the whole cluster.
fn of_what_was_read(
    subject: &Subject,
    told: &Explanation,
    unread: &Unread,
) -> Result<(String, Value), Failure> {
    let (mut text, mut document) = (told.to_string(), to_json(told));
    if !unread.kinds().is_empty() {
        document["notListed"] = json!(unread.kinds());
        if let (Subject::Pod(id), true) = (subject, is_verdict(told)) {
            let written = unread.message(id);
            text = match (written, unread.nodes()) {
                (None, Some(why)) => {
                    return Err(Failure::Failed {
                        wrong: format!("cannot explain pod {id} without nodes: {why}"),
                        hint: "ask for permission to list nodes, resourceslices and deviceclasses".to_owned(),
                    });
                }
                (Some(written), Some(_)) => {
                    document = json!({
                        "kind": "Pod", "namespace": &*id.namespace, "name": &*id.name, "state": "Waiting",
                        "message": written, "notListed": unread.kinds(),
                    });
                    let rest = "nodes cannot be listed, so there is no more to say";
                    format!("{written}\npod {id} waits: this is the message of its condition; {rest}\n")
                }
                (Some(written), None) if text.lines().next() != Some(written) => {
                    let first = format!("{written}\npod {id} waits: this is the message of its condition");
                    format!("{first}\n\nonly by the objects that can be listed:\n{text}")
                }
                (None, None) if text.lines().count() == 1 => {
                    format!("only by the objects that can be listed:\n{text}")
                }
                _ => text,
            };
            document["condition"] = json!(written);
        }
    }
    document["text"] = text.as_str().into();
    Ok((text, document))
}

/// Whether it says what the scheduler decides about a pod.
fn is_verdict(told: &Explanation) -> bool {
    let Explanation::Pod(pod) = told else { return false };
    matches!(**pod, PodExplanation::Waiting(_) | PodExplanation::WaitingInGroup { .. })
}

/// A claim with the time of its allocation. Facts keep that only where a deadline is counted from it.
fn with_time(id: &ClaimId, told: Explanation, state: &State) -> Explanation {
    match told {
        Explanation::Claim(ClaimExplanation::Found(mut claim)) => {
            claim.since = claim.since.or(state.allocated_at(id));
            Explanation::Claim(ClaimExplanation::Found(claim))
        }
        other => other,
    }
}

/// The namespaces that have an object of the name, as a hint.
fn elsewhere(subject: &Subject, state: &State) -> String {
    let facts = state.facts();
    let namespaces: BTreeSet<&str> = match subject {
        Subject::Pod(id) => {
            let pods = facts.waiting.values().chain(facts.nodes.pods());
            pods.filter(|pod| pod.id.name == id.name).map(|pod| &*pod.id.namespace).collect()
        }
        Subject::Claim(id) => state.namespaces_of_claim(&id.name).collect(),
        Subject::Group(_) | Subject::Workload(_) => BTreeSet::new(),
    };
    match namespaces.first() {
        Some(namespace) => format!("namespace {namespace} has one of this name: use -n {namespace}"),
        None => "check the name, and the namespace with -n".to_owned(),
    }
}

/// The pod of the namespace whose name is nearest.
fn nearest_pod<'s>(id: &PodId, state: &'s State) -> Option<&'s str> {
    let facts = state.facts();
    let known = facts.waiting.values().chain(facts.nodes.pods());
    let known = known.filter(|pod| pod.id.namespace == id.namespace).map(|pod| &*pod.id.name);
    model::nearest::near(&id.name, known).filter(|nearest| *nearest != &*id.name)
}
