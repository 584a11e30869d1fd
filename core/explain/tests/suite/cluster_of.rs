//! Small clusters for tests, made of facts that are told to an engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::change::{Change, GroupChange};
use cluster::claims::{Allocated, ClaimState, Held};
use cluster::groups::Root;
use cluster::ledger::{Holding, ShareId};
use cluster::published::Published;
use decisions::considering::Snapshot;
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use explain::{Audience, Case, Effort, explain_claim, explain_group, explain_pod};
use gates::{Gate, Gates};
use model::claim::{Amount, Ask, Claim, ClaimId, ClaimSpec, Class, Request, Wish};
use model::device::{Attribute, CounterSet, Device, DeviceId, PoolId, Reach, Slice};
use model::group::{Composite, Group, GroupId};
use model::node::{Node, NodeSelector, NodeTaint, NodeTaintEffect, Operator, Requirement};
use model::pod::{ClaimSource, LabelSelector, Pod, PodClaim, PodId, PodTerm, Resources, Shape};
use model::quantity::{Format, Quantity};
use model::timestamp::Timestamp;
use scheduler::engine::{Announcement, Effect, Engine, Input};
use selector::SliceRevision;

pub const DRIVER: &str = "gpu.example.com";
pub const HOST: &str = "kubernetes.io/hostname";
const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

/// A cluster that is being put together.
pub struct Cluster {
    engine: Engine,
    slices: u64,
}

pub fn cluster() -> Cluster {
    cluster_with(Gates::default())
}

/// A cluster that knows all that devices may have.
pub fn cluster_with_devices() -> Cluster {
    let gates = [Gate::DRADeviceCompatibilityGroups, Gate::DRAConsumableCapacity];
    cluster_with(gates.into_iter().fold(Gates::default(), |gates, gate| gates.with(gate, true)))
}

/// A cluster that knows groups of pods.
pub fn cluster_with_groups() -> Cluster {
    let gates = [
        Gate::GenericWorkload,
        Gate::TopologyAwareWorkloadScheduling,
        Gate::CompositePodGroup,
        Gate::DRADeviceCompatibilityGroups,
        Gate::DRAConsumableCapacity,
    ];
    cluster_with(gates.into_iter().fold(Gates::default(), |gates, gate| gates.with(gate, true)))
}

fn cluster_with(gates: Gates) -> Cluster {
    let settings = Settings {
        profiles: vec![Arc::new(Profile::named("supercargo"))],
        gates,
        patience: Patience::default(),
        search_steps_max: 10_000,
    };
    let mut cluster = Cluster { engine: Engine::new(settings), slices: 0 };
    let selectors = vec![Some(format!("device.driver == \"{DRIVER}\"").into())];
    cluster.tell(Change::ClassApplied(Class { name: "gpu".into(), selectors, ..Class::default() }));
    cluster
}

impl Cluster {
    pub fn tell(&mut self, change: Change) {
        self.engine.handle(NOW, Input::Changed(change));
    }

    pub fn with(mut self, node: Node) -> Cluster {
        self.tell(Change::NodeApplied(Box::new(node)));
        self
    }

    /// A node with cards that have the names `gpu-0` and so on.
    pub fn with_gpus(self, node: Node, count: usize) -> Cluster {
        let cards = (0..count).map(|number| gpu(number, &[])).collect();
        self.with_devices(node, cards)
    }

    pub fn with_devices(self, node: Node, devices: Vec<Device>) -> Cluster {
        self.with_counted(node, devices, Vec::new())
    }

    pub fn with_counted(
        mut self,
        node: Node,
        devices: Vec<Device>,
        counter_sets: Vec<CounterSet>,
    ) -> Cluster {
        self.slices += 1;
        let slice = Slice {
            name: format!("{}-gpus", node.name).into(),
            pool: PoolId { driver: DRIVER.into(), pool: (*node.name).into() },
            generation: 1,
            slices_in_pool: 1,
            reach: Reach::Node(node.name.clone()),
            devices,
            counter_sets,
            skip_node_operations: Vec::new(),
        };
        let revision = SliceRevision { slice: self.slices, revision: 1 };
        self.tell(Change::NodeApplied(Box::new(node)));
        self.tell(Change::SliceApplied(Arc::new(Published::new(slice, revision))));
        self
    }

    pub fn pod(mut self, pod: Pod) -> Cluster {
        self.tell(Change::PodApplied(Arc::new(pod)));
        self
    }

    /// A pod on a node with a claim of its own that holds these cards of the node.
    pub fn user(self, name: &str, node: &str, cards: &[usize]) -> Cluster {
        self.user_in("default", name, node, cards)
    }

    pub fn user_in(mut self, namespace: &str, name: &str, node: &str, cards: &[usize]) -> Cluster {
        let mut pod = on(pod(name).claims(&[name]).0, node);
        pod.id.namespace = namespace.into();
        pod.uid = format!("uid-{namespace}-{name}").into();
        let mut state = claim(name, cards.len() as i64);
        let id = ClaimId { namespace: namespace.into(), name: name.into() };
        Arc::make_mut(&mut state.wish).id = id.clone();
        state.reserved_for = vec![(&pod.uid).into()];
        state.allocation = Some(allocated(&id, node, cards));
        self.tell(Change::PodApplied(Arc::new(pod)));
        self.claim(state)
    }

