//! Kills an API server again and again, and checks that it keeps what it acknowledged.
//!
//! `cargo run --release -p crash -- --kills 50 --seed 1` prints figures and exits with 1 if any promise was broken. The
//! seed decides what is written and after how long each life ends; the operating system decides the rest.

mod dice;
mod ledger;
mod lives;
mod observer;
mod serve;
mod wire;
mod writer;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "crash", about = "Kills an API server again and again, and checks what it kept")]
struct Cli {
    #[command(flatten)]
    lives: lives::Lives,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Be the server that is killed; the test calls this
    #[command(hide = true)]
    Apiserver(serve::Serve),
}

fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match cli.command {
        Some(Command::Apiserver(serve)) => runtime.block_on(serve.run()).map(|()| ExitCode::SUCCESS),
        None => runtime.block_on(cli.lives.run()),
    }
}
