//! Pods leave tainted devices.

use std::time::Duration;

use objects::core::pod::Pod;
use objects::resource::class::DeviceTaintRule;
use objects::resource::slice::ResourceSlice;
use serde_json::{Value, json};

use crate::site::{Site, condition, goes, stays, user};

const EVENT: &str = "DeviceTaintManagerEviction";

fn uses(claim: &str) -> Value {
    json!({ "resourceClaims": [{ "name": "gpu", "resourceClaimName": claim }] })
}

async fn rule(site: &Site, effect: &str) {
    let selector = json!({ "driver": "gpu.example.com", "pool": "shelf", "device": "gpu-0" });
    let spec = json!({ "deviceSelector": selector, "taint": { "key": "broken", "effect": effect } });
    site.make::<DeviceTaintRule>(json!({ "metadata": { "name": "r" }, "spec": spec })).await;
}

/// The driver says that its device is broken.
async fn taint(site: &Site, taints: Value) {
    let devices = json!([{ "name": "gpu-0", "taints": taints }]);
    site.change::<ResourceSlice>("shelf", &json!({ "spec": { "devices": devices } })).await;
}

/// What a rule says of eviction: status, reason and message.
fn says(rule: Option<&DeviceTaintRule>) -> Option<(String, String, String)> {
    let mut conditions = rule?.status.conditions.iter();
    let said = conditions.find(|condition| condition.type_ == "EvictionInProgress")?;
    Some((said.status.clone(), said.reason.clone(), said.message.clone()))
}

#[tokio::test]
async fn a_rule_evicts_the_pods_of_a_device_and_says_how_far_it_is() {
    let site = Site::open().await;
    let _crew = site.crew();
    site.shelf().await;
    let pod = site.pod("p", "n", uses("c")).await;
    site.pod("unconcerned", "n", uses("other")).await;
    site.claim("c", json!([]), json!([]), user(&pod)).await;
    rule(&site, "NoExecute").await;
    let reason = |reason: &'static str| {
        move |rule: Option<&DeviceTaintRule>| says(rule).is_some_and(|(_, said, _)| said == reason)
    };
    site.until::<DeviceTaintRule>("r", reason("PodsPendingEviction")).await;
    let pod = site.until::<Pod>("p", goes).await.expect("its node has not ended it yet");
    let marked = condition(&pod, "DisruptionTarget");
    assert_eq!(marked, Some(("True".to_owned(), "DeletionByDeviceTaintManager".to_owned())));
    site.event("p", EVENT, "Marking for deletion: DeviceTaintRule r").await;
    // What was said stands for ten seconds.
    site.until::<DeviceTaintRule>("r", reason("Completed")).await;
    assert!(stays(site.get::<Pod>("unconcerned").await.as_ref()));
}

#[tokio::test]
async fn a_rule_without_effect_says_what_it_would_do() {
    let site = Site::open().await;
    site.shelf().await;
    let pod = site.pod("p", "n", uses("c")).await;
    site.claim("c", json!([]), json!([]), user(&pod)).await;
    let _crew = site.crew();
    rule(&site, "None").await;
    let rule = site.until::<DeviceTaintRule>("r", |rule| says(rule).is_some()).await;
    let (status, reason, message) = says(rule.as_ref()).expect("it says something");
    assert_eq!((&*status, &*reason), ("False", "NoEffect"));
    let counts =
        "1 published device and 1 allocated device selected; with effect NoExecute 1 pod in 1 namespace";
    assert!(message.starts_with(counts), "{message}");
    site.all_the_time::<Pod>("p", Duration::from_millis(300), stays).await;
}

