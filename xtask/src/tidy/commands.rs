//! Cargo commands in documents name subcommands, packages and targets that exist.
//!
//! Looks at code spans and at lines of fences for the shell, or for no language. Whether `supercargo` knows its own subcommands is
//! checked by the tests of that crate, which can ask it.

use super::markdown::{Line, Place, code_spans, lines};
use super::tree::Tree;
use super::violation::Violation;
use super::workspace::Workspace;

/// Cargo's own subcommands, as far as documents have reason to name them, and those that come with the toolchain.
const BUILT_IN: [&str; 17] = [
    "add", "bench", "build", "check", "clean", "clippy", "doc", "fetch", "fmt", "help", "install",
    "metadata", "run", "test", "tree", "update", "vendor",
];

/// Subcommands that a reader may have to install; the documents say how.
const INSTALLED: [&str; 1] = ["deny"];

const ALIASES: &str = ".cargo/config.toml";

pub(crate) fn check(tree: &Tree, workspace: &Workspace) -> Vec<Violation> {
    let aliases = aliases(tree);
    let mut violations = Vec::new();
    for (path, text) in tree.markdown() {
        for line in lines(text) {
            for command in cargo_commands(&line) {
                if let Err(wrong) = check_command(&command, &aliases, workspace) {
                    let wrong = format!("`cargo {}`: {wrong}", command.join(" "));
                    violations.push(Violation::new(
                        path,
                        line.number,
                        wrong,
                        "correct the command in the document",
                    ));
                }
            }
        }
    }
    violations
}

fn aliases(tree: &Tree) -> Vec<String> {
    let config: toml::Table = tree.text(ALIASES).unwrap_or_default().parse().unwrap_or_default();
    let aliases = config.get("alias").and_then(toml::Value::as_table);
    aliases.map(|table| table.keys().cloned().collect()).unwrap_or_default()
}

/// The words after `cargo` of every cargo command on this line.
fn cargo_commands<'a>(line: &Line<'a>) -> Vec<Vec<&'a str>> {
    match &line.place {
        Place::Prose => code_spans(line.text).into_iter().filter_map(cargo_words).collect(),
        Place::Fenced(language) if ["", "sh", "bash", "console"].contains(&language.as_str()) => {
            let command = line.text.trim_start().trim_start_matches("$ ");
            cargo_words(command).into_iter().collect()
        }
        Place::Fenced(_) => Vec::new(),
    }
}

fn cargo_words(command: &str) -> Option<Vec<&str>> {
    let words = command.split_whitespace().skip_while(|word| word.contains('='));
    let mut words = words.take_while(|word| !["#", "|", "&&", ";", ">", "2>&1"].contains(word));
    if words.next() != Some("cargo") {
        return None;
    }
    let words: Vec<&str> = words.collect();
    // A bare `cargo` is talk about the tool.
    (!words.is_empty()).then_some(words)
}

fn check_command(words: &[&str], aliases: &[String], workspace: &Workspace) -> Result<(), String> {
    let mut words = words.iter().copied().skip_while(|word| word.starts_with(['+', '-']));
    let Some(subcommand) = words.next() else { return Ok(()) };
    let known = [&BUILT_IN[..], &INSTALLED[..]].concat();
    if !known.contains(&subcommand) && !aliases.iter().any(|alias| alias == subcommand) {
        return Err(format!("cargo has no subcommand `{subcommand}`"));
    }
    let words: Vec<&str> = words.collect();
    if subcommand == "xtask" {
        return match words.first() {
            Some(chore) if *chore != "help" && !crate::CHORES.iter().any(|(name, _)| name == chore) => {
                Err(format!("xtask has no chore `{chore}`"))
            }
            _ => Ok(()),
        };
    }
    if ["add", "install", "deny"].contains(&subcommand) {
        return Ok(());
    }
    let mut flags = words.iter().copied().take_while(|word| *word != "--");
    while let Some(word) = flags.next() {
        let (flag, joined) = word.split_once('=').map_or((word, None), |(flag, value)| (flag, Some(value)));
        let kind = match flag {
            "-p" | "--package" => "package",
            "--bin" | "--test" | "--bench" | "--example" => &flag[2..],
            _ => continue,
        };
        let Some(name) = joined.or_else(|| flags.next()) else {
            return Err(format!("`{flag}` names nothing"));
        };
        if !exists(workspace, kind, name) {
            return Err(format!("there is no {kind} `{name}`"));
        }
    }
    Ok(())
}

fn exists(workspace: &Workspace, kind: &str, name: &str) -> bool {
    // A name in angle brackets is a blank for the reader to fill in.
    if name.starts_with('<') {
        return true;
    }
    workspace.packages.iter().any(|package| match kind {
        "package" => package.name == name,
        kind => package.targets.iter().any(|(target, target_name)| target == kind && target_name == name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrongs(text: &str) -> Vec<String> {
        let tree = Tree::of(&[("README.md", text), (ALIASES, "[alias]\nxtask = \"run --package xtask --\"")]);
        let workspace = Workspace::of(&[("apps/supercargo", &[]), ("xtask", &[])]);
        check(&tree, &workspace).into_iter().map(|violation| violation.wrong).collect()
    }

    #[test]
    fn commands_that_exist_pass() {
        let text = "`cargo test --workspace` `cargo xtask tidy` `cargo +1.95 test -p supercargo` `cargo deny check`\n\
                    ```console\n$ RUST_LOG=info cargo run --release --bin supercargo -- up -p x\nconsole says cargo lost\n```\n\
                    `cargo` `cargo test -p <crate>`";
        assert!(wrongs(text).is_empty(), "{:?}", wrongs(text));
    }

    #[test]
    fn unknown_subcommands_and_chores_are_found() {
        assert_eq!(wrongs("`cargo lost`"), ["`cargo lost`: cargo has no subcommand `lost`"]);
        assert_eq!(wrongs("```sh\ncargo xtask lost\n```"), ["`cargo xtask lost`: xtask has no chore `lost`"]);
    }

    #[test]
    fn unknown_packages_and_targets_are_found() {
        assert_eq!(wrongs("`cargo test -p lost`"), ["`cargo test -p lost`: there is no package `lost`"]);
        assert_eq!(wrongs("`cargo run --bin=lost`"), ["`cargo run --bin=lost`: there is no bin `lost`"]);
        assert_eq!(
            wrongs("```\ncargo test -p gone\n```"),
            ["`cargo test -p gone`: there is no package `gone`"]
        );
        assert!(wrongs("```rust\ncargo test -p gone\n```").is_empty());
        assert_eq!(wrongs("`cargo test -p`"), ["`cargo test -p`: `-p` names nothing"]);
    }
}
