//! The commands in our documents work, and answer what the documents say.
//!
//! A fence opened with `console run` is a transcript: each line after `$` is run, with what it writes to stdout and then
//! to stderr compared with the lines below it, where a line of three dots stands for any lines. In other fences nothing
//! is run, but every subcommand of `supercargo` that is named must exist. Cargo's own words are checked by tidy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// One command of a fence, with the lines that follow it.
#[derive(Debug)]
struct DocumentedCommand {
    place: String,
    words: Vec<String>,
    expected: Vec<String>,
    is_transcript: bool,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the crate lies two folders deep")
        .to_owned()
}

fn supercargo(arguments: &[String]) -> Output {
    let binary = env!("CARGO_BIN_EXE_supercargo");
    let mut command = Command::new(binary);
    command.args(arguments).current_dir(root()).output().expect("the binary was built for this test")
}

/// Every document of the workspace that shows commands to readers.
fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut folders = vec![root().join("docs")];
    let top = fs::read_dir(root()).expect("the workspace can be listed");
    found.extend(top.map(|entry| entry.expect("an entry can be read").path()));
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder can be listed") {
            let path = entry.expect("an entry can be read").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    found.sort();
    found
}

/// The commands of one document's fences.
fn documented_commands(name: &str, text: &str) -> Vec<DocumentedCommand> {
    let mut documented_commands: Vec<DocumentedCommand> = Vec::new();
    let mut fence: Option<Vec<&str>> = None;
    for (index, line) in text.lines().enumerate() {
        match (&fence, line.strip_prefix("```")) {
            (None, Some(language)) => fence = Some(language.split_whitespace().collect()),
            (Some(_), Some("")) => fence = None,
            (Some(language), _) if ["console", "sh"].contains(language.first().unwrap_or(&"")) => {
                let is_console = language[0] == "console";
                let command = if is_console { line.strip_prefix("$ ") } else { Some(line) };
                match (command, documented_commands.last_mut()) {
                    (Some(command), _) => documented_commands.push(DocumentedCommand {
                        place: format!("{name}:{}", index + 1),
                        words: command.split_whitespace().map(str::to_owned).collect(),
                        expected: Vec::new(),
                        is_transcript: language.get(1) == Some(&"run"),
                    }),
                    (None, Some(documented)) => documented.expected.push(line.to_owned()),
                    (None, None) => {}
                }
            }
            _ => {}
        }
    }
    documented_commands
}

fn all_documented_commands() -> Vec<DocumentedCommand> {
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a document can be read");
        let name = path.strip_prefix(root()).expect("documents lie in the workspace").display().to_string();
        documented_commands(&name, &text)
    };
    documents().into_iter().flat_map(read).collect()
}

/// The arguments that reach `supercargo`, whether it is called by name or by `cargo run`.
fn supercargo_arguments(words: &[String]) -> Option<&[String]> {
    // `cargo run -p bench …` runs another program.
    if words.iter().any(|word| word == "-p" || word == "--package") {
        return None;
    }
    match words {
        [first, rest @ ..] if first == "supercargo" => Some(rest),
        [cargo, run, rest @ ..] if cargo == "cargo" && run == "run" => {
            let dashes = rest.iter().position(|word| word == "--")?;
            Some(&rest[dashes + 1..])
        }
        _ => None,
    }
}

/// Whether `actual` is `expected`, where "..." stands for any lines.
fn matches(expected: &[String], actual: &[&str]) -> bool {
    match expected {
        [] => actual.is_empty(),
        [dots, rest @ ..] if dots == "..." => {
            (0..=actual.len()).any(|skipped| matches(rest, &actual[skipped..]))
        }
        [line, rest @ ..] => {
            actual.split_first().is_some_and(|(first, after)| line == first && matches(rest, after))
        }
    }
}

#[test]
fn transcripts_in_documents_are_true() {
    let transcripts: Vec<DocumentedCommand> =
        all_documented_commands().into_iter().filter(|documented| documented.is_transcript).collect();
    assert!(
        transcripts.iter().any(|documented| documented.place.starts_with("README.md")),
        "the README shows no transcript"
    );
    for documented in transcripts {
        let arguments = match documented.words.split_first() {
            Some((first, rest)) if first == "supercargo" => rest,
            _ => panic!(
                "{}: only `supercargo` is run from a transcript, not {:?}",
                documented.place, documented.words
            ),
        };
        let output = supercargo(arguments);
        let answer = [output.stdout, output.stderr].concat();
        let answer = String::from_utf8(answer).expect("the command writes text");
        let lines: Vec<&str> = answer.lines().collect();
        assert!(
            matches(&documented.expected, &lines),
            "{}: {:?} answers\n{answer}",
            documented.place,
            documented.words
        );
    }
}

#[test]
fn commands_in_documents_exist() {
    for documented in all_documented_commands().into_iter().filter(|documented| !documented.is_transcript) {
        let Some(arguments) = supercargo_arguments(&documented.words) else { continue };
        let Some(command) = arguments.first().filter(|word| !word.starts_with('-')) else { continue };
        let output = supercargo(&[command.clone(), "--help".to_owned()]);
        assert!(output.status.success(), "{}: `supercargo {command}` does not exist", documented.place);
    }
}

#[test]
fn the_readme_shows_the_two_commands_that_do_everything() {
    let documented_commands: Vec<String> = all_documented_commands()
        .into_iter()
        .filter(|documented| documented.place.starts_with("README.md"))
        .map(|documented| documented.words.join(" "))
        .collect();
    for command in ["cargo run --release -- up", "cargo test --workspace"] {
        assert!(
            documented_commands.iter().any(|documented| documented == command),
            "the README does not show `{command}`"
        );
    }
    let ci = fs::read_to_string(root().join(".ci/run")).expect("the script of the checks can be read");
    assert!(ci.contains("cargo test --workspace"), "the checks do not run the README's test command");
}

#[test]
fn the_readme_has_at_most_150_lines() {
    let readme = fs::read_to_string(root().join("README.md")).expect("a document can be read");
    assert!(readme.lines().count() <= 150, "move parts of README.md to a guide");
}

#[test]
fn a_false_transcript_would_be_noticed() {
    let documented = &documented_commands("page.md", "```console run\n$ supercargo up\na\n...\nd\n```\n")[0];
    assert_eq!(documented.place, "page.md:2");
    assert!(matches(&documented.expected, &["a", "b", "c", "d"]));
    assert!(matches(&documented.expected, &["a", "d"]));
    assert!(!matches(&documented.expected, &["a", "b"]));
    assert!(!matches(&documented.expected, &["a", "d", "e"]));
}
