//! How the program logs: options of every command, on the command line before or after its name.

use clap::Args;
use telemetry::logs::{self, Format};

use crate::failure::Failure;

/// Options for the log, which goes to stderr.
#[derive(Args, Debug)]
pub(crate) struct Logging {
    /// The format of the log: text or json
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    logging_format: Format,
    /// How much to log: 0 what operators need, 4 every decision, 6 everything [default: 0; commands that print an answer log nothing
    /// without it]
    #[arg(short, long, global = true, value_name = "LEVEL")]
    v: Option<u8>,
}

impl Logging {
    /// Starts the log of a command that runs until it is stopped, or of any other if it was asked for.
    pub(crate) fn start(&self, is_daemon: bool) -> Result<(), Failure> {
        if !is_daemon && self.v.is_none() {
            return Ok(());
        }
        logs::start(self.logging_format, self.v.unwrap_or(0))
            .map_err(|error| Failure::hinted(&error.to_string()))
    }
}
