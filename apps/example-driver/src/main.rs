//! A driver of simulated devices, made with `driver-kit`: an example for authors of drivers, and a bad driver for tests.
//!
//! What happens goes to stdout, warnings and errors to stderr. Exit codes: 0 done, 1 failed, 2 the command line was wrong,
//! 70 crashed on purpose.

mod cli;
mod control;
mod devices;
mod driver;
mod forger;
mod inventory;
mod ledger;
mod porter;
mod run;
mod shelf;
mod stock;
mod switches;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use driver_kit::Failure;
use tokio::runtime::Runtime;

use cli::Cli;
use inventory::Inventory;

fn main() -> ExitCode {
    match work(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {}", failure.to_string().replace("; hint: ", "\nhint: "));
            ExitCode::FAILURE
        }
    }
}

fn work(cli: Cli) -> Result<(), Failure> {
    if let Some(path) = &cli.stock {
        let text =
            fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let stock = serde_saphyr::from_str(&text).map_err(|error| {
            format!("{} is not a valid stock file: {error}; hint: see examples/negotiation", path.display())
        })?;
        return Runtime::new()?.block_on(run::lend(cli, stock));
    }
    if let Some(path) = cli.shelf.clone() {
        return Runtime::new()?.block_on(run::report(cli, &path));
    }
    let inventory = read(cli.inventory.as_deref().unwrap_or(Path::new("")))?;
    if cli.check {
        let pool = devices::pool(&cli.node, &inventory, &BTreeSet::new())?;
        for device in &pool.devices {
            println!("{}", device.name);
        }
        return Ok(());
    }
    Runtime::new()?.block_on(run::run(cli, inventory))
}

fn read(path: &Path) -> Result<Inventory, Failure> {
    let file = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {file}: {error}"))?;
    Ok(Inventory::read(&file, &text).map_err(|mistake| mistake.to_string())?)
}
