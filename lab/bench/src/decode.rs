//! Reading lists: how long it takes, and how much memory the result holds.
//!
//! Each reader runs in a process of its own that has done nothing else, so that its memory can be told from what others
//! left behind; readers take turns, so that a busy moment of the machine does not fall on one of them alone.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs, process};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::clock::worked;
use crate::contenders::{Contender, Content};
use crate::memory::resident_bytes;
use crate::{pods, slices};

/// Reads lists of pods and of resource slices.
#[derive(Args, Debug)]
pub(crate) struct Decode {
    /// How many pods
    #[arg(long, default_value_t = 10_000)]
    pods: usize,
    /// How many resource slices
    #[arg(long, default_value_t = 5_000)]
    slices: usize,
    /// How often each reader gets its turn; the best time counts
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// How often a reader reads in one turn
    #[arg(long, default_value_t = 3)]
    reads: usize,
    /// What the lists are generated from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// One reader, in a process of its own.
#[derive(Args, Debug)]
pub(crate) struct One {
    contender: Contender,
    content: Content,
    file: PathBuf,
    reads: usize,
}

/// What one reader did in one turn.
#[derive(Clone, Copy, Debug)]
struct Turn {
    items: usize,
    best: Duration,
    held_bytes: Option<u64>,
}

impl Decode {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let lists = [
            (Content::Pods, "pods", pods::list(self.pods, self.seed)),
            (Content::Slices, "resource slices", slices::list(self.slices, self.seed)),
        ];
        for (content, name, text) in lists {
            let file = env::temp_dir().join(format!("supercargo-bench-{}.json", process::id()));
            fs::write(&file, &text).context("the list cannot be written")?;
            let measured = self.measure(content, &file);
            fs::remove_file(&file).context("the list cannot be removed")?;
            report(name, text.len(), &measured?);
        }
        Ok(())
    }

    /// The best turn of each reader.
    fn measure(&self, content: Content, file: &Path) -> anyhow::Result<Vec<(Contender, Turn)>> {
        let mut best: Vec<(Contender, Turn)> = Vec::new();
        for _ in 0..self.turns.max(1) {
            for contender in Contender::all() {
                let turn = ask(*contender, content, file, self.reads)?;
                match best.iter_mut().find(|(known, _)| known == contender) {
                    Some((_, known)) if known.best <= turn.best => {}
                    Some((_, known)) => *known = turn,
                    None => best.push((*contender, turn)),
                }
            }
        }
        Ok(best)
    }
}

/// Runs this program once more, for one reader.
fn ask(contender: Contender, content: Content, file: &Path, reads: usize) -> anyhow::Result<Turn> {
    let name = |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_owned());
    let contender_name = name(contender.to_possible_value()).context("every reader has a name")?;
    let content_name = name(content.to_possible_value()).context("every content has a name")?;
    let output = Command::new(env::current_exe()?)
        .args(["one", &contender_name, &content_name])
        .arg(file)
        .arg(reads.to_string())
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    Ok(Turn {
        items: usize::try_from(answer["items"].as_u64().context("the reader counts items")?)?,
        best: Duration::from_nanos(answer["best_ns"].as_u64().context("the reader has a time")?),
        held_bytes: answer["held_bytes"].as_u64(),
    })
}

impl One {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let json = fs::read(&self.file).context("the list cannot be read")?;
        let before = resident_bytes();
        let began = worked();
        let (items, held) = self.contender.decode(self.content, &json)?;
        let mut best = worked() - began;
        let held_bytes = before.zip(resident_bytes()).map(|(before, after)| after.saturating_sub(before));
        drop(held);
        for _ in 1..self.reads {
            let began = worked();
            let (_, held) = self.contender.decode(self.content, &json)?;
            best = best.min(worked() - began);
            drop(held);
        }
        let best_ns = u64::try_from(best.as_nanos())?;
        println!("{}", json!({ "items": items, "best_ns": best_ns, "held_bytes": held_bytes }));
        Ok(())
    }
}

fn report(name: &str, bytes: usize, measured: &[(Contender, Turn)]) {
    let Some((_, first)) = measured.first() else { return };
    println!(
        "{} {name}, {:.1} MB, {:.1} KB each",
        first.items,
        bytes as f64 / 1e6,
        bytes as f64 / 1e3 / first.items as f64
    );
    println!(
        "  {:<20} {:>9} {:>12} {:>8} {:>7} {:>10} {:>7}",
        "reader", "ms", "µs/object", "MB/s", "time", "KB/object", "memory"
    );
    for (contender, turn) in measured {
        let seconds = turn.best.as_secs_f64();
        let ratio = seconds / first.best.as_secs_f64();
        let kilobytes = |turn: &Turn| turn.held_bytes.map(|held| held as f64 / 1e3 / turn.items as f64);
        let (memory, memory_ratio) = match (kilobytes(turn), kilobytes(first)) {
            (Some(own), Some(first)) => (format!("{own:.1}"), format!("{:.1}x", own / first)),
            _ => ("-".to_owned(), "-".to_owned()),
        };
        println!(
            "  {:<20} {:>9.1} {:>12.2} {:>8.0} {:>6.1}x {:>10} {:>7}",
            contender.label(),
            seconds * 1e3,
            seconds * 1e6 / turn.items as f64,
            bytes as f64 / 1e6 / seconds,
            ratio,
            memory,
            memory_ratio
        );
    }
}