    /// A pod on a node that shares a card of the node with others, and has so much of its memory.
    pub fn sharing(mut self, name: &str, node: &str, card: usize, memory: i64) -> Cluster {
        let pod = on(pod(name).claims(&[name]).0, node);
        let mut state = claim(name, 1);
        state.reserved_for = vec![(&pod.uid).into()];
        let mut given = Allocated::clone(&allocated(&state.wish.id, node, &[card]));
        for held in &mut given.held {
            held.share = Some(ShareId(format!("share-of-{name}").into()));
            let memory = Quantity::new(memory, Format::DecimalSi);
            held.holding.consumed = BTreeMap::from([("gpu.example.com/memory".into(), memory)]);
        }
        state.allocation = Some(Arc::new(given));
        self.tell(Change::PodApplied(Arc::new(pod)));
        self.claim(state)
    }

    /// A claim that holds cards of a node, and that no pod uses.
    pub fn idle(self, name: &str, node: &str, cards: &[usize]) -> Cluster {
        let mut state = claim(name, cards.len() as i64);
        state.allocation = Some(allocated(&state.wish.id, node, cards));
        self.claim(state)
    }

    pub fn claim(mut self, state: ClaimState) -> Cluster {
        self.tell(Change::ClaimApplied(Box::new(state)));
        self
    }

    /// A group of groups of which so many are placed at once, in one domain of each level.
    pub fn composite(mut self, name: &str, at_least: u32, levels: &[&str]) -> Cluster {
        self.tell(Change::Group(GroupChange::CompositeApplied(Box::new(Composite {
            id: group_id(name),
            uid: format!("uid-{name}").into(),
            at_least,
            levels: levels.iter().map(|level| (*level).into()).collect(),
            preempts: true,
            ..Composite::default()
        }))));
        self
    }

    /// A group of pods in a group of groups.
    pub fn group_in(mut self, parent: &str, name: &str, at_least: u32) -> Cluster {
        self.tell(Change::Group(GroupChange::Applied(Box::new(Group {
            id: group_id(name),
            uid: format!("uid-{name}").into(),
            at_least,
            preempts: true,
            parent: Some(parent.into()),
            ..Group::default()
        }))));
        self
    }

    /// A group of pods of which so many are placed at once, in one domain of each level.
    pub fn group(mut self, name: &str, at_least: u32, levels: &[&str]) -> Cluster {
        self.tell(Change::Group(GroupChange::Applied(Box::new(Group {
            id: group_id(name),
            uid: format!("uid-{name}").into(),
            at_least,
            levels: levels.iter().map(|level| (*level).into()).collect(),
            preempts: true,
            ..Group::default()
        }))));
        self
    }

    pub fn group_text(&self, name: &str) -> String {
        let root = Root::Group(group_id(name));
        explain_group(&self.snapshot(), &root, &Audience::AllNamespaces, Effort::default()).to_string()
    }

    pub fn claim_text(&self, name: &str) -> String {
        explain_claim(&self.snapshot(), &claim_id(name), &Audience::AllNamespaces).to_string()
    }

    pub fn waiting(&self, pod: &str) -> Case {
        let snapshot = self.snapshot();
        let pod = snapshot.facts.waiting.values().find(|one| one.id == pod_id(pod)).cloned();
        Case::of_pod(snapshot, pod.expect("it waits"))
    }

    /// What the conditions of pods and pod groups say after a turn.
    pub fn conditions(&mut self) -> Vec<String> {
        let effects = self.engine.handle(NOW, Input::Turn { attempts: 100 });
        let told = |effect: Effect| match effect {
            Effect::Announce(Announcement::FailedScheduling { message, .. }) => Some(message.to_string()),
            Effect::Announce(Announcement::Gang(news)) => Some(news.outcome.to_string()),
            _ => None,
        };
        effects.into_iter().filter_map(told).collect()
    }

    pub fn snapshot(&self) -> Snapshot {
        self.engine.snapshot()
    }

    /// The explanation of a pod as a text.
    pub fn text(&self, pod: &str) -> String {
        self.text_for(pod, &Audience::AllNamespaces)
    }

    pub fn text_for(&self, pod: &str, audience: &Audience) -> String {
        explain_pod(&self.snapshot(), &pod_id(pod), audience, Effort::default()).to_string()
    }
}

pub fn pod_id(name: &str) -> PodId {
    PodId { namespace: "default".into(), name: name.into() }
}

pub fn group_id(name: &str) -> GroupId {
    GroupId { namespace: "default".into(), name: name.into() }
}

pub fn node(name: &str, cpu: i64) -> Node {
    let allocatable = Resources { cpu_milli: cpu * 1_000, memory: 64 << 30, ..Resources::default() };
    let labels = [(HOST.into(), name.into())].into();
    Node { name: name.into(), allocatable, labels, pods_max: 110, ..Node::default() }
}

