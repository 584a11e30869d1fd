//! What the server does by itself: empties namespaces that are being deleted, collects garbage, and starts the log anew.
//!
//! It works at its own pace, as the controllers of a cluster do: nothing that a client sent waits for it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use controllers::garbage::{self, Action};
use controllers::namespaces;
use schema::{Scope, table};
use serde_json::{Value, json};
use store::{Key, ListAt, Resource, Selection};

use crate::delete::DeleteOptions;
use crate::objects::Site;
use crate::registry::{Log, Registry};
use crate::route::{Query, Target};
use crate::status::Failure;

/// How often the server looks around.
const EVERY: Duration = Duration::from_secs(3);

/// Runs until it is aborted.
pub(crate) async fn run(registry: Arc<Registry>) {
    let mut seen = 0;
    loop {
        tokio::time::sleep(EVERY).await;
        registry.snapshot_if_due().await;
        let now = registry.glance(store::Store::revision);
        if now != seen {
            // What fails now, because others change the same objects, is tried in the next round.
            let _ = empty_namespaces(&registry).await;
            let _ = collect_garbage(&registry).await;
            seen = now;
        }
    }
}

/// Has a log that is unwell find out whether it is well again, though nobody may write meanwhile; until it is aborted.
pub(crate) async fn mend(log: Arc<dyn Log>) {
    loop {
        tokio::time::sleep(EVERY).await;
        if log.health().is_err() {
            let log = Arc::clone(&log);
            // The disk may take its time, and this waits for it: another attempt would wait as well.
            let _ = tokio::task::spawn_blocking(move || log.mend()).await;
        }
    }
}

/// A stored resource as a site of a namespace.
fn site(resource: Resource, namespace: &str) -> Result<Site, Failure> {
    let target =
        Target { kind: resource.kind(), namespace: namespace.to_owned(), name: None, subresource: None };
    Site::of(&target)
}

/// Every resource that is stored under its own version.
fn resources() -> impl Iterator<Item = Resource> {
    let stored = table().kinds().iter().filter(|kind| !kind.plural.is_empty());
    stored
        .filter(|kind| admission::stored_kind(kind).api_version == kind.api_version)
        .filter_map(Resource::of)
}

fn keys(registry: &Registry, resource: Resource, namespace: Option<&str>) -> Vec<Key> {
    let page = registry
        .glance(|store| store.list(resource, namespace, &Selection::default(), ListAt::Latest, None, None));
    page.map(|page| page.items.into_iter().map(|(key, _)| key).collect()).unwrap_or_default()
}

async fn empty_namespaces(registry: &Arc<Registry>) -> Result<(), Failure> {
    let Some(namespaces) = table().kind("v1", "Namespace").and_then(Resource::of) else { return Ok(()) };
    for key in keys(registry, namespaces, None) {
        let Some(namespace) = registry.namespace(&key.name) else { continue };
        if namespace["metadata"].get("deletionTimestamp").is_none() {
            continue;
        }
        let inside: Vec<(Resource, Key)> = resources()
            .filter(|resource| resource.kind().scope == Scope::Namespaced)
            .flat_map(|resource| {
                keys(registry, resource, Some(&key.name)).into_iter().map(move |key| (resource, key))
            })
            .collect();
        match namespaces::decide(&namespace, inside.len()) {
            namespaces::Action::Leave => {}
            namespaces::Action::Empty => {
                // The contents of a namespace get no time of their own: nobody runs them any longer.
                let options = DeleteOptions::read(&Query::default(), &json!({"gracePeriodSeconds": 0}))?;
                for (resource, key) in inside {
                    let _ = registry.delete(&site(resource, &key.namespace)?, &key.name, &options).await;
                }
            }
            namespaces::Action::Finish => {
                let mut finish = |namespace: &mut Value| {
                    if let Some(list) = namespace["spec"]["finalizers"].as_array_mut() {
                        list.retain(|finalizer| finalizer != "kubernetes");
                    }
                    Ok(())
                };
                registry.adjust(&site(namespaces, "")?, &key.name, &mut finish).await?;
            }
        }
    }
    Ok(())
}

