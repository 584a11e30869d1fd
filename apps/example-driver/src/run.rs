//! The life of the driver: it starts the plugin, publishes what the inventory and the switches say, and stops on a signal.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use client::{Connection, Event, Resource, Selectors, WatchOptions};
use driver_kit::api::{Device, ResourceClaim};
use driver_kit::controller::{Control, ControlOptions};
use driver_kit::{CdiDir, Describe, Failure, Plugin, PluginOptions, Pool, PreparedGroups, own_results};
use futures_util::StreamExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::cli::Cli;
use crate::control::Lender;
use crate::devices;
use crate::driver::Example;
use crate::forger::Spoiler;
use crate::inventory::Inventory;
use crate::ledger::Ledger;
use crate::porter::Porter;
use crate::shelf::{Desk, Shelf};
use crate::stock::Stock;
use crate::switches::{Flags, LOOK_EVERY, Publish, Switches};

/// How long calls that are under way may take when the controller is to stop.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Delay after a failure before a report is retried.
const RETRY_EVERY: Duration = Duration::from_secs(1);

/// Runs until a signal comes.
pub(crate) async fn run(cli: Cli, inventory: Inventory) -> Result<(), Failure> {
    let connection = connect(cli.kubeconfig.clone()).await?;
    let cdi = CdiDir::new(&cli.cdi_dir, &cli.driver, "device")?;
    let claims = claims(&connection, &cli.driver).await;
    cdi.remove_all_but(&claims.keys().cloned().collect())?;
    let mut switches = cli.flags.now()?;
    let pool = devices::pool(&cli.node, &inventory, &switches.unhealthy)?;
    let mut prepared = PreparedGroups::default();
    for uid in cdi.prepared()? {
        if let Some(claim) = claims.get(&uid) {
            prepared.restore(claim, &cli.driver, std::slice::from_ref(&pool));
        }
    }
    let (offer, offered) = watch::channel((pool.clone(), switches.clone()));
    let options = PluginOptions {
        rolling_update: cli.pod_uid.clone(),
        forger: Some(Arc::new(Spoiler(cli.flags.clone()))),
        ..PluginOptions::below(&cli.root_dir, &cli.driver, &cli.node)
    };
    let driver = Example::new(&cli.driver, cdi, connection.clone(), cli.flags.clone(), offered, prepared);
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
        if let Some(now) = changed(&cli.flags, &switches) {
            switches = now;
            let pool = devices::pool(&cli.node, &inventory, &switches.unhealthy)?;
            offer.send_replace((pool.clone(), switches.clone()));
            publish(&plugin, pool, &switches);
            println!("switches changed: {switches:?}");
        }
    }
    plugin.stop().await;
    println!("stopped; prepared claims and published slices stay for the next start");
    Ok(())
}

/// Gives what there is to claims, until a signal comes.
pub(crate) async fn lend(cli: Cli, stock: Stock) -> Result<(), Failure> {
    let connection = connect(cli.kubeconfig.clone()).await?;
    let ledger = Ledger::new(&cli.driver, stock);
    let _following = ledger.follow(&connection, &cli.namespace);
    let lender = Lender { name: cli.driver.clone(), ledger: ledger.clone(), flags: cli.flags.clone() };
    let control = Control::start(connection, ControlOptions::default(), lender);
    println!("giving as {}", cli.driver);
    let mut switches = cli.flags.now()?;
    let (mut interrupted, mut terminated) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    loop {
        tokio::select! {
            _ = interrupted.recv() => break,
            _ = terminated.recv() => break,
            () = ledger.news.notified() => control.judge_again(),
            () = sleep(LOOK_EVERY) => if let Some(now) = changed(&cli.flags, &switches) {
                switches = now;
                control.judge_again();
                println!("switches changed: {switches:?}");
            },
        }
    }
    match timeout(STOP_WITHIN, control.stop()).await {
        Ok(()) => println!("stopped; claims keep their devices"),
        Err(_) => println!("stopped during a call; claims keep their devices"),
    }
    Ok(())
}

