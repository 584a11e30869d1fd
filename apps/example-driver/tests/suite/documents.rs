//! What the README of the example shows is what the driver says.
//!
//! A fence opened with `console run` is a transcript: each line after `$` is run, and what it writes is compared with the lines
//! below it, where a line of three dots stands for any lines.

use std::fs;
use std::process::Command;

use crate::stage::root;

/// Whether `actual` is `expected`, where "..." stands for any lines.
fn matches(expected: &[&str], actual: &[&str]) -> bool {
    match expected {
        [] => actual.is_empty(),
        ["...", rest @ ..] => (0..=actual.len()).any(|skipped| matches(rest, &actual[skipped..])),
        [line, rest @ ..] => {
            actual.split_first().is_some_and(|(first, after)| line == first && matches(rest, after))
        }
    }
}

#[test]
fn transcripts_are_true() {
    let text = fs::read_to_string(root().join("examples/driver/README.md")).expect("it is there");
    let mut fences =
        text.split("```console run\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let transcript: Vec<&str> = fences.next().expect("there is a transcript").lines().collect();
    assert!(fences.next().is_none(), "there is one transcript, and only one is run");
    let (command, expected) = transcript.split_first().expect("a command");
    let words: Vec<&str> = command.split_whitespace().collect();
    let ["$", "example-driver", words @ ..] = &*words else {
        unreachable!("only example-driver is run here, not {command:?}");
    };
    let output = Command::new(env!("CARGO_BIN_EXE_example-driver"))
        .args(words)
        .current_dir(root())
        .output()
        .expect("the binary was built for this test");
    let told = String::from_utf8(output.stdout).expect("text");
    assert!(matches(expected, &told.lines().collect::<Vec<_>>()), "{command} says\n{told}");
}
