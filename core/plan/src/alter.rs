//! Changes a copy of a cluster, and pods that are yet to be made, as a plan wants them.
//!
//! Invariant: what is changed is told to the scheduler as an API server would tell it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use allocation::Expressions;
use cluster::change::{Change, GroupChange};
use cluster::facts::Facts;
use cluster::published::Published;
use cluster::what_if::{self, fresh, fresh_name, renewed};
use model::device::{Attribute, CounterSet, Device, PoolId, Reach, Slice};
use model::group::{Group, GroupId};
use model::identity::NodeName;
use model::nearest::nearest;
use model::node::{NAME_FIELD, Node, NodeSelector, NodeTerm, Operator, Requirement};
use model::pod::{Pod, PodId};

use crate::alteration::Alteration;
use crate::rehearsal::Rehearsal;

/// Taints that nodes have as long as something is wrong with them, and that a new node does not have.
const OF_TROUBLE: &str = "node.kubernetes.io/";

/// Something that cannot be altered, as there is no such thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoSuchThing {
    /// What is missing.
    pub wrong: String,
    /// The known name that was most likely meant.
    pub nearest: Option<String>,
}

/// What is needed to alter things besides what is known of the cluster.
#[derive(Debug)]
pub(crate) struct Altering<'a> {
    /// The cluster.
    pub rehearsal: &'a mut Rehearsal,
    /// Pods and other objects that are yet to be made.
    pub arrivals: &'a mut Vec<Change>,
    /// Pods that are placed anew.
    pub moved: &'a mut Vec<Arc<Pod>>,
    /// Warnings.
    pub notes: &'a mut Vec<String>,
    /// The namespace of pods that are named without one.
    pub namespace: &'a str,
    /// The values of priority classes.
    pub priorities: &'a BTreeMap<String, i32>,
    /// Pods that stay on their nodes when these are drained, as those of DaemonSets do.
    pub stays: &'a BTreeSet<PodId>,
    /// What is attached with others gets a number.
    pub attached: usize,
}

