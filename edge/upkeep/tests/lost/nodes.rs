//! Nodes that are silent, and their pods.

use std::time::Duration;

use objects::core::node::Node;
use objects::core::pod::Pod;
use serde_json::{Value, json};

use crate::site::{GRACE, Site, condition, goes, ready, stays};

/// Taints by key; those that drive pods away end in `!`.
fn taints(node: Option<&Node>) -> Vec<String> {
    let taints = node.into_iter().flat_map(|node| &node.spec.taints);
    let name = |taint: &objects::core::node::Taint| {
        let key = taint.key.trim_start_matches("node.kubernetes.io/");
        format!("{key}{}", if taint.effect == "NoExecute" { "!" } else { "" })
    };
    taints.map(name).collect()
}

fn is_ready(node: Option<&Node>) -> bool {
    let mut conditions = node.into_iter().flat_map(|node| &node.status.conditions);
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Bears a lost node for so many seconds.
fn patient(seconds: i64) -> Value {
    let bears = |key: &str| json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds });
    json!({ "tolerations": [bears("node.kubernetes.io/unreachable"), bears("node.kubernetes.io/not-ready")] })
}

#[tokio::test]
async fn a_silent_node_is_given_up_and_its_pods_leave_in_time() {
    let site = Site::open().await;
    let _crew = site.crew();
    site.node("alive").await;
    site.node("silent").await;
    let _alive = site.keep_alive("alive");
    let silent = site.keep_alive("silent");
    site.pod("hasty", "silent", patient(1)).await;
    site.pod("patient", "silent", patient(600)).await;
    site.pod("elsewhere", "alive", patient(0)).await;
    site.all_the_time::<Node>("silent", GRACE * 2, is_ready).await;
    silent.abort();
    let given_up = |node: Option<&Node>| taints(node) == ["unreachable", "unreachable!"];
    site.until::<Node>("silent", given_up).await;
    let unready = |pod: Option<&Pod>| {
        pod.and_then(|pod| condition(pod, "Ready")) == Some(("False".to_owned(), "NodeNotReady".to_owned()))
    };
    site.until::<Pod>("patient", unready).await;
    site.until::<Pod>("hasty", goes).await;
    site.event("hasty", "TaintManagerEviction", "unreachable on node silent").await;
    assert!(stays(site.get::<Pod>("patient").await.as_ref()));
    assert!(stays(site.get::<Pod>("elsewhere").await.as_ref()));
    // It comes back.
    let _silent = site.keep_alive("silent");
    site.say::<Node>("silent", &json!({ "status": { "conditions": [ready("True")] } })).await;
    site.until::<Node>("silent", |node| taints(node).is_empty()).await;
    site.all_the_time::<Node>("silent", GRACE * 2, is_ready).await;
}

#[tokio::test]
async fn when_all_nodes_are_silent_nobody_is_driven_away() {
    let site = Site::open().await;
    let _crew = site.crew();
    site.node("a").await;
    site.node("b").await;
    site.pod("p", "a", patient(0)).await;
    let nodes = [site.keep_alive("a"), site.keep_alive("b")];
    site.all_the_time::<Node>("a", GRACE, is_ready).await;
    nodes.iter().for_each(tokio::task::JoinHandle::abort);
    // They have their time twice, since it may be us.
    site.all_the_time::<Node>("a", GRACE * 3 / 2, is_ready).await;
    site.until::<Node>("a", |node| taints(node) == ["unreachable"]).await;
    site.until::<Node>("b", |node| taints(node) == ["unreachable"]).await;
    site.all_the_time::<Pod>("p", GRACE * 2, stays).await;
}

#[tokio::test]
async fn a_taint_that_nobody_took_away_drives_nobody_away() {
    let site = Site::open().await;
    site.node("n").await;
    let lost = json!({ "key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-01-02T03:04:05Z" });
    site.change::<Node>("n", &json!({ "spec": { "taints": [lost] } })).await;
    site.pod("p", "n", patient(1)).await;
    // The node came back while no controller was there.
    let _alive = site.keep_alive("n");
    let _crew = site.crew();
    site.until::<Node>("n", |node| taints(node).is_empty()).await;
    site.all_the_time::<Pod>("p", GRACE * 2, stays).await;
}

#[tokio::test]
async fn pods_leave_a_node_whose_taint_they_do_not_bear_also_after_a_restart() {
    let site = Site::open().await;
    site.node("n").await;
    let _alive = site.keep_alive("n");
    let bears = |seconds: i64| json!({ "tolerations": [{ "key": "repair", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds }] });
    site.pod("hasty", "n", json!({})).await;
    site.pod("patient", "n", bears(2)).await;
    let crew = site.crew();
    let added = model::timestamp::Timestamp::parse("2099-01-01T00:00:00Z").expect("a time");
    let later = json!({ "key": "later", "effect": "NoExecute", "timeAdded": added.to_string() });
    site.change::<Node>(
        "n",
        &json!({ "spec": { "taints": [later, { "key": "repair", "effect": "NoExecute" }] } }),
    )
    .await;
    site.until::<Pod>("hasty", goes).await;
    crew.stop().await;
    assert!(stays(site.get::<Pod>("patient").await.as_ref()));
    let _crew = site.crew();
    site.all_the_time::<Pod>("patient", Duration::from_millis(1500), stays).await;
    site.until::<Pod>("patient", goes).await;
}
