//! `supercargo plan defragment`: which pods would have to move so that there is a place for others, or for a whole device.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use plan::{Defragmentation, Extent, Goal, Move, NoMoves, defragment};
use serde_json::{Value, json};

use super::{Input, no_such_thing, say_all, say_left_out};
use crate::columns::{columns, row};
use crate::failure::{Failure, UNWELCOME};

const EXAMPLES: &str = "\
Examples:
  supercargo plan defragment -f gang.yaml             find the fewest moves that make these pods fit
  supercargo plan defragment -f gang.yaml --moves 3   no more than three moves
  supercargo plan defragment --for-largest-partition  find the fewest moves that free one of the largest partitions
  supercargo plan defragment -f examples/plan/large.yaml --state examples/plan/cluster.yaml

Nothing is moved. The scheduler has tried the moves on a copy of the cluster: it removes the pods, places the others, and finds new nodes for
the removed pods. The moves respect PodDisruptionBudgets, and pods of DaemonSets stay. To carry out a move, cordon the node and evict the
pod; its controller creates it again. Pods that wait in the cluster are ignored.

Exit codes: 0 there is a place, with these moves or without any, 1 the plan cannot be made, 2 usage error, 3 no moves were found";

/// Find the fewest moves of pods that make others fit; nothing is moved
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DefragmentPlan {
    /// How many pods may move at the most
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    moves: u32,
    /// Free one of the largest partitions of devices that share counters
    #[arg(long)]
    for_largest_partition: bool,
    #[command(flatten)]
    input: Input,
}

impl DefragmentPlan {
    pub(super) fn run(&self, out: &mut dyn Write, complaints: &mut dyn Write) -> Result<ExitCode, Failure> {
        let goal = match (self.for_largest_partition, self.input.files.is_empty()) {
            (true, true) => Goal::LargestPartition,
            (false, false) => Goal::Pods,
            _ => {
                return Err(Failure::Usage {
                    wrong: "`plan defragment` needs either manifests or --for-largest-partition".to_owned(),
                    hint: "name the pods that are to fit, such as -f gang.yaml".to_owned(),
                });
            }
        };
        let question = self.input.question(complaints)?;
        let found = defragment(question, goal, self.moves as usize).map_err(refused)?;
        say_all(complaints, &found.notes);
        say_left_out(complaints, found.left_out);
        let told = || verdict(&found, goal, self.moves);
        self.input.write(out, || table(&found, &told()), || document(&found, &told()))?;
        Ok(if found.moves.is_some() { ExitCode::SUCCESS } else { ExitCode::from(UNWELCOME) })
    }
}

fn refused(why: NoMoves) -> Failure {
    match why {
        NoMoves::Missing(missing) => no_such_thing(missing),
        NoMoves::NoPods => Failure::Failed {
            wrong: "there are no pods to find a place for".to_owned(),
            hint: "name a manifest with pods with -f".to_owned(),
        },
        NoMoves::NoPartitions => Failure::Failed {
            wrong: "no device of the cluster shares counters with others".to_owned(),
            hint: "name the pods that are to fit with -f instead".to_owned(),
        },
    }
}

/// The first sentence.
fn verdict(found: &Defragmentation, goal: Goal, most: u32) -> String {
    let subject = match (goal, &found.partition) {
        (Goal::LargestPartition, Some(partition)) => format!("partition {partition}"),
        (Goal::LargestPartition, None) => "one of the largest partitions".to_owned(),
        (Goal::Pods, _) => match found.pods.as_slice() {
            [one] => format!("pod {}", one.pod),
            [] => "the pods".to_owned(),
            pods => format!("all {} pods", pods.len()),
        },
    };
    let is_whole = found.extent == Extent::Whole;
    match &found.moves {
        Some(moves) if moves.is_empty() && goal == Goal::Pods => {
            format!("No pod has to move for {subject} to fit.")
        }
        Some(moves) if moves.is_empty() => format!("No pod has to move: {subject} is free."),
        Some(moves) => {
            let count = if moves.len() == 1 {
                "1 move frees".to_owned()
            } else {
                format!("{} moves free", moves.len())
            };
            let rest = if is_whole {
                "no fewer would do"
            } else {
                "the bound of the search was met before all smaller sets of moves were tried"
            };
            match goal {
                Goal::Pods => format!("{count} a place for {subject}; {rest}."),
                Goal::LargestPartition => format!("{count} {subject}; {rest}."),
            }
        }
        None => {
            let aim = if goal == Goal::Pods { format!("a place for {subject}") } else { subject };
            let moves = if most == 1 { "1 move".to_owned() } else { format!("up to {most} moves") };
            match is_whole {
                true => format!("Even {moves} cannot free {aim}."),
                false => format!(
                    "No moves were found that free {aim}; the bound of the search was met before {moves} were all tried."
                ),
            }
        }
    }
}

fn table(found: &Defragmentation, verdict: &str) -> String {
    let mut parts = vec![format!("{verdict}\n")];
    if let Some(moves) = found.moves.as_ref().filter(|moves| !moves.is_empty()) {
        let mut rows = vec![row(["MOVE POD", "FROM", "TO"])];
        rows.extend(
            moves.iter().map(|one| vec![one.pod.to_string(), one.from.to_string(), one.to.to_string()]),
        );
        parts.push(columns(&rows));
    }
    if !found.pods.is_empty() {
        parts.push(columns(&super::tables::pods(&found.pods)));
    }
    parts.join("\n")
}

fn document(found: &Defragmentation, verdict: &str) -> Value {
    let moves = |moves: &Vec<Move>| {
        let one = |one: &Move| {
            json!({
                "namespace": *one.pod.namespace, "name": *one.pod.name, "from": *one.from, "to": *one.to,
            })
        };
        moves.iter().map(one).collect::<Vec<_>>()
    };
    json!({
        "found": found.moves.is_some(),
        "fewest": found.extent == Extent::Whole,
        "message": verdict,
        "moves": found.moves.as_ref().map(moves),
        "pods": found.pods.iter().map(super::json::pod).collect::<Vec<_>>(),
        "partition": found.partition,
        "trials": found.trials,
        "waitingPodsLeftOut": found.left_out,
        "notes": found.notes,
    })
}
