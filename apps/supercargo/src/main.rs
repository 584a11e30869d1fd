//! The `supercargo` command.
//!
//! What a command answers goes to stdout and nothing else does; complaints go to stderr. Exit codes: 0 done, 1 the
//! command failed, 2 the command line was wrong, 3 the result is unwelcome: a pod does not fit, or a decision differs. A reader that closes the
//! pipe early has seen enough: that is no failure.

mod amounts;
mod cli;
mod cluster;
mod columns;
mod commands;
mod configuration;
mod daemon;
mod embedded;
mod failure;
mod live;
mod logging;
mod page;
mod private_file;
mod program;
mod reach;
mod requests;
mod sample;
mod state;
mod troubles;
mod yaml;

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use failure::Failure;
use program::Program;

fn main() -> ExitCode {
    let mut out = io::stdout().lock();
    let done = answer(&mut out).and_then(|code| out.flush().map(|()| code).map_err(Failure::Output));
    match done {
        Ok(code) => code,
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            // When stderr is gone too there is nobody left to tell.
            let _ = writeln!(io::stderr(), "{}", Program::current().speak(&failure.to_string()));
            failure.exit_code()
        }
    }
}

fn answer(out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let program = Program::current();
    match program.parse(env::args_os()) {
        Ok(cli) => {
            cli.logging.start(cli.command.is_daemon())?;
            commands::run(&cli.command, out)
        }
        Err(asked) if !asked.use_stderr() => {
            write!(out, "{}", program.speak(&asked.render().to_string()))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(wrong) => Err(failure::from_clap(&wrong, env::args_os().skip(1))),
    }
}
