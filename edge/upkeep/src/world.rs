//! What is there: pods, claims, templates and nodes, and which of them to look at again when one changes.
//!
//! Invariant: a change names every object about which something else could be decided now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use client::{Event, Gone};
use objects::Object;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};

use crate::Fact;

/// A namespace and a name.
pub(crate) type Name = (String, String);

/// An object that may need work.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Key {
    Node(String),
    Claim(Name),
    Pod(Name),
}

/// Everything that is followed.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) pods: BTreeMap<Name, Arc<Pod>>,
    pub(crate) claims: BTreeMap<Name, Arc<ResourceClaim>>,
    pub(crate) templates: BTreeMap<Name, Arc<ResourceClaimTemplate>>,
    pub(crate) nodes: BTreeMap<String, Arc<Node>>,
    /// Claims that were made for a pod, by its uid.
    made_for: BTreeMap<String, BTreeSet<Name>>,
    complete: BTreeSet<&'static str>,
}

impl World {
    /// Everything that was there at the start has been said.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete.len() == 4
    }

    /// The claims that were made for a pod.
    pub(crate) fn made_for(&self, uid: &str) -> impl Iterator<Item = &Arc<ResourceClaim>> {
        let names = self.made_for.get(uid).into_iter().flatten();
        names.filter_map(|name| self.claims.get(name))
    }

    /// Takes a fact in, and says what to look at again.
    pub(crate) fn take(&mut self, fact: Fact) -> Vec<Key> {
        match fact {
            Fact::Pod(event) => match self.change(*event) {
                Changed::Applied(pod) => {
                    self.pods.insert(name(&*pod), pod.clone());
                    self.around_pod(&pod)
                }
                Changed::Gone(gone) => match self.pods.remove(&gone) {
                    Some(pod) => self.around_pod(&pod),
                    None => Vec::new(),
                },
                Changed::Not => Vec::new(),
            },
            Fact::Claim(event) => match self.change(event) {
                Changed::Applied(claim) => self.keep_claim(claim),
                Changed::Gone(gone) => self.drop_claim(&gone),
                Changed::Not => Vec::new(),
            },
            Fact::Template(event) => match self.change(event) {
                Changed::Applied(template) => {
                    let key = name(&*template);
                    self.templates.insert(key.clone(), template);
                    self.waiting_for(&key)
                }
                Changed::Gone(gone) => {
                    self.templates.remove(&gone);
                    Vec::new()
                }
                Changed::Not => Vec::new(),
            },
            Fact::Node(event) => match self.change(event) {
                Changed::Applied(node) => {
                    let key = node.metadata.name.clone();
                    self.nodes.insert(key.clone(), node);
                    vec![Key::Node(key)]
                }
                Changed::Gone((_, gone)) => {
                    self.nodes.remove(&gone);
                    Vec::new()
                }
                Changed::Not => Vec::new(),
            },
        }
    }

    /// A claim that was just made. The stream of claims may have said more of it already.
    pub(crate) fn made(&mut self, claim: ResourceClaim) -> Vec<Key> {
        if self.claims.contains_key(&name(&claim)) { Vec::new() } else { self.keep_claim(Arc::new(claim)) }
    }

    fn change<K: Object>(&mut self, event: Event<K>) -> Changed<K> {
        match event {
            Event::Applied(object) => Changed::Applied(Arc::new(object)),
            Event::Deleted(object) => Changed::Gone(name(&object)),
            Event::Vanished(Gone { namespace, name, .. }) => Changed::Gone((namespace, name)),
            Event::Synced { .. } => {
                self.complete.insert(K::KIND);
                Changed::Not
            }
            // What cannot be read is not touched either; the server goes on by itself.
            Event::Progressed { .. } | Event::Unreadable { .. } | Event::Interrupted { .. } => Changed::Not,
        }
    }

    fn keep_claim(&mut self, claim: Arc<ResourceClaim>) -> Vec<Key> {
        let key = name(&*claim);
        for owner in &claim.metadata.owner_references {
            self.made_for.entry(owner.uid.clone()).or_default().insert(key.clone());
        }
        self.claims.insert(key.clone(), claim);
        vec![Key::Claim(key)]
    }

    /// Forgets a claim. The pod that it was made for may need another.
    fn drop_claim(&mut self, key: &Name) -> Vec<Key> {
        let Some(claim) = self.claims.remove(key) else { return Vec::new() };
        let mut owners = Vec::new();
        for owner in &claim.metadata.owner_references {
            if let Some(names) = self.made_for.get_mut(&owner.uid) {
                names.remove(key);
                if names.is_empty() {
                    self.made_for.remove(&owner.uid);
                }
            }
            owners.push(Key::Pod((key.0.clone(), owner.name.clone())));
        }
        owners
    }

    /// A pod, and the claims that it names or that were made for it.
    fn around_pod(&self, pod: &Pod) -> Vec<Key> {
        let namespace = &pod.metadata.namespace;
        let named = pod.spec.resource_claims.iter().filter_map(|entry| entry.resource_claim_name.as_ref());
        let noted = pod.status.resource_claim_statuses.iter();
        let noted = noted.filter_map(|status| status.resource_claim_name.as_ref());
        let names = named.chain(noted).map(|name| (namespace.clone(), name.clone()));
        let made = self.made_for.get(&pod.metadata.uid).into_iter().flatten().cloned();
        let claims = names.chain(made).filter(|key| self.claims.contains_key(key)).map(Key::Claim);
        claims.chain([Key::Pod(name(pod))]).collect()
    }

    /// Pods that name a template.
    fn waiting_for(&self, (namespace, template): &Name) -> Vec<Key> {
        let pods = self.pods.iter().filter(|((home, _), _)| home == namespace);
        let names = |pod: &Pod| {
            let mut entries = pod.spec.resource_claims.iter();
            entries.any(|entry| entry.resource_claim_template_name.as_ref() == Some(template))
        };
        pods.filter(|(_, pod)| names(pod)).map(|(key, _)| Key::Pod(key.clone())).collect()
    }
}

