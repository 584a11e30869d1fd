//! `conformance SUITE FILE…`: replays vector files and exits with 1 if any case failed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use conformance::{Suite, admission, allocator, cel, gangs, plugins, quantity, replay, volumes};

/// Replays recorded answers of Kubernetes against our own.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    suite: SuiteCommand,
}

#[derive(Subcommand)]
enum SuiteCommand {
    /// Requests to the API server, judged by admission alone.
    Admission(Replay),
    /// Claims on one node: which devices they get.
    Allocator(Replay),
    /// Device selectors: compiling, costs and evaluation.
    Cel(Replay),
    /// Pod groups: whether all members can be in one domain at once.
    Gangs(Replay),
    /// Filters, scores and preemption for single pods.
    Plugins(Replay),
    /// Parsing, printing and arithmetic of quantities.
    Quantity(Replay),
    /// Volumes of single pods: nodes on which they can be had, and which volumes these are.
    Volumes(Replay),
}

#[derive(Args)]
struct Replay {
    /// Vector files, one JSON object a line, plain or gzip.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Write our own answers to this file, a line a case.
    #[arg(long, value_name = "OUT")]
    dump: Option<PathBuf>,
}

impl SuiteCommand {
    fn into_parts(self) -> (Suite, Replay) {
        match self {
            Self::Admission(replay) => (admission::SUITE, replay),
            Self::Allocator(replay) => (allocator::SUITE, replay),
            Self::Cel(replay) => (cel::SUITE, replay),
            Self::Gangs(replay) => (gangs::SUITE, replay),
            Self::Plugins(replay) => (plugins::SUITE, replay),
            Self::Quantity(replay) => (quantity::SUITE, replay),
            Self::Volumes(replay) => (volumes::SUITE, replay),
        }
    }
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(tally) if tally.failed == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<replay::Tally> {
    let (suite, Replay { files, dump }) = cli.suite.into_parts();
    let mut dump = match dump {
        Some(path) => {
            let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
            Some(BufWriter::new(file))
        }
        None => None,
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let tally = replay::run(suite, &files, &mut out, dump.as_mut().map(|dump| dump as &mut dyn Write))?;
    if let Some(mut dump) = dump {
        dump.flush().context("cannot write the dump")?;
    }
    out.flush().context("cannot write the report")?;
    Ok(tally)
}
