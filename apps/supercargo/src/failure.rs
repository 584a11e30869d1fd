//! What can go wrong with a command, in the words that the user reads: lower case, no full stop, and a hint.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use model::nearest::near;
use simulation::BadInput;

use crate::cli::Cli;

/// The exit code of a command that did its work with an unwelcome result: a pod does not fit, or a decision differs.
pub(crate) const UNWELCOME: u8 = 3;

/// Why a command did not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line was wrong; nothing was tried.
    Usage { wrong: String, hint: String },
    /// The command could not do its work.
    Failed { wrong: String, hint: String },
    /// The answer could not be written.
    Output(io::Error),
}

impl Failure {
    /// Something that could not be done; what comes after `; hint: ` is the hint.
    pub(crate) fn hinted(wrong: &str) -> Self {
        let (wrong, hint) = wrong.split_once("; hint: ").unwrap_or((wrong, ""));
        Self::Failed { wrong: wrong.to_owned(), hint: hint.to_owned() }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage { .. } => ExitCode::from(2),
            Self::Failed { .. } | Self::Output(_) => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (wrong, hint) = match self {
            Self::Usage { wrong, hint } | Self::Failed { wrong, hint } => (wrong, hint),
            Self::Output(error) => return write!(out, "error: cannot write the answer: {error}"),
        };
        if wrong.contains('\n') {
            // Several mistakes, each with its own hint.
            let hint = if hint.is_empty() { String::new() } else { format!("\nhint: {hint}") };
            return write!(out, "error: {wrong}{hint}");
        }
        // One hint is enough. Where a cause brings its own, that is nearer to what is wrong.
        let mut parts = wrong.split("; hint: ").chain([hint.as_str()]).filter(|part| !part.is_empty());
        write!(out, "error: {}", parts.next().unwrap_or_default())?;
        parts.next().map_or(Ok(()), |hint| write!(out, "\nhint: {hint}"))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<BadInput> for Failure {
    fn from(bad: BadInput) -> Self {
        Self::hinted(&bad.to_string())
    }
}

/// How many names a hint lists.
const NAMES_MAX: usize = 5;

/// A hint for a name that does not exist: the nearest one that does, or some of them.
pub(crate) fn advice<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    let known: BTreeSet<&str> = known.collect();
    if let Some(nearest) = near(name, known.iter().copied()) {
        return format!("did you mean `{nearest}`?");
    }
    let some: Vec<&str> = known.iter().copied().take(NAMES_MAX).collect();
    match (&some[..], known.len().saturating_sub(NAMES_MAX)) {
        ([], _) => "there are none".to_owned(),
        (some, 0) => format!("choose one of {}", some.join(", ")),
        (some, more) => format!("choose one of {} and {more} more", some.join(", ")),
    }
}

/// A wrong command line in our words. What was typed after the name of the program says which command it was about.
pub(crate) fn from_clap(error: &clap::Error, typed: impl IntoIterator<Item = OsString>) -> Failure {
    let wrong = match (error.kind(), context(error, ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(name)) => format!("there is no command `{name}`"),
        (ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, _) => {
            "no command was given".to_owned()
        }
        (ErrorKind::UnknownArgument, _) => {
            let argument = context(error, ContextKind::InvalidArg).unwrap_or_default();
            format!("`{argument}` is not expected here")
        }
        (ErrorKind::MissingRequiredArgument, _) => {
            format!("missing {}", contexts(error, ContextKind::InvalidArg).join(" and "))
        }
        // Clap's first line says what is wrong; the rest lists values and repeats the usage.
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or(&text);
            line.trim_start_matches("error: ").trim_end_matches('.').to_owned()
        }
    };
    let (wrong, own_hint) = match wrong.split_once("; hint: ") {
        Some((wrong, hint)) => (wrong.to_owned(), Some(hint.to_owned())),
        None => (wrong, None),
    };
    let suggested = context(error, ContextKind::SuggestedSubcommand)
        .or_else(|| context(error, ContextKind::SuggestedArg));
    let values = contexts(error, ContextKind::ValidValue);
    let hint = match (suggested, own_hint, command(typed)) {
        (Some(suggested), _, _) => format!("did you mean `{suggested}`?"),
        (None, Some(hint), _) => hint,
        (None, None, _) if !values.is_empty() => format!("choose one of {}", values.join(", ")),
        (None, None, Some(command)) => {
            format!("`supercargo {command} --help` describes its options, with examples")
        }
        (None, None, None) => {
            "`supercargo --help` lists the commands, `supercargo help COMMAND` describes one".to_owned()
        }
    };
    Failure::Usage { wrong, hint }
}

/// The command that was typed, if there is one of that name.
fn command(typed: impl IntoIterator<Item = OsString>) -> Option<String> {
    let cli = Cli::command();
    let is_command = |word: &String| cli.find_subcommand(word).is_some();
    typed.into_iter().filter_map(|word| word.into_string().ok()).find(is_command)
}

fn contexts(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

fn context(error: &clap::Error, kind: ContextKind) -> Option<String> {
    contexts(error, kind).into_iter().next()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Failure, from_clap};
    use crate::cli::Cli;

    fn complaint(words: &[&str]) -> String {
        let error = Cli::try_parse_from(words).expect_err("the words are wrong");
        from_clap(&error, words[1..].iter().map(Into::into)).to_string()
    }

    #[test]
    fn an_error_has_one_hint_and_that_of_its_cause() {
        let failed = |wrong: &str, hint: &str| {
            Failure::Failed { wrong: wrong.to_owned(), hint: hint.to_owned() }.to_string()
        };
        assert_eq!(failed("a", "b"), "error: a\nhint: b");
        assert_eq!(failed("a; hint: b; hint: c", "d"), "error: a\nhint: b");
        assert_eq!(failed("a", ""), "error: a");
        assert_eq!(failed("a; hint: b\nc; hint: d", ""), "error: a; hint: b\nc; hint: d", "two mistakes");
    }

    #[test]
    fn a_mistyped_command_is_named_with_the_nearest_one() {
        assert_eq!(
            complaint(&["supercargo", "upp"]),
            "error: there is no command `upp`\nhint: did you mean `up`?"
        );
    }

    #[test]
    fn a_mistyped_option_is_named_with_the_nearest_one() {
        let expected = "error: `--versio` is not expected here\nhint: did you mean `--version`?";
        assert_eq!(complaint(&["supercargo", "--versio"]), expected);
    }

    #[test]
    fn without_a_near_word_the_hint_shows_the_way_to_the_help() {
        let hint = "hint: `supercargo --help` lists the commands, `supercargo help COMMAND` describes one";
        let expected = format!("error: there is no command `zzz`\n{hint}");
        assert_eq!(complaint(&["supercargo", "zzz"]), expected);
        assert_eq!(complaint(&["supercargo"]), format!("error: no command was given\n{hint}"));
    }

    #[test]
    fn a_mistake_in_a_command_points_at_the_help_of_that_command() {
        let hint = "hint: `supercargo topology --help` describes its options, with examples";
        let told = complaint(&["supercargo", "topology", "--output", "png"]);
        assert!(told.ends_with("hint: choose one of table, tree, json, svg"), "{told}");
        let told = complaint(&["supercargo", "-v", "4", "topology", "--zzzzzz"]);
        assert!(told.ends_with(hint), "{told}");
    }

    #[test]
    fn other_complaints_keep_claps_first_sentence_alone() {
        let text = complaint(&["supercargo", "--version=3"]);
        assert!(text.starts_with("error: unexpected value '3' for '--version'"), "{text}");
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}
