//! Checks and chores of this workspace, run as `cargo xtask <name>`.
//!
//! Findings go to stdout, one after the other; talk goes to stderr; the exit code is 1 when something was found and
//! 2 when the chore could not run.

mod archive;
mod dist;
mod manifests;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use dist::DistError;

/// Every chore by name, with the line that the help prints for it.
const CHORES: [(&str, &str); 4] = [
    (
        "dist",
        "write the archives that are handed out, with checksums and a list of what the program is made of",
    ),
    ("image", "write a container image of the program, as a folder and as an archive"),
    (
        "manifests",
        "write the plain manifests in deploy/ from the chart, or with --check say which are not up to date",
    ),
    ("tidy", "check the rules of the workspace that the compiler cannot: rooms, names, documents"),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tidy"] => run_tidy(),
        ["manifests"] => run_manifests(false),
        ["manifests", "--check"] => run_manifests(true),
        ["dist", options @ ..] => run_dist(dist::archives(options)),
        ["image", options @ ..] => run_dist(dist::image(options)),
        [] | ["help" | "-h" | "--help"] => {
            print!("{}", help());
            ExitCode::SUCCESS
        }
        unknown => {
            eprintln!("error: no chore is called `{}`", unknown.join(" "));
            eprintln!("hint: `cargo xtask help` lists them");
            ExitCode::from(2)
        }
    }
}

fn help() -> String {
    let mut text = String::from("usage: cargo xtask <chore>\n\nchores:\n");
    for (name, purpose) in CHORES {
        text.push_str(&format!("  {name:<10} {purpose}\n"));
    }
    text
}

fn run_tidy() -> ExitCode {
    match tidy::check_workspace() {
        Ok(violations) if violations.is_empty() => ExitCode::SUCCESS,
        Ok(violations) => {
            for violation in &violations {
                println!("{violation}");
            }
            eprintln!("error: tidy found {} violation(s)", violations.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run_manifests(only_check: bool) -> ExitCode {
    match manifests::bring_up_to_date(only_check) {
        Ok(outdated) if only_check && !outdated.is_empty() => {
            for path in outdated {
                println!("{path} is not what the chart makes");
            }
            eprintln!("hint: `cargo xtask manifests` writes them; edit deploy/chart and not the manifests");
            ExitCode::FAILURE
        }
        Ok(outdated) => {
            for path in outdated {
                println!("wrote {path}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run_dist(written: Result<Vec<PathBuf>, DistError>) -> ExitCode {
    match written {
        Ok(paths) => {
            for path in paths {
                println!("{}", path.display());
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
