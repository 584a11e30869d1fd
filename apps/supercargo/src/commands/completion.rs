//! `supercargo completion`: what a shell has to know to complete the command line.

use std::io::Write;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::generate;
use clap_complete::shells::{Bash, Fish, Zsh};

use crate::cli::Cli;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  supercargo completion bash > /etc/bash_completion.d/supercargo
  supercargo completion zsh > \"${fpath[1]}/_supercargo\"
  supercargo completion fish > ~/.config/fish/completions/supercargo.fish
  source <(supercargo completion bash)                                      in this shell only";

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completion {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// A shell that completes command lines.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    /// GNU Bash
    Bash,
    /// Z shell
    Zsh,
    /// Friendly interactive shell
    Fish,
}

impl Completion {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        // A script is made as a whole, because clap_complete cannot report that the reader went away.
        let (mut script, mut command) = (Vec::new(), Cli::command());
        let name = command.get_name().to_owned();
        match self.shell {
            Shell::Bash => generate(Bash, &mut command, name, &mut script),
            Shell::Zsh => generate(Zsh, &mut command, name, &mut script),
            Shell::Fish => generate(Fish, &mut command, name, &mut script),
        }
        Ok(out.write_all(&script)?)
    }
}
