//! The name under which the program was called: `supercargo`, or `kubectl supercargo` as a plugin of kubectl. Usage, examples and
//! hints say what has to be typed for the same command again.

use std::collections::BTreeMap;
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

    /// The flags of the command in a command line with their values, also those that have them by default.
    pub(crate) fn flags(self, words: impl IntoIterator<Item = OsString>) -> BTreeMap<String, String> {
        let mut command = self.command();
        let Ok(matches) = command.try_get_matches_from_mut(words) else { return BTreeMap::new() };
        let Some((name, matches)) = matches.subcommand() else { return BTreeMap::new() };
        let arguments = command.find_subcommand(name).into_iter().flat_map(clap::Command::get_arguments);
        let value = |id: &str| {
            let values = matches.try_get_raw(id).ok().flatten().into_iter().flatten();
            values.map(|value| value.to_string_lossy().into_owned()).collect::<Vec<_>>().join(",")
        };
        let flag =
            |argument: &clap::Arg| Some((argument.get_long()?.to_owned(), value(argument.get_id().as_str())));
        arguments.filter_map(flag).filter(|(flag, _)| flag != "help").collect()
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
    fn flags_are_those_that_were_given_and_those_that_have_a_default() {
        let words = [
            "supercargo",
            "controllers",
            "--controllers=a-controller,b-controller",
            "--secure-port",
            "1",
            "-v",
            "4",
        ];
        let flags = Program::Itself.flags(words.map(OsString::from));
        let value = |flag: &str| flags.get(flag).map(String::as_str);
        assert_eq!(value("controllers"), Some("a-controller,b-controller"), "{flags:?}");
        assert_eq!(value("secure-port"), Some("1"));
        assert_eq!(value("terminated-pod-gc-threshold"), Some("12500"));
        assert_eq!(
            (value("leader-elect"), value("kubeconfig"), value("v")),
            (Some("true"), Some(""), Some("4"))
        );
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
