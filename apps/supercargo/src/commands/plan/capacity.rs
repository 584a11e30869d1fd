//! `supercargo plan capacity`: how many more pods like one would fit, what runs out first, and of which nodes one more would help.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use plan::{Capacity, Extent, NoCapacity, OneMoreNode, Shortage, capacity};
use serde_json::{Value, json};

use super::{Input, no_such_thing, say_all, say_left_out};
use crate::columns::{columns, row};
use crate::failure::{Failure, UNWELCOME};

const EXAMPLES: &str = "\
Examples:
  supercargo plan capacity -f pod.yaml                             how many more pods like this one fit
  supercargo plan capacity -f pod.yaml --with add-node=node-1:10   the same with ten more nodes like node-1
  supercargo plan capacity -f examples/plan/one.yaml --state examples/plan/cluster.yaml -o json

The manifests have one pod and what it needs, such as the template of its claims. Each copy gets claims of its own from templates; a
claim that the pod names is shared by all copies. No pod is preempted, and pods that wait in the cluster are left out.

Exit codes: 0 at least one more fits, 1 the plan cannot be made, 2 usage error, 3 none fits";

/// Tell how many more pods like one would fit, and what runs out first
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct CapacityPlan {
    #[command(flatten)]
    input: Input,
}

/// Up to how many nodes are listed.
const NODES_MAX: usize = 20;

impl CapacityPlan {
    pub(super) fn run(&self, out: &mut dyn Write, complaints: &mut dyn Write) -> Result<ExitCode, Failure> {
        if self.input.files.is_empty() {
            return Err(Failure::Usage {
                wrong: "`plan capacity` needs the manifest of a pod".to_owned(),
                hint: "name it with -f, such as -f pod.yaml".to_owned(),
            });
        }
        let question = self.input.question(complaints)?;
        let found = capacity(question).map_err(refused)?;
        say_all(complaints, &found.notes);
        say_left_out(complaints, found.left_out);
        self.input.write(out, || table(&found), || document(&found))?;
        Ok(if found.count > 0 { ExitCode::SUCCESS } else { ExitCode::from(UNWELCOME) })
    }
}

fn refused(why: NoCapacity) -> Failure {
    match why {
        NoCapacity::Missing(missing) => no_such_thing(missing),
        NoCapacity::NotOnePod(count) => Failure::Failed {
            wrong: format!("the manifests have {count} pods, but capacity is computed for one"),
            hint: "give the manifest of one pod".to_owned(),
        },
        NoCapacity::InGroup(pod) => Failure::Failed {
            wrong: format!("pod {pod} belongs to a pod group, but capacity is computed for single pods"),
            hint: "remove spec.schedulingGroup from the pod, or ask `supercargo plan` about the whole group"
                .to_owned(),
        },
    }
}

/// The first sentence.
fn verdict(found: &Capacity) -> String {
    let at_least = if found.extent == Extent::Bounded { "At least " } else { "" };
    let pod = &found.pod;
    let mut sentence = match found.count {
        0 => format!("No more pods like {pod} fit"),
        1 => format!("{at_least}1 more pod like {pod} fits"),
        count => format!("{at_least}{count} more pods like {pod} fit"),
    };
    if let Some(first) = found.shortages.first().filter(|_| found.count > 0) {
        sentence.push_str(&format!("; what runs out first: {}", first.reason));
    }
    if found.extent == Extent::Bounded {
        sentence.push_str("; the bound of the plan was met before more were tried");
    }
    sentence.push('.');
    sentence
}

fn table(found: &Capacity) -> String {
    let mut parts = vec![format!("{}\n", verdict(found))];
    if !found.nodes.is_empty() {
        let mut rows = vec![row(["NODE", "MORE PODS"])];
        if found.nodes.len() <= NODES_MAX {
            rows.extend(found.nodes.iter().map(|(node, count)| vec![node.to_string(), count.to_string()]));
        } else {
            for group in &found.like {
                let count: usize = group.nodes.iter().filter_map(|node| found.nodes.get(node)).sum();
                let title = super::tables::title(group);
                rows.extend((count > 0).then(|| vec![title, count.to_string()]));
            }
        }
        parts.push(columns(&rows));
    }
    if !found.shortages.is_empty() {
        let mut rows = vec![row(["WHAT RUNS OUT", "NODES"])];
        rows.extend(
            found
                .shortages
                .iter()
                .map(|one| vec![one.reason.clone(), format!("{} of {}", one.nodes, one.of)]),
        );
        parts.push(columns(&rows));
    }
    if !found.more.is_empty() {
        let mut rows = vec![row(["ONE MORE NODE LIKE", "NODES LIKE IT", "MORE PODS"])];
        rows.extend(found.more.iter().map(|one| {
            let at_least = if one.extent == Extent::Bounded { "at least " } else { "" };
            vec![one.like.to_string(), one.nodes.to_string(), format!("{at_least}{}", one.pods)]
        }));
        parts.push(columns(&rows));
    }
    if let Some(refusal) = &found.refusal {
        parts.push(format!("One more would wait: {refusal}\n"));
    }
    parts.join("\n")
}

fn document(found: &Capacity) -> Value {
    let shortage = |one: &Shortage| json!({ "code": one.code, "message": one.reason, "nodes": one.nodes, "ofNodes": one.of });
    let more = |one: &OneMoreNode| {
        json!({
            "like": *one.like, "nodes": one.nodes, "pods": one.pods, "complete": one.extent == Extent::Whole,
        })
    };
    json!({
        "pod": { "namespace": *found.pod.namespace, "name": *found.pod.name },
        "count": found.count,
        "complete": found.extent == Extent::Whole,
        "message": verdict(found),
        "nodes": found.nodes.iter().map(|(node, count)| json!({ "name": **node, "pods": count })).collect::<Vec<_>>(),
        "runsOut": found.shortages.iter().map(shortage).collect::<Vec<_>>(),
        "refusal": found.refusal,
        "oneMoreNode": found.more.iter().map(more).collect::<Vec<_>>(),
        "waitingPodsLeftOut": found.left_out,
        "notes": found.notes,
    })
}