impl Altering<'_> {
    /// Alters one thing.
    pub fn apply(&mut self, alteration: &Alteration) -> Result<(), NoSuchThing> {
        match alteration {
            Alteration::Drain(node) => self.drain(node),
            Alteration::AddNode { like, count } => self.add_nodes(like, *count),
            Alteration::Attach { count, model, domain } => self.attach(*count as usize, model, domain),
            Alteration::Priority { pod, priority } => self.prioritize(pod, priority),
            Alteration::Without(pod) => self.leave_out(pod),
            // Features are part of the settings with which the scheduler began.
            Alteration::Gate(_) => Ok(()),
        }
    }

    fn facts(&self) -> &Facts {
        self.rehearsal.facts()
    }

    fn node(&self, name: &str) -> Result<Arc<Node>, NoSuchThing> {
        let found = self.facts().nodes.find(name).and_then(|at| self.facts().nodes.get(at).node.clone());
        found.ok_or_else(|| {
            let names = nodes(self.facts()).map(|node| &*node.name);
            missing(format!("node {name} does not exist"), nearest(name, names))
        })
    }

    fn drain(&mut self, name: &str) -> Result<(), NoSuchThing> {
        let node = self.node(name)?;
        let cordoned = Node { unschedulable: true, ..Node::clone(&node) };
        self.rehearsal.tell(Change::NodeApplied(Box::new(cordoned)));
        let at = self.facts().nodes.find(name);
        let pods = at.map(|at| self.facts().nodes.get(at).pods.values().cloned().collect::<Vec<_>>());
        let mut pods = pods.unwrap_or_default();
        pods.retain(|pod| !self.stays.contains(&pod.id) && !is_tied(pod, name));
        // As they came to the node; those with the same time by name.
        pods.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        let too_many = self.facts().budgets.violations(pods.iter().map(|pod| &**pod));
        for (pod, _) in pods.iter().zip(too_many).filter(|(_, is_too_many)| *is_too_many) {
            let note = format!("a PodDisruptionBudget does not allow to evict pod {} at once", pod.id);
            self.notes.push(note);
        }
        self.moved.extend(move_all(self.rehearsal, &pods));
        Ok(())
    }

    fn add_nodes(&mut self, like: &str, count: u32) -> Result<(), NoSuchThing> {
        let like = self.node(like)?.name.clone();
        (0..count).for_each(|_| drop(add_node(self.rehearsal, &like)));
        Ok(())
    }

    fn prioritize(&mut self, pod: &str, priority: &str) -> Result<(), NoSuchThing> {
        let value = match (priority.parse::<i32>(), self.priorities.get(priority)) {
            (Ok(value), _) => value,
            (_, Some(value)) => *value,
            _ => {
                let known = nearest(priority, self.priorities.keys().map(String::as_str));
                return Err(missing(format!("PriorityClass {priority} does not exist"), known));
            }
        };
        let id = self.id_of(pod);
        let mut group = None;
        for change in self.arrivals.iter_mut() {
            if let Change::PodApplied(pod) = change
                && pod.id == id
            {
                Arc::make_mut(pod).priority = value;
                group = Some(pod.group.clone());
            }
        }
        if group.is_none() {
            let found = self.known_pod(&id).ok_or_else(|| self.no_pod(&id))?;
            group = Some(found.group.clone());
            self.rehearsal.tell(Change::PodApplied(Arc::new(Pod { priority: value, ..Pod::clone(&found) })));
        }
        // Pods of a group are placed with the priority of the group.
        let Some(group) = group.flatten() else { return Ok(()) };
        let is_it = |one: &Group| one.id.namespace == id.namespace && one.id.name == group;
        let mut arriving = self.arrivals.iter_mut().filter_map(|change| match change {
            Change::Group(GroupChange::Applied(one)) if is_it(one) => Some(one),
            _ => None,
        });
        if let Some(group) = arriving.next() {
            group.priority = value;
            return Ok(());
        }
        let group = GroupId { namespace: id.namespace.clone(), name: group.clone() };
        if let Some(known) = self.facts().groups.get(&group) {
            let changed = Box::new(Group { priority: value, ..Group::clone(known) });
            self.rehearsal.tell(Change::Group(GroupChange::Applied(changed)));
        }
        Ok(())
    }

    fn leave_out(&mut self, pod: &str) -> Result<(), NoSuchThing> {
        let id = self.id_of(pod);
        let before = self.arrivals.len();
        self.arrivals.retain(|change| !matches!(change, Change::PodApplied(pod) if pod.id == id));
        if self.arrivals.len() < before {
            return Ok(());
        }
        let found = self.known_pod(&id).ok_or_else(|| self.no_pod(&id))?;
        self.rehearsal.end_pod(&found.uid);
        self.moved.retain(|pod| pod.id != id);
        Ok(())
    }

    fn id_of(&self, pod: &str) -> PodId {
        let (namespace, name) = pod.split_once('/').unwrap_or((self.namespace, pod));
        PodId { namespace: namespace.into(), name: name.into() }
    }

    fn known_pod(&self, id: &PodId) -> Option<Arc<Pod>> {
        let all = self.facts().waiting.values().chain(self.facts().nodes.pods());
        all.into_iter().find(|pod| pod.id == *id).cloned()
    }

    fn no_pod(&self, id: &PodId) -> NoSuchThing {
        let arriving = self.arrivals.iter().filter_map(|change| match change {
            Change::PodApplied(pod) => Some(&pod.id),
            _ => None,
        });
        let known = self.facts().waiting.values().chain(self.facts().nodes.pods()).map(|pod| &pod.id);
        let here = arriving.chain(known).filter(|one| one.namespace == id.namespace).map(|one| &*one.name);
        missing(format!("pod {id} does not exist"), nearest(&id.name, here))
    }

    /// Adds devices like one of a model: each with all partitions of what it is, and with counters of its own.
    fn attach(&mut self, count: usize, model: &str, domain: &str) -> Result<(), NoSuchThing> {
        let (like, published) = self.of_model(model)?;
        let reach = self.reach_of(domain)?;
        self.attached += 1;
        let card = card_of(self.facts(), &published, &like);
        let driver = published.slice.pool.driver.clone();
        let pool: Arc<str> = format!("{model}-attached-{}", self.attached).into();
        let mut slice = Slice {
            name: format!("{driver}-{pool}").into(),
            pool: PoolId { driver, pool },
            generation: 1,
            slices_in_pool: 1,
            devices: Vec::new(),
            counter_sets: Vec::new(),
            reach,
            ..published.slice.clone()
        };
        let is_for_one = matches!(slice.reach, Reach::Node(_));
        for number in 1..=count {
            for set in &card.counter_sets {
                let mut set = set.clone();
                set.name = fresh_name(&set.name, number);
                slice.counter_sets.push(set);
            }
            slice.devices.extend(card.devices.iter().map(|device| {
                let mut device = fresh(device, number);
                device.reach = Reach::Unsaid;
                // What several nodes reach is used from the one that it was allocated for.
                device.binds_to_node |= !is_for_one;
                device
                    .draws
                    .iter_mut()
                    .for_each(|draw| draw.counter_set = fresh_name(&draw.counter_set, number));
                device
            }));
        }
        self.rehearsal.tell(Change::SliceApplied(renewed(&published, slice)));
        Ok(())
    }

    /// A device of a model, which is a class or the value of an attribute.
    fn of_model(&self, model: &str) -> Result<(Device, Arc<Published>), NoSuchThing> {
        let facts = self.facts();
        if let Some(class) = facts.classes.get(model) {
            let mut expressions = Expressions::default();
            for published in facts.slices.iter() {
                let mut matching = class.selectors.iter().map(|selector| {
                    let selector = selector.as_ref()?;
                    Some(expressions.matches(selector, published).ok()?.matching.clone())
                });
                let Some(matching) = matching.by_ref().collect::<Option<Vec<_>>>() else { continue };
                let mut devices = published.slice.devices.iter().enumerate();
                let found = devices.find(|(at, _)| matching.iter().all(|one| one.contains(*at)));
                if let Some((_, device)) = found {
                    return Ok((device.clone(), published.clone()));
                }
            }
        }
        let is_it = |device: &&Device| texts(device).any(|text| text == model);
        for published in facts.slices.iter() {
            if let Some(device) = published.slice.devices.iter().find(is_it) {
                return Ok((device.clone(), published.clone()));
            }
        }
        let of_devices = facts.slices.iter().flat_map(|one| &one.slice.devices).flat_map(texts);
        let names: BTreeSet<&str> = facts.classes.keys().map(|name| &**name).chain(of_devices).collect();
        let wrong =
            format!("no published device is of class {model} or has an attribute with the value {model}");
        Err(missing(wrong, nearest(model, names.into_iter())))
    }

    /// The nodes of a domain: a node, a label with its value, or a value that nodes have for one label.
    fn reach_of(&self, domain: &str) -> Result<Reach, NoSuchThing> {
        let facts = self.facts();
        if facts.has_node(domain) {
            return Ok(Reach::Node(domain.into()));
        }
        let matching = |key: &Arc<str>, value: &str| {
            let values = vec![value.into()];
            let labels = vec![Requirement { key: key.clone(), operator: Operator::In, values }];
            Reach::Matching(NodeSelector { terms: vec![NodeTerm { fields: Vec::new(), labels }] })
        };
        let labels = || nodes(facts).flat_map(|node| node.labels.iter());
        if let Some((key, value)) = domain.split_once('=') {
            let found = labels().find(|(one, other)| ***one == *key && ***other == *value);
            return match found {
                Some((key, value)) => Ok(matching(key, value)),
                None => {
                    let values: BTreeSet<&str> =
                        labels().filter(|(one, _)| ***one == *key).map(|(_, value)| &**value).collect();
                    let near = nearest(value, values.into_iter()).map(|near| format!("{key}={near}"));
                    let wrong = format!("no node has the label {domain}");
                    Err(NoSuchThing { wrong, nearest: near })
                }
            };
        }
        let keys: BTreeSet<&Arc<str>> =
            labels().filter(|(_, value)| ***value == *domain).map(|(key, _)| key).collect();
        match keys.iter().collect::<Vec<_>>()[..] {
            [key] => Ok(matching(key, domain)),
            [] => {
                let names: BTreeSet<&str> =
                    nodes(facts).map(|node| &*node.name).chain(labels().map(|(_, value)| &**value)).collect();
                let wrong = format!("no node has the name {domain} or a label with that value");
                Err(missing(wrong, nearest(domain, names.into_iter())))
            }
            [first, ..] => Err(NoSuchThing {
                wrong: format!("nodes have the value {domain} for {} labels", keys.len()),
                nearest: Some(format!("{first}={domain}")),
            }),
        }
    }
}