/// What an event means for what is kept.
enum Changed<K> {
    Applied(Arc<K>),
    Gone(Name),
    Not,
}

fn name<K: Object>(object: &K) -> Name {
    let metadata = object.metadata();
    (metadata.namespace.clone(), metadata.name.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read<K: Object>(value: Value) -> K {
        serde_json::from_value(value).expect("a good object")
    }

    fn pod() -> Pod {
        read(json!({
            "metadata": { "namespace": "ns", "name": "p", "uid": "u" },
            "spec": { "resourceClaims": [
                { "name": "a", "resourceClaimName": "shared" }, { "name": "b", "resourceClaimTemplateName": "t" },
            ] },
        }))
    }

    fn claim(name: &str, owner: Option<&str>) -> ResourceClaim {
        let owners: Vec<Value> = owner.iter().map(|uid| json!({ "name": "p", "uid": uid })).collect();
        read(json!({ "metadata": { "namespace": "ns", "name": name, "ownerReferences": owners } }))
    }

    fn key(name: &str) -> Name {
        ("ns".to_owned(), name.to_owned())
    }

    #[test]
    fn a_pod_that_changes_or_goes_is_looked_at_with_its_claims() {
        let mut world = World::default();
        world.take(Fact::Claim(Event::Applied(claim("shared", None))));
        assert_eq!(world.made(claim("p-b-x", Some("u"))), [Key::Claim(key("p-b-x"))]);
        let expected = [Key::Claim(key("shared")), Key::Claim(key("p-b-x")), Key::Pod(key("p"))];
        assert_eq!(world.take(Fact::Pod(Box::new(Event::Applied(pod())))), expected);
        assert_eq!(world.take(Fact::Pod(Box::new(Event::Deleted(pod())))), expected);
        assert!(world.take(Fact::Pod(Box::new(Event::Deleted(pod())))).is_empty());
    }

    #[test]
    fn a_template_wakes_the_pods_that_name_it_and_a_lost_claim_its_pod() {
        let mut world = World::default();
        world.take(Fact::Pod(Box::new(Event::Applied(pod()))));
        let template = |name: &str| read(json!({ "metadata": { "namespace": "ns", "name": name } }));
        assert_eq!(world.take(Fact::Template(Event::Applied(template("t")))), [Key::Pod(key("p"))]);
        assert!(world.take(Fact::Template(Event::Applied(template("other")))).is_empty());
        world.made(claim("p-b-x", Some("u")));
        assert_eq!(world.made_for("u").count(), 1);
        assert_eq!(world.take(Fact::Claim(Event::Deleted(claim("p-b-x", Some("u"))))), [Key::Pod(key("p"))]);
        assert_eq!(world.made_for("u").count(), 0);
    }

    #[test]
    fn nothing_is_complete_before_every_kind_was_said() {
        let mut world = World::default();
        let version = || String::from("1");
        world.take(Fact::Pod(Box::new(Event::Synced { resource_version: version() })));
        world.take(Fact::Claim(Event::Synced { resource_version: version() }));
        world.take(Fact::Template(Event::Synced { resource_version: version() }));
        assert!(!world.is_complete());
        world.take(Fact::Node(Event::Synced { resource_version: version() }));
        assert!(world.is_complete());
    }
}
