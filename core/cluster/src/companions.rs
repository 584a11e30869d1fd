//! Which pods belong together: those of a service, and those of an owner.
//!
//! Pods that say nothing about spreading are spread among their companions. They are those that all services of a pod, and
//! its owner, pick.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::node::{Operator, Requirement};
use model::pod::{LabelSelector, Owner, Shape};

/// Labels that a service, or a replication controller, wants of pods.
pub type Labels = BTreeMap<Arc<str>, Arc<str>>;

/// All services and owners, by namespace.
#[derive(Clone, Debug, Default)]
pub struct Companions {
    services: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Labels>>,
    owners: BTreeMap<Arc<str>, BTreeMap<Owner, LabelSelector>>,
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
            if services.is_empty() {
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
        for service in self.services.get(&shape.namespace).into_iter().flat_map(BTreeMap::values) {
            if service.iter().all(|(key, value)| shape.labels.get(key) == Some(value)) {
                labels.extend(service);
            }
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
