//! Checks and chores of this workspace, run as `cargo xtask <name>`.
//!
//! Findings go to stdout, one after the other; talk goes to stderr; the exit code is 1 when something was found and
//! 2 when the chore could not run.

mod archive;
mod dist;
mod manifests;
mod tidy;

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use dist::DistError;

/// Every chore by name, with the text that the help prints for it.
const CHORES: [(&str, &str); 6] = [
    (
        "tidy",
        "Check the rules of the workspace that the compiler cannot: dependencies, names, documents, links and the\n\
         phrases of docs/writing.md. Each finding has a hint. CONTRIBUTING.md lists the rules. Takes a few seconds.",
    ),
    (
        "reference",
        "Generate docs/reference and docs/pictures from the program: commands, metrics, feature gates, objects.\n\
         Run it after a change of help texts or metrics; the tests compare the files. Builds supercargo first.",
    ),
    (
        "book",
        "Build the guides as a book in target/book with mdbook, if it is installed.\n\
         Install it with `cargo install mdbook --locked`. The pages read well without it.",
    ),
    (
        "manifests",
        "Generate the plain manifests in deploy/ from the chart with helm, if it is installed. With --check, report\n\
         which ones are out of date.",
    ),
    ("dist", "Build the release archive: program, manual pages, completions, chart, SBOM and checksums."),
    ("image", "Build the container image of the program, as an OCI layout and as an archive."),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] | ["help" | "-h" | "--help"] => {
            print!("{}", help());
            ExitCode::SUCCESS
        }
        ["help", name] | [name, "-h" | "--help"] if CHORES.iter().any(|(chore, _)| chore == name) => {
            let text = CHORES.iter().filter(|(chore, _)| chore == name).map(|(_, text)| *text);
            println!("usage: cargo xtask {name}\n\n{}", text.collect::<String>());
            ExitCode::SUCCESS
        }
        ["tidy"] => run_tidy(),
        ["manifests"] => run_manifests(false),
        ["manifests", "--check"] => run_manifests(true),
        ["dist", options @ ..] => run_dist(dist::archives(options)),
        ["image", options @ ..] => run_dist(dist::image(options)),
        ["reference"] => run_reference(),
        ["book"] => run_book(),
        unknown => {
            eprintln!("error: unknown command `{}`", unknown.join(" "));
            eprintln!("hint: `cargo xtask help` lists the commands");
            ExitCode::from(2)
        }
    }
}

fn help() -> String {
    let mut text =
        String::from("Checks and chores of this workspace\n\nusage: cargo xtask <command>\n\ncommands:\n");
    for (name, purpose) in CHORES {
        text.push_str(&format!("  {name:<10} {}\n", purpose.replace('\n', "\n             ")));
    }
    text.push_str("  help       Print this text, or the text of one command: cargo xtask help tidy\n");
    text.push_str("\nexit codes: 0 done, 1 something was found, 2 the command could not run\n");
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

/// The pages are generated where they are compared: in the tests of supercargo, which have its binary and its metrics.
fn run_reference() -> ExitCode {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--package", "supercargo", "--test", "suite", "reference::"]);
    run(cargo.env("UPDATE_REFERENCE", "1"), "see the output of cargo above")
}

fn run_book() -> ExitCode {
    run(
        Command::new("mdbook").arg("build"),
        "install mdbook with `cargo install mdbook --locked`, or read docs/SUMMARY.md",
    )
}

fn run(command: &mut Command, hint: &str) -> ExitCode {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.current_dir(tidy::root()).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            eprintln!("error: {name} failed: {status}\nhint: {hint}");
            ExitCode::from(2)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("error: {name} is not installed\nhint: {hint}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: cannot run {name}: {error}\nhint: {hint}");
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

#[cfg(test)]
mod tests {
    use super::{CHORES, help};

    #[test]
    fn the_help_has_every_command() {
        for (name, _) in CHORES {
            assert!(help().contains(&format!("\n  {name} ")), "{name}");
        }
    }
}