#[tokio::test]
async fn an_eviction_that_is_to_come_is_called_off_when_the_taint_goes() {
    let site = Site::open().await;
    let _crew = site.crew();
    site.shelf().await;
    let pod = site.pod("p", "n", uses("c")).await;
    let patient = json!([{ "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3 }]);
    site.claim("c", json!([]), patient, user(&pod)).await;
    taint(&site, json!([{ "key": "broken", "effect": "NoExecute" }])).await;
    site.all_the_time::<Pod>("p", Duration::from_millis(500), stays).await;
    taint(&site, json!([])).await;
    site.event("p", EVENT, "Cancelling deletion").await;
    site.all_the_time::<Pod>("p", Duration::from_secs(4), stays).await;
    taint(&site, json!([{ "key": "broken", "effect": "NoExecute" }])).await;
    site.until::<Pod>("p", goes).await;
}

#[tokio::test]
async fn who_uses_devices_by_a_resource_or_with_a_group_is_evicted_too() {
    let site = Site::open().await;
    let _crew = site.crew();
    site.shelf().await;
    let resources = json!({ "requests": { "example.com/gpu": "1" }, "limits": { "example.com/gpu": "1" } });
    let asks = json!({ "containers": [{ "name": "c", "image": "i", "resources": resources }] });
    let by_name = site.pod("by-name", "n", asks).await;
    let owner = json!([{ "apiVersion": "v1", "kind": "Pod", "name": "by-name", "uid": by_name.metadata.uid, "controller": true }]);
    site.claim("by-name-extended", owner, json!([]), user(&by_name)).await;
    let mapping = json!([{ "containerName": "c", "requestName": "gpu", "resourceName": "example.com/gpu" }]);
    let status = json!({ "resourceClaimName": "by-name-extended", "requestMappings": mapping });
    site.say::<Pod>("by-name", &json!({ "status": { "extendedResourceClaimStatus": status } })).await;
    let mut member = uses("shared");
    member["schedulingGroup"] = json!({ "podGroupName": "g" });
    site.pod("member", "n", member).await;
    let group = json!({ "apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "gu" });
    site.claim("shared", json!([]), json!([]), group).await;
    taint(&site, json!([{ "key": "broken", "effect": "NoExecute" }])).await;
    site.until::<Pod>("by-name", goes).await;
    site.until::<Pod>("member", goes).await;
}

#[tokio::test]
async fn what_a_controller_began_another_ends() {
    let site = Site::open().await;
    site.shelf().await;
    let pod = site.pod("p", "n", uses("c")).await;
    site.claim("c", json!([]), json!([]), user(&pod)).await;
    // One controller marked the pod and died.
    let mark =
        json!({ "type": "DisruptionTarget", "status": "True", "reason": "DeletionByDeviceTaintManager" });
    site.say::<Pod>("p", &json!({ "status": { "conditions": [mark] } })).await;
    // The next finds that the taint is gone, and takes the mark back.
    let crew = site.crew();
    let spared = |pod: Option<&Pod>| {
        pod.and_then(|pod| condition(pod, "DisruptionTarget")).is_some_and(|(status, _)| status == "False")
    };
    site.until::<Pod>("p", spared).await;
    assert!(stays(site.get::<Pod>("p").await.as_ref()));
    crew.stop().await;
    // The one after it finds the mark and a taint.
    site.say::<Pod>("p", &json!({ "status": { "conditions": [mark] } })).await;
    taint(&site, json!([{ "key": "broken", "effect": "NoExecute" }])).await;
    let _crew = site.crew();
    site.until::<Pod>("p", goes).await;
}

#[tokio::test]
async fn time_that_passed_while_nobody_was_there_counts() {
    let site = Site::open().await;
    site.shelf().await;
    let pod = site.pod("p", "n", uses("c")).await;
    let patient = json!([{ "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600 }]);
    site.claim("c", json!([]), patient, user(&pod)).await;
    let crew = site.crew();
    taint(&site, json!([{ "key": "broken", "effect": "NoExecute" }])).await;
    site.all_the_time::<Pod>("p", Duration::from_millis(300), stays).await;
    crew.stop().await;
    taint(&site, json!([{ "key": "broken", "effect": "NoExecute", "timeAdded": "2026-01-02T03:04:05Z" }]))
        .await;
    let _crew = site.crew();
    site.until::<Pod>("p", goes).await;
}
