//! Elections with short terms, on the clock of the machine.

use std::time::Duration;

use client::{Candidacy, Connection, Election, Leadership, Resource, Terms, identity, lead};
use objects::coordination::Lease;
use tokio::time::{Instant, timeout};

use crate::served::Served;
use crate::served::real::Real;

/// Leases count whole seconds, so nothing shorter than one makes sense.
const TERMS: Terms = Terms {
    lease_duration: Duration::from_secs(3),
    renew_deadline: Duration::from_secs(2),
    retry_period: Duration::from_millis(100),
};

fn stand(connection: &Connection, who: &str) -> Election {
    let candidacy = Candidacy {
        namespace: "kube-system".to_owned(),
        name: "supercargo".to_owned(),
        identity: who.to_owned(),
        terms: TERMS,
    };
    lead(connection.clone(), candidacy).expect("the terms fit together")
}

async fn until(election: &Election, reached: impl Fn(&Leadership) -> bool) -> Leadership {
    let mut state = election.state();
    let told = timeout(Duration::from_secs(10), state.wait_for(|leadership| reached(leadership))).await;
    told.expect("it comes to that in time").expect("the candidate is at work").clone()
}

fn leads(leadership: &Leadership) -> bool {
    matches!(leadership, Leadership::Leading { .. })
}

fn follows(who: &str) -> impl Fn(&Leadership) -> bool {
    move |leadership| matches!(leadership, Leadership::Following { leader: Some(leader), .. } if leader == who)
}

fn leases() -> Resource<Lease> {
    Resource::named("leases").within("kube-system")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_leads_and_the_other_follows_until_it_resigns() {
    follow_and_succeed(&Served::start().connect()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_leads_by_a_lease_of_a_real_server() {
    if let Some(real) = Real::start("leading").await {
        follow_and_succeed(&real.connection).await;
    }
}

async fn follow_and_succeed(connection: &Connection) {
    let first = stand(connection, "first");
    until(&first, leads).await;
    let second = stand(connection, "second");
    until(&second, follows("first")).await;
    // Longer than the lease lasts: it is renewed.
    let Leadership::Leading { until: before } = *first.state().borrow() else { unreachable!("it leads") };
    tokio::time::sleep(TERMS.lease_duration + TERMS.retry_period).await;
    let Leadership::Leading { until: after } = *first.state().borrow() else {
        unreachable!("it still leads")
    };
    assert!(after > before && !leads(&second.state().borrow()));
    let resigned = Instant::now();
    let state = first.state();
    first.resign().await;
    assert_eq!(*state.borrow(), Leadership::Resigned);
    until(&second, leads).await;
    assert!(resigned.elapsed() < TERMS.lease_duration, "a lease that was freed is not waited for");
    let lease = connection.get(&leases(), "supercargo").await.done().expect("is there");
    assert_eq!(lease.spec.holder_identity.as_deref(), Some("second"));
    assert_eq!(lease.spec.lease_duration_seconds, Some(3));
    assert!(lease.spec.lease_transitions >= Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_goes_silent_is_succeeded_when_its_lease_has_run_out() {
    let served = Served::start();
    let connection = served.connect();
    let first = stand(&connection, "first");
    until(&first, leads).await;
    let second = stand(&connection, "second");
    until(&second, follows("first")).await;
    let silent = Instant::now();
    drop(first);
    until(&second, leads).await;
    assert!(silent.elapsed() >= TERMS.lease_duration - 2 * TERMS.retry_period, "{:?}", silent.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_whose_lease_is_taken_has_lost() {
    let served = Served::start();
    let connection = served.connect();
    let first = stand(&connection, "first");
    until(&first, leads).await;
    let body = serde_json::json!({"spec": {"holderIdentity": "usurper"}});
    let taken = connection.patch(&leases(), "supercargo", &client::Patch::Merge, &body).await;
    assert!(taken.done().is_some());
    let lost = until(&first, |leadership| matches!(leadership, Leadership::Lost { .. })).await;
    assert_eq!(lost, Leadership::Lost { why: "usurper has taken the lease supercargo".to_owned() });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_cannot_reach_the_server_gives_up_before_its_lease_runs_out() {
    let mut served = Served::start();
    let connection = served.connect();
    let first = stand(&connection, "first");
    until(&first, leads).await;
    let gone = Instant::now();
    served.stop();
    let lost = until(&first, |leadership| matches!(leadership, Leadership::Lost { .. })).await;
    assert!(gone.elapsed() < TERMS.lease_duration, "{:?}", gone.elapsed());
    let Leadership::Lost { why } = lost else { panic!("it has lost") };
    assert!(why.contains("could not be renewed"), "{why}");
}

#[test]
fn no_two_processes_have_the_same_identity() {
    let (one, two) = (identity(), identity());
    assert_ne!(one, two);
    assert!(one.split_once('_').is_some_and(|(host, uuid)| !host.is_empty() && uuid.len() == 36), "{one}");
}
