//! Deaths of schedulers and of drivers. The long form of the first is `cargo run -p e2e -- kill`.

use anyhow::{Result, ensure};
use e2e::Cluster;
use e2e::kill::KillOptions;
use e2e::steps;

use crate::stage;

crate::on_both![; embedded: a_scheduler_that_is_killed_six_times_binds_all_of_a_thousand_pods_and_loses_no_device];

async fn a_scheduler_that_is_killed_six_times_binds_all_of_a_thousand_pods_and_loses_no_device(
    cluster: &Cluster,
) -> Result<()> {
    let options = KillOptions { pods: 1000, kills: 6, seed: 7, mixed: None };
    let report = options.run(cluster, &stage::program()).await?;
    println!("seed {}: killed at {:?}, took {:?}", options.seed, report.killed_at, report.took);
    ensure!(report.killed_at.iter().any(|bound| (1..1000).contains(bound)), "{report:?}");
    Ok(())
}

#[test]
fn a_scheduler_and_drivers_that_are_killed_allocate_devices_partitions_and_what_is_lent() -> Result<()> {
    stage::embedded_with_groups(mixed)
}

pub async fn mixed(cluster: &Cluster) -> Result<()> {
    let own = stage::own();
    let options = KillOptions { pods: 300, kills: 6, seed: 11, mixed: Some(&own) };
    let report = options.run(cluster, &stage::program()).await?;
    println!("seed {}: killed at {:?}, took {:?}", options.seed, report.killed_at, report.took);
    ensure!(report.killed_at.iter().any(|bound| (1..300).contains(bound)), "{report:?}");
    Ok(())
}

#[test]
fn scheduler_and_drivers_may_die_at_every_step_of_a_negotiation() -> Result<()> {
    stage::held(async |cluster: &Cluster, hold| {
        let report = steps::run(cluster, hold, &stage::own()).await?;
        println!("{} deaths took {:?}", report.deaths, report.took);
        Ok(())
    })
}
