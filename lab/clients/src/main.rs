//! Runs the clients that people use against our server: kubectl by a script whose output is compared with text that is
//! checked in, and the Python client by a script of its own.
//!
//! Every session has a fresh server. A client that is not installed is named and left out; everything else that does
//! not go as written is a failure.

mod launch;
mod placeholders;
mod python;
mod session;
mod transcript;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use crate::launch::Running;
use crate::session::Client;

/// Run kubectl and the Python client against the server, and compare what they say with what they should say
#[derive(Debug, Parser)]
#[command(name = "clients")]
struct Arguments {
    /// Use the server of this kubeconfig instead of one of our own for each session
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Write what kubectl says into its transcript instead of comparing
    #[arg(long)]
    bless: bool,
}

/// How many steps went as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: usize,
    failed: usize,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tally = Tally::default();
    let clients = session::installed();
    if clients.is_empty() {
        println!("skipped: kubectl is not installed");
    }
    for client in &clients {
        println!("== kubectl {} ({})", client.version, client.path.display());
        tally.add(with_kubectl(&arguments, client, &home.join("kubectl"))?);
    }
    println!("== Python");
    let running = Running::new(arguments.kubeconfig.as_deref())?;
    tally.add(python::run(&home.join("python/session.py"), &running)?);
    drop(running);
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn with_kubectl(arguments: &Arguments, client: &Client, folder: &Path) -> Result<Tally> {
    let running = Running::new(arguments.kubeconfig.as_deref())?;
    let path = folder.join("session.txt");
    let text = std::fs::read_to_string(&path)?;
    let mut transcript = transcript::parse(&text)?;
    let tally = session::run(&mut transcript, client, &running, folder, arguments.bless)?;
    if arguments.bless {
        std::fs::write(&path, transcript::render(&transcript))?;
    }
    Ok(tally)
}
