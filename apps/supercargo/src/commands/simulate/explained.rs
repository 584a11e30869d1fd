//! What `supercargo simulate --explain` adds: why pods wait, and what became of the devices.
//!
//! Invariant: an explanation is what `supercargo explain` says of the same pod in the cluster as the simulation left it.

use std::collections::BTreeSet;

use cluster::facts::Facts;
use explain::{Audience, Effort, Explanation, PodExplanation, Subject, explain};
use inventory::devices::{Inventory, inventory};
use inventory::domains::{Domain, levels, root};
use inventory::observed::{Namespaces, Observed};
use model::pod::{Pod, PodId};
use scheduling::explanation::to_json;
use serde_json::{Value, json};
use simulation::{Aftermath, Outcome};

use crate::commands::{devices, topology};

/// How many explanations are printed: each tries many changes, and hundreds are too many to read.
const EXPLANATIONS_MAX: usize = 20;

/// How many pods like an explained one are named.
const ALIKE_MAX: usize = 5;

/// Everything that there is to add.
pub(super) struct Explained {
    pods: Vec<ExplainedPod>,
    /// How many more pods wait, whose explanations would be too many.
    more: usize,
    inventory: Inventory,
    levels: Vec<std::sync::Arc<str>>,
    domains: Domain,
}

/// A pod that waits, and others that ask for the same.
struct ExplainedPod {
    pod: PodId,
    told: Explanation,
    alike: Vec<PodId>,
}

/// Explains the result of a simulation.
pub(super) fn explained(outcome: &Outcome, aftermath: &Aftermath) -> Explained {
    let snapshot = aftermath.snapshot();
    let facts = &snapshot.facts;
    let waits = outcome.pods.iter().filter(|pod| pod.reason.is_some());
    let waiting: BTreeSet<PodId> = waits
        .map(|pod| PodId { namespace: pod.namespace.as_str().into(), name: pod.name.as_str().into() })
        .collect();
    let mut pods: Vec<(ExplainedPod, &Pod)> = Vec::new();
    let mut more = 0;
    let mut all: Vec<&Pod> =
        facts.waiting.values().map(AsRef::as_ref).filter(|pod| waiting.contains(&pod.id)).collect();
    all.sort_by(|one, other| one.id.cmp(&other.id));
    for pod in all {
        if let Some((like, _)) = pods.iter_mut().find(|(_, first)| are_alike(facts, first, pod)) {
            like.alike.push(pod.id.clone());
        } else if pods.len() < EXPLANATIONS_MAX {
            let told = explain(
                &snapshot,
                &Subject::Pod(pod.id.clone()),
                &Audience::AllNamespaces,
                Effort::default(),
            );
            // Of pods of which the scheduler knows nothing yet there is no more to say than their reason.
            if !matches!(&told, Explanation::Pod(pod) if matches!(**pod, PodExplanation::NotFound(_))) {
                pods.push((ExplainedPod { pod: pod.id.clone(), told, alike: Vec::new() }, pod));
            }
        } else {
            more += 1;
        }
    }
    let observed =
        Observed { facts, uses: aftermath.uses(), claims: &Namespaces::All, named: &Namespaces::All };
    let inventory = inventory(&observed);
    let levels = levels(facts);
    let domains = root(&observed, &inventory.devices, &levels);
    let pods = pods.into_iter().map(|(one, _)| one).collect();
    Explained { pods, more, inventory, levels, domains }
}

/// Whether two pods wait for the same, so that one explanation will do.
fn are_alike(facts: &Facts, one: &Pod, other: &Pod) -> bool {
    if one.group.is_some() {
        // Pods of a group are explained with it.
        return one.group == other.group && one.id.namespace == other.id.namespace;
    }
    let claims = |pod: &Pod| {
        let state = |id| facts.claims.get(&id).map(|state| state.wish.spec.clone());
        pod.claims.iter().map(|claim| pod.claim_id(claim).and_then(state)).collect::<Vec<_>>()
    };
    other.group.is_none()
        && one.shape == other.shape
        && (one.priority, one.preempts, &one.gates) == (other.priority, other.preempts, &other.gates)
        && claims(one) == claims(other)
}

impl Explained {
    /// Explanations one below the other, then tables of devices and domains.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for ExplainedPod { pod, told, alike } in &self.pods {
            text.push_str(&format!("\npod {pod} waits:\n"));
            for line in told.to_string().trim_end().lines() {
                text.push_str(if line.is_empty() { "" } else { "  " });
                text.push_str(line);
                text.push('\n');
            }
            text.push_str(&others(alike));
        }
        if self.more > 0 {
            text.push_str(&format!(
                "\n{} more pods wait; the first {EXPLANATIONS_MAX} kinds of pods are explained\n",
                self.more
            ));
        }
        text.push('\n');
        text.push_str(&devices::tables(&self.inventory, false));
        text.push('\n');
        text.push_str(&topology::table(&self.domains));
        text.push('\n');
        for (driver, tally) in &self.domains.by_driver {
            let percent = (100 * tally.allocated + tally.devices / 2) / tally.devices.max(1);
            let fragmented = tally.fragmentation().map(|percent| format!(", fragmentation {percent}%"));
            text.push_str(&format!(
                "{driver}: {} of {} devices allocated ({percent}%), {} free{}\n",
                tally.allocated,
                tally.devices,
                tally.free,
                fragmented.unwrap_or_default(),
            ));
        }
        text
    }

    /// The same for programs, as fields next to those of the outcome.
    pub(super) fn add_to(&self, document: &mut Value) {
        let of_pod = |one: &ExplainedPod| {
            let mut told = to_json(&one.told);
            told["text"] = one.told.to_string().into();
            json!({
                "pod": one.pod.to_string(),
                "explanation": told,
                "alike": one.alike.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })
        };
        document["explanations"] = self.pods.iter().map(of_pod).collect();
        document["unexplained"] = self.more.into();
        document["inventory"] = views::devices::document(&self.inventory);
        document["topology"] = views::domains::document(&self.levels, &self.domains);
    }
}

/// Other pods that wait for the same.
fn others(alike: &[PodId]) -> String {
    if alike.is_empty() {
        return String::new();
    }
    let named: Vec<String> = alike.iter().take(ALIKE_MAX).map(ToString::to_string).collect();
    let more = alike.len().saturating_sub(ALIKE_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let pods = if alike.len() == 1 { "pod asks" } else { "pods ask" };
    format!("  {} more {pods} for the same: {}{more}\n", alike.len(), named.join(", "))
}
