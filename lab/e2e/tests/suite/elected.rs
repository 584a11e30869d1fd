//! Two processes of a driver's controller, of which one is elected, with no more rights than its manifest has.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use client::{Candidacy, Terms as Times};
use driver_kit::controller::{Control, ControlOptions};
use e2e::shapes::{node, pod_with_claims};
use e2e::{Account, Cluster, Terms, Worker, until};
use objects::coordination::Lease;

use crate::negotiation::{Lender, asking, class};

crate::on_both![of_two_controllers_one_is_elected_and_the_other_takes_over];

/// The driver whose lease the manifest names.
const LENDER: &str = "lender.example.com";

/// A process that would be the controller, as this candidate.
fn candidate(cluster: &Cluster, lender: &Lender, identity: &str) -> Result<Control> {
    let terms = Times {
        lease_duration: Duration::from_secs(3),
        renew_deadline: Duration::from_secs(2),
        retry_period: Duration::from_millis(200),
    };
    let (namespace, name) = ("kube-system".to_owned(), LENDER.to_owned());
    let candidacy = Candidacy { namespace, name, identity: identity.to_owned(), terms };
    let connect = || cluster.connect_as(Account::DriverController);
    let election = (connect()?, candidacy);
    Control::start_elected(connect()?, election, ControlOptions::default(), lender.clone())
        .context("these times fit together")
}

async fn until_leading(cluster: &Cluster, identity: &str) -> Result<()> {
    until(&format!("{identity} leads"), async || {
        let lease: Option<Lease> = cluster.get(LENDER).await?;
        let leads = lease.is_some_and(|lease| lease.spec.holder_identity.as_deref() == Some(identity));
        Ok(leads.then_some(()))
    })
    .await
}

async fn of_two_controllers_one_is_elected_and_the_other_takes_over(cluster: &Cluster) -> Result<()> {
    cluster.teach_our_kinds().await?;
    cluster.create(&class(cluster, "lent", LENDER)?).await?;
    cluster.create_node(&node("n-1", 4)?).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &Terms::negotiating())?;
    let [one, two] = [(); 2].map(|()| Lender::new(LENDER, &[("n-1", 4)]));
    let calls = |lender: &Lender| lender.calls.load(Ordering::Relaxed);
    let first = candidate(cluster, &one, "one")?;
    until_leading(cluster, "one").await?;
    let second = candidate(cluster, &two, "two")?;
    for name in ["a", "b"] {
        cluster.create(&asking(name, "lent", LENDER)?).await?;
    }
    cluster.create(&pod_with_claims("a", &["a"])?).await?;
    cluster.bound("a").await?;
    ensure!((calls(&one), calls(&two)) == (1, 0), "who does not lead is asked nothing");
    // A process that stops gives up its lease at once.
    first.stop().await;
    until_leading(cluster, "two").await?;
    cluster.create(&pod_with_claims("b", &["b"])?).await?;
    cluster.bound("b").await?;
    ensure!((calls(&one), calls(&two)) == (1, 1), "only who leads is asked");
    second.stop().await;
    until_leading(cluster, "").await?;
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}
