//! The kill test in short: the long form is `cargo run -p e2e -- kill`.

use anyhow::{Result, ensure};
use e2e::Cluster;
use e2e::kill::Plan;

use crate::stage;

crate::on_both![; embedded: a_scheduler_that_is_killed_six_times_binds_all_of_a_thousand_pods_and_loses_no_device];

async fn a_scheduler_that_is_killed_six_times_binds_all_of_a_thousand_pods_and_loses_no_device(
    cluster: &Cluster,
) -> Result<()> {
    let plan = Plan { pods: 1000, kills: 6, seed: 7 };
    let report = plan.run(cluster, &stage::program()).await?;
    println!("seed {}: killed at {:?}, took {:?}", plan.seed, report.killed_at, report.took);
    ensure!(report.killed_at.iter().any(|bound| (1..1000).contains(bound)), "{report:?}");
    Ok(())
}
