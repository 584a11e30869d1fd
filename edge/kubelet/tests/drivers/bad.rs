//! A driver that misbehaves hurts its own pods only, and an event says which driver it is and what to do.

use crate::cluster::{Cluster, NODE, called};
use crate::driver::Manner;

const GOOD: &str = "good.example.com";
const BAD: &str = "bad.example.com";

/// A pod of a bad driver waits with an event that has these words, while a pod of a good driver runs, and both can go.
async fn check(manner: Manner, words: &[&str]) {
    let cluster = Cluster::start().await;
    let _bad = cluster.driver(BAD, manner);
    let good = cluster.driver(GOOD, Manner::Good);
    cluster.pod_with_device("hurt", BAD).await;
    let event = cluster.event("hurt", words).await;
    assert_eq!(event.reason, "FailedPrepareDynamicResources");
    assert!(event.note.contains(BAD) && event.note.contains("hint: "), "{}", event.note);
    assert!(event.note.len() <= 1024);
    cluster.pod_with_device("fine", GOOD).await;
    cluster.phase("fine", "Running").await;
    cluster.phase("hurt", "Pending").await;
    cluster.delete_pod("fine", false).await;
    cluster.gone("fine").await;
    assert!(good.calls().contains(&"unprepare fine".to_owned()));
    if manner != Manner::Crashes {
        cluster.delete_pod("hurt", false).await;
        cluster.gone("hurt").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_hangs_is_given_up_on_after_its_time() {
    check(Manner::Hangs, &["NodePrepareResources of DRA driver", "no answer within 2s"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_crashes_is_called_again_when_it_is_back() {
    check(Manner::Crashes, &["NodePrepareResources of DRA driver"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_refuses_is_quoted() {
    check(Manner::Refuses, &["failed for ResourceClaim hurt: the device has no power"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_for_another_claim_is_no_answer() {
    check(Manner::WrongClaim, &["unknown claim UID nobody-asked-for-this"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_leaves_a_claim_out_is_no_answer() {
    check(Manner::Skips, &["skipped ResourceClaim hurt"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_is_given_twice_is_noticed() {
    check(Manner::Twice, &["returned device device-0 of pool pool twice"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_beyond_all_bounds_is_not_read() {
    check(Manner::Oversize, &["OutOfRange", "too large"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_that_cannot_be_drivers_are_told_so_and_the_node_says_it_too() {
    let cluster = Cluster::start().await;
    let named = cluster.driver("Bad_Name", Manner::Good);
    let event = cluster.event(NODE, &["\"Bad_Name\"", "cannot be the name of a DRA driver", "hint: "]).await;
    assert_eq!((&*event.reason, &*event.regarding.kind), ("FailedPluginRegistration", "Node"));
    called(&named, "registered false \"Bad_Name\"").await;

    let old = cluster.driver_with("old.example.com", Manner::Good, &["v1alpha3.Node"]);
    cluster.event(NODE, &["DRA driver old.example.com", "supports none of the services", "hint: "]).await;
    called(&old, "registered false").await;

    let _silent = cluster.driver("silent.example.com", Manner::Silent);
    cluster
        .event(NODE, &["silentexamplecom-reg.sock did not answer GetInfo", "no answer within 1s", "hint: "])
        .await;

    let good = cluster.driver(GOOD, Manner::Good);
    called(&good, "registered true").await;
    cluster.pod_with_device("fine", GOOD).await;
    cluster.phase("fine", "Running").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_whose_driver_was_never_there_waits_and_goes_without_it() {
    let cluster = Cluster::start().await;
    cluster.pod_with_device("lonely", BAD).await;
    cluster.event("lonely", &["DRA driver bad.example.com is not registered", "plugins_registry"]).await;
    cluster.delete_pod("lonely", false).await;
    cluster.gone("lonely").await;
}
