//! The life of the driver: it starts the plugin, publishes what the inventory and the switches say, and stops on a signal.

use std::collections::BTreeSet;
use std::env;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use client::{Connection, Event, Resource, Selectors, WatchOptions};
use driver_kit::api::{Device, ResourceClaim};
use driver_kit::controller::{Control, ControlOptions};
use driver_kit::{CdiDir, Describe, Failure, Plugin, PluginOptions, Pool, own_results};
use futures_util::StreamExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::cli::Cli;
use crate::control::Lender;
use crate::devices;
use crate::driver::Example;
use crate::forger::Spoiler;
use crate::inventory::Inventory;
use crate::stock::Stock;
use crate::switches::{LOOK_EVERY, Publish, Switches};

/// Runs until a signal comes.
pub(crate) async fn run(cli: Cli, inventory: Inventory) -> Result<(), Failure> {
    let connection = connect(cli.kubeconfig.clone()).await?;
    let cdi = CdiDir::new(&cli.cdi_dir, &cli.driver, "device")?;
    cdi.remove_all_but(&claims(&connection, &cli.driver).await)?;
    let mut switches = cli.flags.now()?;
    let pool = devices::pool(&cli.node, &inventory, &switches.unhealthy)?;
    let (offer, offered) = watch::channel((pool.clone(), switches.clone()));
    let options = PluginOptions {
        rolling_update: cli.pod_uid.clone(),
        forger: Some(Arc::new(Spoiler(cli.flags.clone()))),
        ..PluginOptions::below(&cli.root_dir, &cli.driver, &cli.node)
    };
    let driver = Example::new(&cli.driver, cdi, connection.clone(), cli.flags.clone(), offered);
    let plugin = Plugin::start(connection, options, driver)?;
    publish(&plugin, pool, &switches);
    println!("serving {} on node {}", cli.driver, cli.node);
    let (mut interrupted, mut terminated) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    loop {
        tokio::select! {
            _ = interrupted.recv() => break,
            _ = terminated.recv() => break,
            () = sleep(LOOK_EVERY) => {}
        }
        match cli.flags.now() {
            Ok(now) if now != switches => {
                switches = now;
                let pool = devices::pool(&cli.node, &inventory, &switches.unhealthy)?;
                offer.send_replace((pool.clone(), switches.clone()));
                publish(&plugin, pool, &switches);
                println!("switches changed: {switches:?}");
            }
            Ok(_) => {}
            // Somebody is just writing it, or will see this.
            Err(wrong) => eprintln!("warning: {wrong}"),
        }
    }
    plugin.stop().await;
    println!("stopped; what is prepared and published stays for the next start");
    Ok(())
}

/// Gives what there is to claims, until a signal comes.
pub(crate) async fn lend(cli: Cli, stock: Stock) -> Result<(), Failure> {
    let connection = connect(cli.kubeconfig.clone()).await?;
    let lender = Lender::new(&cli.driver, connection.clone(), stock, cli.flags.clone());
    let control = Control::start(connection, ControlOptions::default(), lender);
    println!("giving as {}", cli.driver);
    let (mut interrupted, mut terminated) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupted.recv() => {}
        _ = terminated.recv() => {}
    }
    control.stop().await;
    println!("stopped; claims keep what they have");
    Ok(())
}

fn publish(plugin: &Plugin<Example>, mut pool: Pool, switches: &Switches) {
    let pools = match switches.publish {
        Publish::Ok => vec![pool],
        Publish::Fail => {
            pool.devices.push(Device::named("Not A Name!"));
            vec![pool]
        }
        Publish::Nothing => Vec::new(),
    };
    if let Err(bad) = plugin.publish(pools) {
        eprintln!("warning: {bad}");
    }
}

async fn connect(kubeconfig: Option<PathBuf>) -> Result<Connection, Failure> {
    let options = client::Options { user_agent: "example-driver".to_owned(), ..client::Options::default() };
    let environment = || env::var_os("KUBECONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
    Ok(match kubeconfig.or_else(environment) {
        Some(path) => Connection::from_kubeconfig(&path, None, &options).await?,
        None => Connection::in_cluster(&options)?,
    })
}

/// The claims that hold devices of the driver: CDI files of others were left by a crash.
async fn claims(connection: &Connection, driver: &str) -> BTreeSet<String> {
    let claims = Resource::<ResourceClaim>::named("resourceclaims");
    let mut stream =
        pin!(connection.list_and_watch(&claims, &Selectors::default(), &WatchOptions::default()));
    let mut found = BTreeSet::new();
    while let Some(event) = stream.next().await {
        match event {
            Event::Applied(claim) if own_results(&claim, driver).next().is_some() => {
                found.insert(claim.metadata.uid);
            }
            Event::Synced { .. } => break,
            Event::Interrupted { why, .. } => eprintln!("warning: cannot list claims: {why}"),
            Event::Applied(_)
            | Event::Deleted(_)
            | Event::Vanished(_)
            | Event::Progressed { .. }
            | Event::Unreadable { .. } => {}
        }
    }
    found
}
