//! The name under which the program was called: `supercargo`, or `kubectl supercargo` as a plugin of kubectl. Usage, examples and
//! hints say what has to be typed for the same command again.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use clap::{CommandFactory, FromArgMatches};

use crate::cli::Cli;

/// The name of the file that kubectl looks for.
const PLUGIN: &str = "kubectl-supercargo";

/// How the program was called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Program {
    /// By its own name.
    Itself,
    /// By kubectl.
    Plugin,
}

impl Program {
    /// How it was called, by the name of its file.
    pub(crate) fn current() -> Program {
        env::args_os().next().map_or(Program::Itself, |name| Program::named(&name))
    }

    fn named(name: &OsString) -> Program {
        let stem = Path::new(name).file_stem();
        if stem.is_some_and(|stem| stem == PLUGIN) { Program::Plugin } else { Program::Itself }
    }

    /// Reads a command line, the first word of which is the name of the program.
    pub(crate) fn parse(self, words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        Cli::from_arg_matches(&self.command().try_get_matches_from(words)?)
    }

    /// The command line, under the name that has to be typed.
    fn command(self) -> clap::Command {
        match self {
            Program::Itself => Cli::command().override_usage("supercargo <COMMAND>"),
            Program::Plugin => {
                Cli::command().bin_name("kubectl supercargo").override_usage("kubectl supercargo <COMMAND>")
            }
        }
    }

    /// A text with the commands in it as they have to be typed: those at the beginning of a line, behind `|` and in quotes.
    pub(crate) fn speak(self, text: &str) -> String {
        match self {
            Program::Itself => text.to_owned(),
            Program::Plugin => ["\n  ", "| ", "`"].iter().fold(text.to_owned(), |text, before| {
                text.replace(&format!("{before}supercargo "), &format!("{before}kubectl supercargo "))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(program: Program, words: &[&str]) -> String {
        let error = program.parse(words.iter().map(OsString::from)).expect_err("help was asked for");
        program.speak(&error.render().to_string())
    }

    #[test]
    fn a_plugin_says_what_to_type_after_kubectl() {
        let plugin = Program::named(&OsString::from("/usr/local/bin/kubectl-supercargo"));
        assert_eq!(plugin, Program::Plugin);
        let text = help(plugin, &["kubectl-supercargo", "devices", "--help"]);
        assert!(text.contains("Usage: kubectl supercargo devices "), "{text}");
        assert!(text.contains("\n  kubectl supercargo devices --node"), "{text}");
        assert!(text.contains("| kubectl supercargo devices --state -"), "{text}");
        let itself = Program::named(&OsString::from("target/debug/supercargo"));
        let text = help(itself, &["supercargo", "devices", "--help"]);
        assert!(
            text.contains("Usage: supercargo devices ") && !text.contains("kubectl supercargo"),
            "{text}"
        );
    }
}