/// The objects that have ties, and their owners.
struct Tied {
    places: Vec<(Resource, Key)>,
    objects: Vec<garbage::Object>,
    seen: BTreeSet<(Resource, Key)>,
}

impl Tied {
    /// Adds an object that is not there yet.
    fn add(&mut self, resource: Resource, key: Key, metadata: Value) {
        if self.seen.insert((resource, key.clone())) {
            let uid = metadata["uid"].as_str().unwrap_or_default().to_owned();
            self.objects.push(garbage::Object { uid, metadata });
            self.places.push((resource, key));
        }
    }

    /// Adds the owners of an object. One of a kind that is not served here may well be somewhere, and counts as there.
    fn add_owners(&mut self, registry: &Registry, metadata: &Value, namespace: &str) {
        for owner in metadata["ownerReferences"].as_array().into_iter().flatten() {
            let text = |name: &str| owner[name].as_str().unwrap_or_default();
            let kind = table().kind(text("apiVersion"), text("kind")).map(admission::stored_kind);
            let Some((kind, resource)) =
                kind.and_then(|kind| Resource::of(kind).map(|resource| (kind, resource)))
            else {
                self.objects.push(garbage::Object { uid: text("uid").to_owned(), metadata: json!({}) });
                self.places.push((self.places[0].0, Key::new("", "")));
                continue;
            };
            let namespace = if kind.scope == Scope::Namespaced { namespace } else { "" };
            let key = Key::new(namespace, text("name"));
            // Many objects have the same owner, and one object may name it often.
            if !self.seen.contains(&(resource, key.clone()))
                && let Some(stored) = registry.get(resource, &key)
            {
                self.add(resource, key, metadata_of(resource, &stored));
            }
        }
    }
}

fn metadata_of(resource: Resource, stored: &store::StoredObject) -> Value {
    let kind = resource.kind();
    stored.value(&kind.api_version, &kind.kind)["metadata"].take()
}

fn tied(registry: &Registry) -> Tied {
    let mut tied = Tied { places: Vec::new(), objects: Vec::new(), seen: BTreeSet::new() };
    for resource in resources() {
        let page = registry
            .glance(|store| store.list(resource, None, &Selection::default(), ListAt::Latest, None, None));
        for (key, stored) in page.map(|page| page.items).unwrap_or_default() {
            if stored.has_ties() {
                let namespace = Arc::clone(&key.namespace);
                let metadata = metadata_of(resource, &stored);
                tied.add(resource, key, metadata.clone());
                tied.add_owners(registry, &metadata, &namespace);
            }
        }
    }
    tied
}

pub(crate) async fn collect_garbage(registry: &Arc<Registry>) -> Result<(), Failure> {
    let Tied { places, objects, .. } = tied(registry);
    for (at, action) in garbage::collect(&objects) {
        let (resource, key) = &places[at];
        let site = site(*resource, &key.namespace)?;
        let result = match action {
            Action::Delete => {
                let body =
                    json!({"preconditions": {"uid": objects[at].uid}, "propagationPolicy": "Background"});
                let options = DeleteOptions::read(&Query::default(), &body)?;
                registry.delete(&site, &key.name, &options).await.map(|_| ())
            }
            Action::Disown(uids) => {
                let uids: BTreeSet<&str> = uids.iter().map(String::as_str).collect();
                let mut disown = |object: &mut Value| {
                    if let Some(list) = object["metadata"]["ownerReferences"].as_array_mut() {
                        list.retain(|owner| owner["uid"].as_str().is_none_or(|uid| !uids.contains(uid)));
                    }
                    Ok(())
                };
                registry.adjust(&site, &key.name, &mut disown).await.map(|_| ())
            }
            Action::Release(name) => {
                let mut release = |object: &mut Value| {
                    if let Some(list) = object["metadata"]["finalizers"].as_array_mut() {
                        list.retain(|finalizer| finalizer != name);
                    }
                    Ok(())
                };
                registry.adjust(&site, &key.name, &mut release).await.map(|_| ())
            }
        };
        // Somebody else was faster, which is as good.
        drop(result);
    }
    Ok(())
}
