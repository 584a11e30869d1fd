//! Runs scenarios and says what became of each: those of the workspace, or the files that are named.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs, io};

use anyhow::Context;
use scenarios::{Verdict, files, folder, shown, verdicts};

fn main() -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    let named: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let named = if named.is_empty() { files(&folder())? } else { named };
    let mut failures = Vec::new();
    for path in named {
        let file = shown(&path);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {file}"))?;
        writeln!(out, "{file}")?;
        let outcomes = verdicts(&file, &text).unwrap_or_else(|failure| {
            failures.push(failure);
            Vec::new()
        });
        for outcome in outcomes {
            writeln!(out, "  {outcome}")?;
            if let Verdict::Failed(failure) = outcome.verdict {
                failures.push(failure);
            }
        }
    }
    for failure in &failures {
        eprintln!("{failure}");
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