/// Ends pods where they are, and has them wait as if they were made anew.
pub(crate) fn move_all(rehearsal: &mut Rehearsal, pods: &[Arc<Pod>]) -> Vec<Arc<Pod>> {
    pods.iter().for_each(|pod| rehearsal.end_pod(&pod.uid));
    let moved: Vec<Arc<Pod>> = pods.iter().map(|pod| rehearsal.anew(pod)).collect();
    moved.iter().for_each(|pod| rehearsal.enqueue(pod.clone()));
    moved
}

/// Adds a node like another, without what is wrong with that one, and tells its name.
pub(crate) fn add_node(rehearsal: &mut Rehearsal, like: &NodeName) -> Option<NodeName> {
    let name = what_if::free_name(rehearsal.facts(), like);
    let (mut node, slices) = what_if::node_like(rehearsal.facts(), like, &name)?;
    node.unschedulable = false;
    node.taints.retain(|taint| !taint.key.starts_with(OF_TROUBLE));
    rehearsal.tell(Change::NodeApplied(Box::new(node)));
    slices.into_iter().for_each(|slice| rehearsal.tell(Change::SliceApplied(slice)));
    Some(name)
}

/// Whether a pod can be on one node alone, by its name.
pub(crate) fn is_tied(pod: &Pod, node: &str) -> bool {
    let names_it = |one: &Requirement| {
        *one.key == *NAME_FIELD
            && one.operator == Operator::In
            && one.values.iter().all(|value| **value == *node)
    };
    pod.shape.node_affinity.as_ref().is_some_and(|affinity| {
        !affinity.terms.is_empty() && affinity.terms.iter().all(|term| term.fields.iter().any(names_it))
    })
}

