//! `supercargo up`: a whole cluster's control plane in one process.
//!
//! Until there is a scheduler to run it starts nothing, and says so instead of pretending.

use std::io::Write;

use clap::Args;

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  supercargo up               from an installed binary
  cargo run --release -- up   from the source";

const PLAN: &str = "\
nothing was started: `up` is not there yet

what it will do
  start a Kubernetes API server on 127.0.0.1 that keeps its objects on disk
  start the scheduler beside it, in the same process
  write a kubeconfig, so that kubectl and device drivers can connect

what is there today
  `supercargo apiserver` and `supercargo simulate`; no scheduler to run yet: README.md lists what there is
";

/// Start an API server and the scheduler on this machine, in one process (not there yet: says what it will do)
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Up {}

impl Up {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        Ok(out.write_all(PLAN.as_bytes())?)
    }
}
