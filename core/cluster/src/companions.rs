//! Which pods belong together: those of a service, and those of an owner.
//!
//! Pods that say nothing about spreading are spread among their companions. They are those that all services of a pod, and
//! its owner, pick.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::node::{Operator, Requirement};
use model::pod::{LabelSelector, Owner, Shape};

/// Labels that a service, or a replication controller, wants of pods.
pub type Labels = BTreeMap<Arc<str>, Arc<str>>;

/// All services and owners, by namespace.
#[derive(Clone, Debug, Default)]
pub struct Companions {
    services: BTreeMap<Arc<str>, Services>,
    owners: BTreeMap<Arc<str>, BTreeMap<Owner, LabelSelector>>,
}

/// A label and its value.
type Label = (Arc<str>, Arc<str>);

/// The services of a namespace.
#[derive(Clone, Debug, Default)]
struct Services {
    labels: BTreeMap<Arc<str>, Labels>,
    /// Services by the first of their labels, so that a pod is held against few of them.
    by_label: BTreeMap<Label, BTreeSet<Arc<str>>>,
}

impl Services {
    fn insert(&mut self, name: Arc<str>, labels: Labels) {
        self.remove(&name);
        if let Some((key, value)) = labels.first_key_value() {
            self.by_label.entry((key.clone(), value.clone())).or_default().insert(name.clone());
            self.labels.insert(name, labels);
        }
    }

    fn remove(&mut self, name: &str) {
        let Some(labels) = self.labels.remove(name) else { return };
        let first = labels.first_key_value().map(|(key, value)| (key.clone(), value.clone()));
        if let Some(first) = first
            && let Some(names) = self.by_label.get_mut(&first)
        {
            names.remove(name);
            if names.is_empty() {
                self.by_label.remove(&first);
            }
        }
    }

    /// The labels of those that a pod with these labels belongs to.
    fn of<'s>(&'s self, labels: &'s Labels) -> impl Iterator<Item = &'s Labels> {
        let named = labels.iter().filter_map(|(key, value)| self.by_label.get(&(key.clone(), value.clone())));
        let services = named.flatten().map(|name| &self.labels[name]);
        services.filter(|service| service.iter().all(|(key, value)| labels.get(key) == Some(value)))
    }
}

impl Companions {
    /// Adds or replaces a service. One without labels says nothing about pods.
    pub fn apply_service(&mut self, namespace: Arc<str>, name: Arc<str>, labels: Labels) {
        if labels.is_empty() {
            return self.remove_service(&namespace, &name);
        }
        self.services.entry(namespace).or_default().insert(name, labels);
    }

    /// Takes a service away.
    pub fn remove_service(&mut self, namespace: &str, name: &str) {
        if let Some(services) = self.services.get_mut(namespace) {
            services.remove(name);
            if services.labels.is_empty() {
                self.services.remove(namespace);
            }
        }
    }

    /// Adds or replaces an owner.
    pub fn apply_owner(&mut self, namespace: Arc<str>, owner: Owner, selector: LabelSelector) {
        self.owners.entry(namespace).or_default().insert(owner, selector);
    }

    /// Takes an owner away.
    pub fn remove_owner(&mut self, namespace: &str, owner: &Owner) {
        if let Some(owners) = self.owners.get_mut(namespace) {
            owners.remove(owner);
            if owners.is_empty() {
                self.owners.remove(namespace);
            }
        }
    }

    /// The companions of pods of a shape, if there is something to tell them by.
    #[must_use]
    pub fn of(&self, shape: &Shape) -> Option<LabelSelector> {
        let mut labels: BTreeMap<&Arc<str>, &Arc<str>> = BTreeMap::new();
        if let Some(services) = self.services.get(&shape.namespace) {
            services.of(&shape.labels).for_each(|service| labels.extend(service));
        }
        let mut all: Vec<Requirement> = labels.into_iter().map(equal).collect();
        if let Some(LabelSelector::All(more)) = self.selector_of_owner(shape) {
            all.extend(more.iter().cloned());
        }
        (!all.is_empty()).then_some(LabelSelector::All(all))
    }

    fn selector_of_owner(&self, shape: &Shape) -> Option<&LabelSelector> {
        self.owners.get(&shape.namespace)?.get(shape.owner.as_ref()?)
    }
}

fn equal((key, value): (&Arc<str>, &Arc<str>)) -> Requirement {
    Requirement { key: key.clone(), operator: Operator::In, values: vec![value.clone()] }
}

#[cfg(test)]
mod tests {
    use model::pod::OwnerKind;

    use super::*;

    fn labels(text: &str) -> Labels {
        let pairs = text.split_whitespace().map(|pair| pair.split_once('=').expect("key=value"));
        pairs.map(|(key, value)| (key.into(), value.into())).collect()
    }

    fn set(name: &str) -> Owner {
        Owner { kind: OwnerKind::ReplicaSet, name: name.into() }
    }

    fn shape(text: &str, owner: Option<&str>) -> Shape {
        Shape { namespace: "ns".into(), labels: labels(text), owner: owner.map(set), ..Shape::default() }
    }

    /// Labels that companions have, as text.
    fn told(companions: &Companions, shape: &Shape) -> String {
        match companions.of(shape) {
            None => "nobody".to_owned(),
            Some(LabelSelector::Nothing) => "nothing".to_owned(),
            Some(LabelSelector::All(all)) => {
                let one = |one: &Requirement| format!("{}={}", one.key, one.values.join("|"));
                all.iter().map(one).collect::<Vec<_>>().join(" ")
            }
        }
    }

    #[test]
    fn companions_are_those_that_all_services_of_a_pod_and_its_owner_pick() {
        let mut all = Companions::default();
        all.apply_service("ns".into(), "web".into(), labels("app=web"));
        all.apply_service("ns".into(), "canary".into(), labels("app=web track=canary"));
        all.apply_service("ns".into(), "headless".into(), labels(""));
        all.apply_service("far".into(), "web".into(), labels("app=web far=yes"));
        let picks = LabelSelector::All(labels("app=web hash=1").iter().map(equal).collect());
        all.apply_owner("ns".into(), set("web-1"), picks);
        all.apply_owner("ns".into(), set("mute"), LabelSelector::Nothing);
        assert_eq!(told(&all, &shape("app=web", None)), "app=web");
        assert_eq!(told(&all, &shape("app=web track=canary", None)), "app=web track=canary");
        assert_eq!(told(&all, &shape("app=db", None)), "nobody");
        assert_eq!(told(&all, &shape("app=web hash=1", Some("web-1"))), "app=web app=web hash=1");
        assert_eq!(told(&all, &shape("app=db", Some("web-1"))), "app=web hash=1");
        assert_eq!(told(&all, &shape("app=web", Some("mute"))), "app=web");
        assert_eq!(told(&all, &shape("app=web", Some("gone"))), "app=web");
    }

    #[test]
    fn what_is_gone_tells_nothing() {
        let mut all = Companions::default();
        all.apply_service("ns".into(), "web".into(), labels("app=web"));
        all.apply_owner("ns".into(), set("s"), LabelSelector::All(Vec::new()));
        all.apply_service("ns".into(), "web".into(), labels(""));
        assert_eq!(told(&all, &shape("app=web", Some("s"))), "nobody");
        all.remove_service("ns", "web");
        all.remove_owner("ns", &set("s"));
        assert!(all.services.is_empty() && all.owners.is_empty());
    }
}
