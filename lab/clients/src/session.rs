//! Runs a transcript with one kubectl and compares what it prints.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::Tally;
use crate::launch::Running;
use crate::placeholders::Placeholders;
use crate::transcript::TranscriptPart;

/// How long a step may take.
const STEP_SECONDS_MAX: &str = "30";

/// A kubectl on this machine.
#[derive(Debug)]
pub(crate) struct Client {
    /// Where it is.
    pub path: PathBuf,
    /// What it says of itself.
    pub version: String,
}

/// Every kubectl that there is: the one that a shell finds, and the one beside the Kubernetes test binaries.
pub(crate) fn installed() -> Vec<Client> {
    let assets = env::var_os("KUBEBUILDER_ASSETS").unwrap_or_else(|| "/usr/local/kubebuilder/bin".into());
    let on_path = env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .map(|folder| folder.join("kubectl"))
        .find(|path| path.exists());
    let beside = Some(Path::new(&assets).join("kubectl")).filter(|path| path.exists());
    let mut paths: Vec<PathBuf> = on_path.into_iter().chain(beside).collect();
    paths.dedup();
    paths.into_iter().filter_map(|path| Some(Client { version: version(&path)?, path })).collect()
}

fn version(path: &Path) -> Option<String> {
    let answer = Command::new(path).args(["version", "--client"]).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Client Version: ")).map(str::to_owned)
}

/// Runs every step; with `bless` what is printed becomes what is expected.
pub(crate) fn run(
    transcript: &mut [TranscriptPart],
    client: &Client,
    running: &Running,
    folder: &Path,
    bless: bool,
) -> Result<Tally> {
    let placeholders = Placeholders::default();
    let mut tally = Tally::default();
    for part in transcript {
        let TranscriptPart::Step { command, output } = part else { continue };
        let printed = placeholders.lines(&shell(command, client, running, folder)?);
        if bless {
            *output = printed;
            continue;
        }
        let expected = placeholders.lines(&output.join("\n"));
        if printed == expected {
            tally.passed += 1;
            println!("ok      {}", first_line(command));
        } else {
            tally.failed += 1;
            println!("FAILED  {command}");
            print_difference(&expected, &printed);
        }
    }
    Ok(tally)
}

fn first_line(command: &str) -> &str {
    command.lines().next().unwrap_or_default()
}

/// Runs a command in a shell that finds this kubectl and this server, and nothing of the user's own settings.
fn shell(command: &str, client: &Client, running: &Running, folder: &Path) -> Result<String> {
    let kubectl = client.path.parent().context("kubectl is in a folder")?;
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([kubectl.to_owned()].into_iter().chain(env::split_paths(&others)))?;
    // A step that hangs is a step that fails.
    let ended = Command::new("timeout")
        .args([STEP_SECONDS_MAX, "sh", "-c", &format!("exec 2>&1\n{command}")])
        .stdin(Stdio::null())
        .current_dir(folder)
        .env("PATH", path)
        .env("KUBECONFIG", running.kubeconfig())
        .env("HOME", running.folder())
        .env("KUBECTL_EXTERNAL_DIFF", "diff -u -N")
        .env("TZ", "UTC")
        .output()?;
    let mut text = String::from_utf8_lossy(&ended.stdout).into_owned();
    match ended.status.code() {
        Some(0) => {}
        Some(code) => text.push_str(&format!("\n[exit {code}]\n")),
        None => text.push_str("\n[killed]\n"),
    }
    Ok(text)
}

/// Prints the lines that differ, with what is the same at the beginning and the end left out.
fn print_difference(expected: &[String], printed: &[String]) {
    let same = expected.iter().zip(printed).take_while(|(a, b)| a == b).count();
    let (expected, printed) = (&expected[same..], &printed[same..]);
    let after = expected.iter().rev().zip(printed.iter().rev()).take_while(|(a, b)| a == b).count();
    println!("        after {same} lines that are right:");
    for line in &expected[..expected.len() - after] {
        println!("      - {line}");
    }
    for line in &printed[..printed.len() - after] {
        println!("      + {line}");
    }
}
