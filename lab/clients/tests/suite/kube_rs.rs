//! A session of kube-rs over TLS: lists in pages, watches in both ways, server-side apply, leases and deletion.
//!
//! The kinds are small ones on purpose: decoders of large kinds take minutes to build.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Config};
use serde_json::json;

use crate::served::Served;

async fn client(served: &Served) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(&served.kubeconfig()).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .expect("the kubeconfig is whole");
    Client::try_from(config).expect("the certificates can be used")
}

fn settings(name: &str, colour: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([("colour".to_owned(), colour.to_owned())])),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("colour".to_owned(), colour.to_owned())])),
        ..ConfigMap::default()
    }
}

fn code<T>(answer: kube::Result<T>) -> u16 {
    match answer {
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => unreachable!("not an answer of the server: {error}"),
        Ok(_) => 200,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_come_in_pages_and_by_label() {
    let served = Served::start().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client(&served).await);
    for number in 0..5 {
        let colour = if number % 2 == 0 { "blue" } else { "red" };
        api.create(&PostParams::default(), &settings(&format!("s-{number}"), colour)).await.expect("is made");
    }
    let (mut names, mut token) = (Vec::new(), String::new());
    loop {
        let mut page = ListParams::default().limit(2);
        if !token.is_empty() {
            page = page.continue_token(&token);
        }
        let list = api.list(&page).await.expect("is listed");
        names.extend(list.items.iter().filter_map(|item| item.metadata.name.clone()));
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(next) => token = next,
            None => break,
        }
    }
    assert_eq!(names, ["s-0", "s-1", "s-2", "s-3", "s-4"]);
    let red = api.list(&ListParams::default().labels("colour=red")).await.expect("is listed");
    assert_eq!(red.items.len(), 2);
    let named =
        api.list_metadata(&ListParams::default().fields("metadata.name=s-3")).await.expect("is listed");
    assert_eq!(named.items.len(), 1);
}

async fn next(events: &mut (impl Stream<Item = watcher::Result<Event<ConfigMap>>> + Unpin)) -> String {
    let event = tokio::time::timeout(Duration::from_secs(20), events.next()).await;
    let event = event.expect("an event comes in time").expect("the watch goes on").expect("no error");
    let said = |verb: &str, object: ConfigMap| format!("{verb} {}", object.metadata.name.unwrap_or_default());
    match event {
        Event::Init => "init".to_owned(),
        Event::InitApply(object) => said("initial", object),
        Event::InitDone => "initial done".to_owned(),
        Event::Apply(object) => said("applied", object),
        Event::Delete(object) => said("deleted", object),
    }
}

async fn watch_with(how: watcher::Config) {
    let served = Served::start().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client(&served).await);
    let post = PostParams::default();
    api.create(&post, &settings("before", "blue")).await.expect("is made");
    let mut events = pin!(watcher(api.clone(), how.labels("colour=blue")));
    assert_eq!(next(&mut events).await, "init");
    assert_eq!(next(&mut events).await, "initial before");
    assert_eq!(next(&mut events).await, "initial done");
    api.create(&post, &settings("other", "red")).await.expect("is made");
    api.create(&post, &settings("after", "blue")).await.expect("is made");
    assert_eq!(next(&mut events).await, "applied after");
    // Whatever no longer matches is gone for those who select.
    let recolour = Patch::Merge(json!({"metadata": {"labels": {"colour": "red"}}}));
    api.patch("after", &PatchParams::default(), &recolour).await.expect("is changed");
    assert_eq!(next(&mut events).await, "deleted after");
    api.delete("before", &DeleteParams::default()).await.expect("is deleted");
    assert_eq!(next(&mut events).await, "deleted before");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_lists_and_then_follows() {
    watch_with(watcher::Config::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_can_have_its_list_as_a_stream() {
    watch_with(watcher::Config::default().streaming_lists()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_that_are_applied_have_owners() {
    let served = Served::start().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client(&served).await);
    let wanted = |colour: &str| {
        Patch::Apply(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"colour": colour},
        }))
    };
    let (first, second) = (PatchParams::apply("first"), PatchParams::apply("second"));
    api.patch("applied", &first, &wanted("blue")).await.expect("is made");
    assert_eq!(code(api.patch("applied", &second, &wanted("red")).await), 409);
    let taken = api.patch("applied", &second.force(), &wanted("red")).await.expect("is taken");
    assert_eq!(taken.data, Some(BTreeMap::from([("colour".to_owned(), "red".to_owned())])));
    let managers: Vec<String> = taken
        .metadata
        .managed_fields
        .unwrap_or_default()
        .into_iter()
        .filter_map(|entry| entry.manager)
        .collect();
    assert!(managers.contains(&"second".to_owned()), "{managers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_changes_hands_once_per_version() {
    let served = Served::start().await;
    let api: Api<Lease> = Api::default_namespaced(client(&served).await);
    let post = PostParams::default();
    let held_by = |holder: &str, metadata: &ObjectMeta| Lease {
        metadata: metadata.clone(),
        spec: Some(LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(15),
            ..LeaseSpec::default()
        }),
    };
    let unnamed = ObjectMeta { name: Some("leader".to_owned()), ..ObjectMeta::default() };
    api.create(&post, &held_by("a", &unnamed)).await.expect("is made");
    assert_eq!(code(api.create(&post, &held_by("b", &unnamed)).await), 409);
    let fresh = api.get("leader").await.expect("is there");
    let taken = api.replace("leader", &post, &held_by("b", &fresh.metadata)).await.expect("is taken");
    assert_eq!(code(api.replace("leader", &post, &held_by("c", &fresh.metadata)).await), 409);
    assert_eq!(taken.spec.and_then(|spec| spec.holder_identity).as_deref(), Some("b"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_deleted_is_not_found() {
    let served = Served::start().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client(&served).await);
    api.create(&PostParams::default(), &settings("gone", "blue")).await.expect("is made");
    api.delete("gone", &DeleteParams::default()).await.expect("is deleted");
    assert_eq!(code(api.get("gone").await), 404);
    assert!(api.get_opt("gone").await.expect("an answer").is_none());
    assert_eq!(code(api.delete("gone", &DeleteParams::default()).await), 404);
    let all = DeleteParams::default();
    api.create(&PostParams::default(), &settings("one", "blue")).await.expect("is made");
    api.create(&PostParams::default(), &settings("two", "red")).await.expect("is made");
    api.delete_collection(&all, &ListParams::default().labels("colour=blue")).await.expect("are deleted");
    let left = api.list(&ListParams::default()).await.expect("is listed");
    assert_eq!(
        left.items.iter().filter_map(|item| item.metadata.name.as_deref()).collect::<Vec<_>>(),
        ["two"]
    );
}