pub fn labelled(mut node: Node, key: &str, value: &str) -> Node {
    node.labels.insert(key.into(), value.into());
    node
}

pub fn tainted(mut node: Node, key: &str) -> Node {
    let effect = NodeTaintEffect::NoSchedule;
    node.taints.push(NodeTaint { key: key.into(), value: "".into(), effect });
    node
}

pub fn gpu(number: usize, attributes: &[(&str, &str)]) -> Device {
    let attributes: BTreeMap<_, _> =
        attributes.iter().map(|(key, value)| ((*key).into(), Attribute::String((*value).into()))).collect();
    Device { name: format!("gpu-{number}").into(), attributes, ..Device::default() }
}

/// A pod that is being put together.
pub struct Draft(pub Pod);

pub fn pod(name: &str) -> Draft {
    let shape = Shape { namespace: "default".into(), containers: 1, ..Shape::default() };
    Draft(Pod {
        id: pod_id(name),
        uid: format!("uid-{name}").into(),
        scheduler: "supercargo".into(),
        preempts: true,
        shape: Arc::new(shape),
        ..Pod::default()
    })
}

impl Draft {
    pub fn shape(mut self, change: impl FnOnce(&mut Shape)) -> Draft {
        change(Arc::make_mut(&mut self.0.shape));
        self
    }

    pub fn cpu(self, cpu: i64) -> Draft {
        self.shape(|shape| {
            shape.requests.cpu_milli = cpu * 1_000;
            shape.scored = shape.requests.clone();
        })
    }

    pub fn labels(self, key: &str, value: &str) -> Draft {
        self.shape(|shape| drop(shape.labels.insert(key.into(), value.into())))
    }

    pub fn selects(self, key: &str, value: &str) -> Draft {
        self.shape(|shape| drop(shape.node_labels.insert(key.into(), value.into())))
    }

    pub fn apart(self, key: &str, value: &str, domain: &str) -> Draft {
        let term = term(key, value, domain);
        self.shape(|shape| shape.apart.push(term))
    }

    pub fn near(self, key: &str, value: &str, domain: &str) -> Draft {
        let term = term(key, value, domain);
        self.shape(|shape| shape.near.push(term))
    }

    pub fn claims(mut self, names: &[&str]) -> Draft {
        let named =
            |name: &&str| PodClaim { name: (*name).into(), source: ClaimSource::Named((*name).into()) };
        self.0.claims = names.iter().map(named).collect();
        self
    }

    pub fn of(mut self, group: &str) -> Draft {
        self.0.group = Some(group.into());
        self
    }

    pub fn priority(mut self, priority: i32) -> Draft {
        self.0.priority = priority;
        self
    }
}

pub fn term(key: &str, value: &str, domain: &str) -> PodTerm {
    let requirement = Requirement { key: key.into(), operator: Operator::In, values: vec![value.into()] };
    PodTerm {
        selector: LabelSelector::All(vec![requirement]),
        namespaces: vec!["default".into()],
        namespace_selector: None,
        key: domain.into(),
    }
}

pub fn on(mut pod: Pod, node: &str) -> Pod {
    pod.node = Some(node.into());
    pod
}

pub fn claim_id(name: &str) -> ClaimId {
    ClaimId { namespace: "default".into(), name: name.into() }
}

pub fn ask(count: i64) -> Ask {
    Ask {
        class: "gpu".into(),
        selectors: Vec::new(),
        amount: Amount::Exactly(count),
        admin_access: None,
        tolerations: Vec::new(),
        capacity: None,
        derived: Vec::new(),
    }
}

pub fn claim(name: &str, count: i64) -> ClaimState {
    claim_with(name, vec![("gpus", ask(count))])
}

pub fn claim_with(name: &str, asks: Vec<(&str, Ask)>) -> ClaimState {
    let request = |(name, ask): (&str, Ask)| Request { name: name.into(), wish: Wish::Exactly(ask) };
    let requests = asks.into_iter().map(request).collect();
    let wish = Claim { id: claim_id(name), spec: ClaimSpec { requests, ..ClaimSpec::default() } };
    ClaimState {
        uid: format!("uid-{name}").into(),
        version: "1".into(),
        wish: Arc::new(wish),
        allocation: None,
        reserved_for: Vec::new(),
        owner: None,
        extended: false,
        deleting: false,
        protected: true,
        preparation: None,
        control: Default::default(),
    }
}

fn allocated(id: &ClaimId, node: &str, cards: &[usize]) -> Arc<Allocated> {
    let held = |card: &usize| Held {
        device: DeviceId { driver: DRIVER.into(), pool: node.into(), device: format!("gpu-{card}").into() },
        share: None,
        holding: Holding { holder: id.clone().into(), groups: BTreeMap::new(), consumed: BTreeMap::new() },
        tolerations: Vec::new(),
    };
    let nodes = Some(NodeSelector::only(&node.into()));
    Arc::new(Allocated { nodes, held: cards.iter().map(held).collect() })
}
