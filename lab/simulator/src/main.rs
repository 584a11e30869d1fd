//! Plays worlds by their seeds, and exits with 1 if something was wrong in one.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, ensure};
use clap::Parser;
use decisions::lanes::OneLane;
use scheduling::recording::{Line, Replay, Scribe};
use simulator::world::{
    Crash, Faults, Kind, Sabotage, bargain, crashes, live, play, rebargain_command, record, record_bargain,
    relive_command, replay_command,
};

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "simulator", about = "Plays clusters in which everything goes wrong, each by its seed")]
struct Cli {
    /// Play the world of this seed
    #[arg(long, conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Play the worlds of these seeds, such as 0..1000
    #[arg(long, default_value = "0..300")]
    seeds: Seeds,
    /// Make a mistake on purpose, to see that it is noticed, such as DeafToClaims
    #[arg(long, value_parser = mistake, default_value = "None", hide_default_value = true)]
    mistake: Sabotage,
    /// Live the complete life of one claim instead: template, shared, extended, readied, or of a driver that gives devices itself: lent, lent-many, lent-shared, lent-at-once, lent-gang
    #[arg(long, conflicts_with_all = ["seed", "seeds"])]
    life: Option<Kind>,
    /// In that life, let a component die at a step, such as controller@7:unanswered; without it, at every step
    #[arg(long, requires = "life")]
    crash: Option<Crash>,
    /// Play worlds in which drivers give devices themselves, by negotiation
    #[arg(long, conflicts_with = "life")]
    negotiation: bool,
    /// Print what happened, line by line
    #[arg(long)]
    trace: bool,
    /// Record what schedulers are told and decide in the worlds of the seeds, in a file of lines that must not be there
    #[arg(long, value_name = "FILE", conflicts_with_all = ["life", "trace", "mistake"])]
    record: Option<PathBuf>,
    /// Replay such a file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "seeds", "record", "negotiation", "life", "trace"])]
    replay: Option<PathBuf>,
}

#[derive(Clone, Debug)]
struct Seeds(Range<u64>);

impl FromStr for Seeds {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Seeds> {
        let (first, end) = text.split_once("..").context("seeds are a range, such as 0..1000")?;
        let range = first.parse()?..end.parse()?;
        ensure!(!range.is_empty(), "the range has no seed");
        Ok(Seeds(range))
    }
}

fn mistake(text: &str) -> Result<Sabotage, String> {
    let names = || Sabotage::ALL.map(|one| format!("{one:?}")).join(", ");
    let mut all = Sabotage::ALL.into_iter().chain([Sabotage::None]);
    all.find(|one| format!("{one:?}") == text).ok_or_else(|| format!("mistakes are {}", names()))
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match (&cli.record, &cli.replay) {
        (Some(path), _) => record_worlds(path, &cli),
        (_, Some(path)) => replay_worlds(path),
        (None, None) => return play_worlds(cli),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

/// Records worlds, one line for each input of a scheduler.
fn record_worlds(path: &Path, cli: &Cli) -> anyhow::Result<ExitCode> {
    let mut file = BufWriter::new(File::create_new(path)?);
    let seeds = cli.seed.map_or(cli.seeds.0.clone(), |seed| seed..seed + 1);
    let record = if cli.negotiation { record_bargain } else { record };
    let mut bytes = Vec::new();
    for lines in seeds.flat_map(|seed| record(seed).schedulers) {
        let mut scribe = Scribe::default();
        for line in lines {
            bytes.clear();
            scribe.write(line, &mut bytes);
            bytes.push(b'\n');
            file.write_all(&bytes)?;
        }
    }
    file.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Replays such a file, and exits with 1 if something is decided otherwise.
fn replay_worlds(path: &Path) -> anyhow::Result<ExitCode> {
    let mut replay = Replay::new(Arc::new(OneLane));
    for line in BufReader::new(File::open(path)?).lines() {
        let line = line?;
        for difference in replay.take(&Line::read(line.as_bytes())?)? {
            println!("{difference:?}");
        }
    }
    let tally = replay.tally();
    println!("{tally:?}");
    Ok(if tally.differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn play_worlds(cli: Cli) -> ExitCode {
    if let Some(kind) = cli.life {
        return live_and_tell(kind, &cli);
    }
    let seeds = cli.seed.map_or(cli.seeds.0, |seed| seed..seed + 1);
    let (mut faults, mut wrong) = (Faults::new(), 0_u64);
    let (mut bound, mut refused, mut revisions) = (0, 0, 0);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let report = if cli.negotiation {
            bargain(seed, cli.mistake, cli.trace)
        } else {
            play(seed, cli.mistake, cli.trace)
        };
        report.lines.iter().for_each(|line| println!("{line}"));
        report.faults.iter().for_each(|(fault, count)| *faults.entry(*fault).or_default() += count);
        (bound, refused) = (bound + report.bound, refused + report.refused);
        revisions += report.revisions;
        if let Some(first) = report.violations.first() {
            wrong += 1;
            println!("seed {seed} ({:?}): {first}", report.arrangement);
            let again = if cli.negotiation { rebargain_command(seed) } else { replay_command(seed) };
            println!("  {again}");
        }
    }
    println!(
        "{count} worlds, {wrong} with something wrong; {bound} pods placed, {refused} attempts refused, {revisions} writes"
    );
    faults.iter().for_each(|(fault, count)| println!("{count:>8} {fault}"));
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Lives one life: as it is, or with one crash, or if neither history nor crash is asked for with every crash.
fn live_and_tell(kind: Kind, cli: &Cli) -> ExitCode {
    let whole = live(kind, cli.crash, cli.mistake, cli.trace);
    whole.lines.iter().for_each(|line| println!("{line}"));
    let mut wrong = tell(kind, cli.crash, &whole.violations);
    if cli.crash.is_none() && !cli.trace && !wrong {
        for (step, (by, what)) in whole.steps.iter().enumerate() {
            println!("{step:>4} {by:<10} {what}");
        }
        for crash in crashes(kind, whole.steps.len()) {
            wrong |= tell(kind, Some(crash), &live(kind, Some(crash), cli.mistake, false).violations);
        }
    }
    if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Says what was wrong in a life and how to see it again, and whether anything was.
fn tell(kind: Kind, crash: Option<Crash>, violations: &[String]) -> bool {
    if let Some(first) = violations.first() {
        let crash_told = crash.map_or("no crash".to_owned(), |crash| crash.to_string());
        println!("{kind}, {crash_told}: {first}");
        println!("  {}", relive_command(kind, crash));
    }
    !violations.is_empty()
}