fn nodes(facts: &Facts) -> impl Iterator<Item = &Arc<Node>> {
    facts.nodes.iter().filter_map(|(_, state)| state.node.as_ref())
}

/// The texts that a device has as attributes.
fn texts(device: &Device) -> impl Iterator<Item = &str> {
    device.attributes.values().filter_map(|value| match value {
        Attribute::String(text) => Some(&**text),
        _ => None,
    })
}

/// A device with all that draws on the same counters, and these.
struct Card {
    devices: Vec<Device>,
    counter_sets: Vec<CounterSet>,
}

fn card_of(facts: &Facts, published: &Published, like: &Device) -> Card {
    let sets: BTreeSet<&Arc<str>> = like.draws.iter().map(|draw| &draw.counter_set).collect();
    if sets.is_empty() {
        return Card { devices: vec![like.clone()], counter_sets: Vec::new() };
    }
    let of_pool = || facts.slices.of_pool(&published.slice.pool);
    let draws = |device: &&Device| device.draws.iter().any(|draw| sets.contains(&draw.counter_set));
    let devices = of_pool().flat_map(|one| &one.slice.devices).filter(draws).cloned().collect();
    let all = of_pool().flat_map(|one| &one.slice.counter_sets);
    Card { devices, counter_sets: all.filter(|set| sets.contains(&set.name)).cloned().collect() }
}

fn missing(wrong: String, nearest: Option<&str>) -> NoSuchThing {
    NoSuchThing { wrong, nearest: nearest.map(str::to_owned) }
}
