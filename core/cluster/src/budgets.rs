//! Disruption budgets: how many pods of a set may be taken away.
//!
//! Invariant: a budget says what its object's status says. Nothing is counted here between two states of the object, so a
//! budget may be behind for a moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::pod::{LabelSelector, Pod};

/// How many pods of a set may be taken away now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DisruptionBudget {
    /// The namespace of the budget and of its pods.
    pub namespace: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
    /// Which pods. One that picks everything picks nothing here.
    pub selector: LabelSelector,
    /// How many more.
    pub allowed: i32,
    /// Names of pods that are counted already.
    pub disrupted: BTreeSet<Arc<str>>,
}

/// All disruption budgets, by namespace and name.
#[derive(Clone, Debug, Default)]
pub struct Budgets {
    all: BTreeMap<Arc<str>, BTreeMap<Arc<str>, DisruptionBudget>>,
}

impl DisruptionBudget {
    /// Whether taking the pod away uses it up a little.
    fn covers(&self, pod: &Pod) -> bool {
        let picks_all = matches!(&self.selector, LabelSelector::All(all) if all.is_empty());
        !picks_all && !self.disrupted.contains(&pod.id.name) && self.selector.picks(&pod.shape.labels)
    }
}

impl Budgets {
    /// Adds or replaces a budget.
    pub fn apply(&mut self, budget: DisruptionBudget) {
        self.all.entry(budget.namespace.clone()).or_default().insert(budget.name.clone(), budget);
    }

    /// Takes a budget away.
    pub fn remove(&mut self, namespace: &str, name: &str) {
        if let Some(budgets) = self.all.get_mut(namespace) {
            budgets.remove(name);
            if budgets.is_empty() {
                self.all.remove(namespace);
            }
        }
    }

    /// Whether each pod would be one too many for a budget, if all of them were taken away in this order.
    #[must_use]
    pub fn violations<'p>(&self, pods: impl IntoIterator<Item = &'p Pod>) -> Vec<bool> {
        let mut used: BTreeMap<(&str, &str), i32> = BTreeMap::new();
        let mut is_too_many = |pod: &Pod| {
            // A pod without labels belongs to no set.
            let budgets = self.all.get(&pod.id.namespace).filter(|_| !pod.shape.labels.is_empty());
            let mut covering = budgets.into_iter().flat_map(BTreeMap::values).filter(|one| one.covers(pod));
            // The first budget that is used up decides, and those after it are left as they are.
            covering.any(|budget| {
                let used = used.entry((&budget.namespace, &budget.name)).or_default();
                *used += 1;
                *used > budget.allowed
            })
        };
        pods.into_iter().map(&mut is_too_many).collect()
    }
}

#[cfg(test)]
mod tests {
    use model::node::{Operator, Requirement};
    use model::pod::{PodId, Shape};

    use super::*;

    fn pod(name: &str, app: &str) -> Pod {
        let app = (!app.is_empty()).then(|| (Arc::from("app"), Arc::from(app)));
        let shape = Shape { namespace: "ns".into(), labels: app.into_iter().collect(), ..Shape::default() };
        Pod {
            id: PodId { namespace: "ns".into(), name: name.into() },
            uid: name.into(),
            scheduler: "".into(),
            node: Some("a".into()),
            nominated_node: None,
            running: false,
            finished: false,
            deleting: false,
            priority: 0,
            preempts: true,
            created: None,
            started: None,
            gates: Vec::new(),
            claims: Vec::new(),
            group: None,
            landing: None,
            shape: Arc::new(shape),
        }
    }

    fn budget(name: &str, app: &str, allowed: i32) -> DisruptionBudget {
        let one = Requirement { key: "app".into(), operator: Operator::In, values: vec![app.into()] };
        let selector = LabelSelector::All(if app.is_empty() { Vec::new() } else { vec![one] });
        DisruptionBudget {
            namespace: "ns".into(),
            name: name.into(),
            selector,
            allowed,
            disrupted: BTreeSet::new(),
        }
    }

    #[test]
    fn pods_beyond_what_a_budget_allows_violate_it() {
        let mut budgets = Budgets::default();
        budgets.apply(budget("web", "web", 1));
        let pods = [pod("a", "web"), pod("b", "db"), pod("c", "web"), pod("d", "")];
        assert_eq!(budgets.violations(&pods), [false, false, true, false]);
        budgets.apply(budget("web", "web", 2));
        assert_eq!(budgets.violations(&pods), [false; 4]);
        budgets.remove("ns", "web");
        assert_eq!(budgets.violations(&pods), [false; 4]);
    }

    #[test]
    fn a_pod_that_is_counted_already_and_one_of_another_namespace_are_free() {
        let mut budgets = Budgets::default();
        budgets.apply(DisruptionBudget { disrupted: ["a".into()].into(), ..budget("web", "web", 0) });
        budgets.apply(DisruptionBudget { namespace: "far".into(), ..budget("web", "db", 0) });
        let pods = [pod("a", "web"), pod("b", "web"), pod("c", "db")];
        assert_eq!(budgets.violations(&pods), [false, true, false]);
    }

    #[test]
    fn a_selector_that_picks_everything_picks_nothing() {
        let mut budgets = Budgets::default();
        budgets.apply(budget("all", "", 0));
        assert_eq!(budgets.violations(&[pod("a", "web"), pod("b", "")]), [false, false]);
    }
}
