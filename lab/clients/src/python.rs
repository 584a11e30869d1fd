//! Runs the session of the Python client, which prints its own steps and counts them in its last line.

use std::env;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::Tally;
use crate::launch::Running;

/// Runs the session with the interpreter that `PYTHON` names, or `python3`.
pub(crate) fn run(script: &Path, running: &Running) -> Result<Tally> {
    let python = env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let started =
        Command::new(&python).arg("-u").arg(script).env("KUBECONFIG", running.kubeconfig()).output();
    let ended = match started {
        Ok(ended) => ended,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("skipped: {} is not installed", python.display());
            return Ok(Tally::default());
        }
        Err(error) => return Err(error).context("cannot start Python"),
    };
    let text = String::from_utf8_lossy(&ended.stdout);
    let mut tally = None;
    for line in text.lines() {
        match counted(line) {
            Some(counts) => tally = Some(counts),
            None => println!("{line}"),
        }
    }
    eprint!("{}", String::from_utf8_lossy(&ended.stderr));
    let skipped = ended.status.success() && text.starts_with("skipped: ");
    Ok(match tally {
        Some(tally) => tally,
        None if skipped => Tally::default(),
        None => {
            println!("FAILED  the session ended before its last line: {}", ended.status);
            Tally { passed: 0, failed: 1 }
        }
    })
}

/// Reads `4 passed, 1 failed`.
fn counted(line: &str) -> Option<Tally> {
    let (passed, failed) = line.split_once(" passed, ")?;
    Some(Tally { passed: passed.parse().ok()?, failed: failed.strip_suffix(" failed")?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::counted;
    use crate::Tally;

    #[test]
    fn the_last_line_is_counted() {
        assert_eq!(counted("4 passed, 1 failed"), Some(Tally { passed: 4, failed: 1 }));
        assert_eq!(counted("ok      list"), None);
    }
}