/// Reports what the node has, until a signal comes.
pub(crate) async fn report(cli: Cli, path: &Path) -> Result<(), Failure> {
    let connection = connect(cli.kubeconfig.clone()).await?;
    let desk = Desk::new(connection.clone(), &cli.namespace, &cli.driver, &cli.node);
    let plugin = serve(&cli, connection)?;
    let mut switches = cli.flags.now()?;
    let mut said = None;
    Shelf::read(path)?;
    println!("reporting {} of node {}", cli.driver, cli.node);
    let (mut interrupted, mut terminated) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    loop {
        switches = changed(&cli.flags, &switches).unwrap_or(switches);
        match wanted(path, &switches) {
            Ok(wanted) if said.as_ref() != Some(&wanted) => {
                let written = match &wanted {
                    Some(shelf) => desk.report(shelf).await,
                    None => desk.withdraw().await,
                };
                match written {
                    Ok(()) => {
                        println!("reported {}", wanted.as_deref().unwrap_or("nothing"));
                        said = Some(wanted);
                    }
                    Err(why) => eprintln!("warning: {why}; retrying"),
                }
            }
            Ok(_) => {}
            // Somebody is just writing it, or will see this.
            Err(why) => eprintln!("warning: {why}"),
        }
        let pause = if said.is_some() { LOOK_EVERY } else { RETRY_EVERY };
        tokio::select! {
            _ = interrupted.recv() => break,
            _ = terminated.recv() => break,
            () = sleep(pause) => {}
        }
    }
    if let Some(plugin) = plugin {
        plugin.stop().await;
    }
    println!("stopped; the report stays for the next start");
    Ok(())
}

/// Prepares what the controller gave, where there is a kubelet that asks for it; simulated nodes have none.
fn serve(cli: &Cli, connection: Connection) -> Result<Option<Plugin<Porter>>, Failure> {
    if !cli.root_dir.join("plugins_registry").is_dir() {
        println!("no kubelet found in {}; claims are not prepared", cli.root_dir.display());
        return Ok(None);
    }
    let options = PluginOptions {
        rolling_update: cli.pod_uid.clone(),
        forger: Some(Arc::new(Spoiler(cli.flags.clone()))),
        ..PluginOptions::below(&cli.root_dir, &cli.driver, &cli.node)
    };
    let porter = Porter { name: cli.driver.clone(), flags: cli.flags.clone() };
    Ok(Some(Plugin::start(connection, options, porter)?))
}

/// What a node is to report, as its file and the switches say; nothing at all if its report is to be withdrawn.
fn wanted(path: &Path, switches: &Switches) -> Result<Option<String>, Failure> {
    Ok(match switches.publish {
        Publish::Ok => Some(serde_json::to_string(&Shelf::read(path)?)?),
        Publish::Fail => Some("Not A Shelf!".to_owned()),
        Publish::Nothing => None,
    })
}

/// The switches, if they changed.
fn changed(flags: &Flags, switches: &Switches) -> Option<Switches> {
    match flags.now() {
        Ok(now) => (now != *switches).then_some(now),
        // Somebody is just writing it, or will see this.
        Err(wrong) => {
            eprintln!("warning: {wrong}");
            None
        }
    }
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

/// The claims that hold devices of the driver, by uid: CDI files of others were left by a crash.
async fn claims(connection: &Connection, driver: &str) -> BTreeMap<String, ResourceClaim> {
    let claims = Resource::<ResourceClaim>::named("resourceclaims");
    let mut stream =
        pin!(connection.list_and_watch(&claims, &Selectors::default(), &WatchOptions::default()));
    let mut found = BTreeMap::new();
    while let Some(event) = stream.next().await {
        match event {
            Event::Applied(claim) if own_results(&claim, driver).next().is_some() => {
                found.insert(claim.metadata.uid.clone(), claim);
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
