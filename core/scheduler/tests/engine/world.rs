//! An API made of values: what the engine writes is carried out, unless it is set to fail, and comes back as facts and
//! answers in an order of the test's choice.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::change::Change;
use cluster::claims::{Allocated, ClaimState, Held};
use cluster::contexts::PodContext;
use cluster::ledger::{Holding, ShareId};
use cluster::preparation::{Preparation, Progress};
use cluster::published::Published;
use decisions::considering::Consideration;
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::Gates;
use model::allocation::{Allocation, Grant};
use model::claim::{Amount, Ask, Claim, ClaimId, ClaimSpec, Class, Request, Wish};
use model::device::{Binding, Device, DeviceId, PoolId, Reach, Slice};
use model::group::GroupName;
use model::identity::PodUid;
use model::node::Node;
use model::pod::{ClaimSource, ContainerWish, Pod, PodClaim, PodId, Resources, Shape};
use model::timestamp::Timestamp;
use model::workload::Replica;
use scheduler::engine::{Announcement, ConsiderationId, ConsiderationOutcome, Effect, Engine, Input};
use scheduler::write::{ClaimFootprint, WaitReason, Write, WriteId, WriteOutcome};
use selector::SliceRevision;

pub const START: Timestamp = Timestamp::from_micros(1_000_000_000);

/// A world in which every write is carried out, unless it is set to fail.
pub struct World {
    pub engine: Engine,
    pub now: Timestamp,
    pub claims: BTreeMap<ClaimId, ClaimState>,
    pub pods: BTreeMap<PodUid, Pod>,
    /// Writes that wait to be carried out.
    pub open: Vec<(WriteId, Write)>,
    /// The next writes of which this says so fail.
    pub fail: Vec<fn(&Write) -> bool>,
    pub told: Vec<String>,
    /// What is noted on pods about their devices, by uid.
    pub notes: BTreeMap<PodUid, Vec<ClaimFootprint>>,
    /// How many claims were made for resources by name.
    pub made: usize,
    /// Pods that are deleted stay until they are let go.
    pub lingering: bool,
    /// Counts what is written to claims.
    pub revision: u64,
    /// Counts writes, and events about pods that wait.
    pub said: usize,
    /// What the condition of each pod says of why it waits.
    pub conditions: BTreeMap<PodUid, (WaitReason, String)>,
    /// What is negotiated about pods.
    pub contexts: BTreeMap<PodId, PodContext>,
    /// What takes long to decide waits until the test lets it be considered.
    pub holds_considerations: bool,
    /// What waits to be considered.
    pub to_consider: Vec<(ConsiderationId, Box<Consideration>)>,
    /// How much work considerations were.
    pub considered: Vec<u64>,
    /// How much work it was at the most to take something in.
    pub work_max: u64,
}

pub fn settings() -> Settings {
    settings_with(vec![Profile::named("supercargo")])
}

pub fn engine_with(profiles: Vec<Profile>) -> Engine {
    Engine::new(settings_with(profiles))
}

fn settings_with(profiles: Vec<Profile>) -> Settings {
    Settings {
        profiles: profiles.into_iter().map(Arc::new).collect(),
        gates: Gates::default(),
        patience: Patience::default(),
        search_steps_max: 10_000,
    }
}

pub fn engine() -> Engine {
    Engine::new(settings())
}

pub fn world() -> World {
    World {
        engine: engine(),
        now: START,
        claims: BTreeMap::new(),
        pods: BTreeMap::new(),
        open: Vec::new(),
        fail: Vec::new(),
        told: Vec::new(),
        notes: BTreeMap::new(),
        made: 0,
        lingering: false,
        revision: 0,
        said: 0,
        conditions: BTreeMap::new(),
        contexts: BTreeMap::new(),
        holds_considerations: false,
        to_consider: Vec::new(),
        considered: Vec::new(),
        work_max: 0,
    }
}

pub fn node(name: &str, cpu_milli: i64) -> Change {
    let allocatable = Resources { cpu_milli, memory: 1 << 30, ..Resources::default() };
    Change::NodeApplied(Box::new(Node { name: name.into(), allocatable, pods_max: 10, ..Node::default() }))
}

pub fn gpus(node: &str, names: &[&str]) -> Change {
    gpus_with(node, names, &Binding::default())
}

/// Cards that have to be made ready like this.
pub fn gpus_with(node: &str, names: &[&str], binding: &Binding) -> Change {
    let device = |name: &&str| Device { name: (*name).into(), binding: binding.clone(), ..Device::default() };
    let slice = Slice {
        name: format!("{node}-gpus").into(),
        pool: PoolId { driver: "gpu.example.com".into(), pool: node.into() },
        generation: 1,
        slices_in_pool: 1,
        reach: Reach::Node(node.into()),
        devices: names.iter().map(device).collect(),
        counter_sets: Vec::new(),
        skip_node_operations: Vec::new(),
    };
    // Another list of devices is another state of the slice.
    let revision = SliceRevision { slice: node.bytes().map(u64::from).sum(), revision: names.len() as u64 };
    Change::SliceApplied(Arc::new(Published::new(slice, revision)))
}

pub fn gpu_class() -> Change {
    let selector = "device.driver == \"gpu.example.com\"".into();
    Change::ClassApplied(Class { name: "gpu".into(), selectors: vec![Some(selector)], ..Class::default() })
}

/// The name of a group: of a replica, such as `w/g/0`, or of an object.
pub fn group_name(text: &str) -> GroupName {
    match text.split('/').collect::<Vec<_>>()[..] {
        [workload, group, number] => {
            Replica { workload: workload.into(), group: group.into(), number: number.into() }.into()
        }
        _ => text.into(),
    }
}

pub fn claim_id(name: &str) -> ClaimId {
    ClaimId { namespace: "default".into(), name: name.into() }
}

pub fn claim(name: &str) -> ClaimState {
    let ask = Ask {
        class: "gpu".into(),
        selectors: Vec::new(),
        amount: Amount::Exactly(1),
        admin_access: None,
        tolerations: Vec::new(),
        capacity: None,
        derived: Vec::new(),
    };
    let request = Request { name: "gpu".into(), wish: Wish::Exactly(ask) };
    let wish =
        Claim { id: claim_id(name), spec: ClaimSpec { requests: vec![request], ..ClaimSpec::default() } };
    ClaimState {
        uid: format!("uid-{name}").into(),
        version: "1".into(),
        wish: Arc::new(wish),
        allocation: None,
        reserved_for: Vec::new(),
        owner: None,
        extended: false,
        deleting: false,
        protected: false,
        preparation: None,
        control: Default::default(),
    }
}

/// A claim that would like so many cards, or else the next number.
pub fn alternatives(name: &str, counts: &[i64]) -> ClaimState {
    let mut state = claim(name);
    let mut wish = Claim::clone(&state.wish);
    let Wish::Exactly(ask) = &wish.spec.requests[0].wish else { unreachable!("it asks for one device") };
    let listed = counts.iter().map(|count| {
        (format!("with-{count}").into(), Ask { amount: Amount::Exactly(*count), ..ask.clone() })
    });
    wish.spec.requests[0].wish = Wish::FirstAvailable(listed.collect());
    state.wish = Arc::new(wish);
    state
}

pub fn pod(name: &str, cpu_milli: i64, claims: &[&str]) -> Pod {
    let requests = Resources { cpu_milli, ..Resources::default() };
    let shape = Shape {
        namespace: "default".into(),
        scored: requests.clone(),
        requests,
        containers: 1,
        ..Shape::default()
    };
    let named = |name: &&str| PodClaim { name: (*name).into(), source: ClaimSource::Named((*name).into()) };
    Pod {
        id: PodId { namespace: "default".into(), name: name.into() },
        uid: format!("uid-{name}").into(),
        scheduler: "supercargo".into(),
        node: None,
        nominated_node: None,
        running: false,
        finished: false,
        deleting: false,
        priority: 0,
        preempts: true,
        created: None,
        started: None,
        gates: Vec::new(),
        claims: claims.iter().map(named).collect(),
        group: None,
        landing: None,
        shape: Arc::new(shape),
    }
}

/// A pod that asks for cards by the name of a resource.
pub fn named_pod(name: &str, resource: &str, count: i64, claims: &[&str]) -> Pod {
    let mut pod = pod(name, 100, claims);
    let mut shape = Shape::clone(&pod.shape);
    shape.requests.others.insert(resource.into(), count);
    let amounts = [(resource.into(), (1, count))].into();
    shape.device_containers = vec![ContainerWish { name: "c".into(), place: 0, passes: false, amounts }];
    pod.shape = Arc::new(shape);
    pod
}

/// What a claim has by an allocation.
pub fn held(claim: &ClaimId, allocation: &Allocation, shares: &[Arc<str>]) -> Allocated {
    let mut shares = shares.iter();
    let held = allocation.grants.iter().map(|grant| Held {
        device: grant.device.clone(),
        share: grant.share.as_ref().and_then(|_| shares.next()).cloned().map(ShareId),
        holding: Holding {
            holder: claim.clone().into(),
            groups: grant.groups.clone(),
            consumed: grant.share.clone().unwrap_or_default(),
        },
        tolerations: grant.tolerations.clone(),
    });
    Allocated { nodes: allocation.nodes.clone(), held: held.collect() }
}

/// What is left to do for the devices of an allocation when it is written.
pub fn preparation(allocation: &Allocation, now: Timestamp) -> Option<Arc<Preparation>> {
    let grants = allocation.grants.iter().filter(|grant| !grant.binding.conditions.is_empty());
    let progress = |grant: &Grant| Progress {
        device: grant.device.clone(),
        timeout_ms: None,
        missing: grant.binding.conditions.clone(),
        failed: None,
    };
    let devices: Vec<Progress> = grants.map(progress).collect();
    (!devices.is_empty()).then(|| Arc::new(Preparation { since: Some(now.to_seconds()), devices }))
}

/// Whether something is written, or is an event that tells why a pod waits.
fn is_said(effect: &Effect) -> bool {
    match effect {
        Effect::Submit(..) | Effect::Announce(Announcement::Negotiating { .. }) => true,
        Effect::Announce(Announcement::FailedScheduling { is_news, .. }) => *is_news,
        Effect::Announce(Announcement::Gang(news)) => news.is_news,
        Effect::Announce(_) | Effect::WakeAt(_) | Effect::Consider(..) => false,
    }
}

impl World {
    pub fn tell(&mut self, input: Input) {
        let effects = self.engine.handle(self.now, input);
        self.work_max = self.work_max.max(self.engine.work_done());
        for effect in effects {
            self.said += usize::from(is_said(&effect));
            match effect {
                Effect::Submit(id, write) => self.open.push((id, write)),
                Effect::Announce(Announcement::Scheduled { pod, node, .. }) => {
                    self.told.push(format!("{} on {node}", pod.id.name));
                }
                Effect::Announce(Announcement::FailedScheduling { pod, message, .. }) => {
                    self.told.push(format!("{}: {message}", pod.id.name));
                }
                Effect::Announce(Announcement::Preempted { pod, by, group, node }) => {
                    let by = group.map_or_else(|| by.uid.to_string(), |group| group.id().name.to_string());
                    self.told.push(format!("{} preempted by {by} on {node}", pod.id.name));
                }
                Effect::Announce(Announcement::DevicesPending { pod, message, .. }) => {
                    self.told.push(format!("{}: {message}", pod.id.name));
                }
                Effect::Announce(Announcement::DevicesDone { pod, outcome, waited_ms, .. }) => {
                    self.told.push(format!("{}: {} after {waited_ms} ms", pod.id.name, outcome.name()));
                }
                Effect::Announce(Announcement::Gang(news)) => {
                    let (name, outcome) = (&news.group.name, &news.outcome);
                    self.told.push(format!("group {name}: {outcome}"));
                }
                Effect::Announce(
                    Announcement::Released { pod, message } | Announcement::GroupIgnored { pod, message },
                ) => self.told.push(format!("{}: {message}", pod.id.name)),
                Effect::Announce(Announcement::Negotiating { pod, wait }) => {
                    self.told.push(format!("{}: {wait}", pod.id.name));
                }
                Effect::Consider(id, consideration) => self.to_consider.push((id, consideration)),
                Effect::WakeAt(_) => {}
            }
        }
        if !self.holds_considerations {
            self.consider_all();
        }
    }

    /// Decides what takes long, and gives what it is about its turn.
    pub fn consider_all(&mut self) {
        for (id, consideration) in std::mem::take(&mut self.to_consider) {
            let considered = consideration.run();
            self.considered.push(considered.work);
            self.tell(Input::Considered(id, ConsiderationOutcome::Decided(Box::new(considered))));
            self.tell(Input::Turn { attempts: 1 });
            if self.engine.begins_consideration() {
                self.tell(Input::Turn { attempts: 0 });
            }
        }
    }

    pub fn fact(&mut self, change: Change) {
        self.tell(Input::Changed(change));
    }

    pub fn add_claim(&mut self, mut state: ClaimState) {
        state.version = self.next_version();
        self.claims.insert(state.wish.id.clone(), state.clone());
        self.fact(Change::ClaimApplied(Box::new(state)));
    }

    pub fn remove_claim(&mut self, name: &str) {
        self.claims.remove(&claim_id(name));
        self.fact(Change::ClaimGone(claim_id(name)));
    }

    /// The version that the next write gets.
    pub fn next_version(&mut self) -> Arc<str> {
        self.revision += 1;
        self.revision.to_string().into()
    }

    pub fn add_pod(&mut self, pod: Pod) {
        self.pods.insert(pod.uid.clone(), pod.clone());
        self.fact(Change::PodApplied(Arc::new(pod)));
    }

    pub fn remove_pod(&mut self, name: &str) {
        let uid: PodUid = format!("uid-{name}").into();
        self.pods.remove(&uid);
        self.fact(Change::PodGone(uid));
    }

    /// Removes a pod, and releases its claims as a controller would.
    pub fn let_go(&mut self, name: &str) {
        self.remove_pod(name);
        self.release(name);
    }

    /// Claims that a pod used are free of it, and without devices if no pod uses them any more.
    pub fn release(&mut self, name: &str) {
        let uid: PodUid = format!("uid-{name}").into();
        let used: Vec<ClaimId> = self
            .claims
            .values()
            .filter(|claim| claim.is_reserved_for(&uid))
            .map(|claim| claim.wish.id.clone())
            .collect();
        for id in used {
            let Some(claim) = self.claims.get_mut(&id) else { continue };
            claim.reserved_for.retain(|user| !user.is(&uid));
            if claim.reserved_for.is_empty() {
                claim.allocation = None;
            }
            self.revision += 1;
            claim.version = self.revision.to_string().into();
            let claim = Box::new(claim.clone());
            self.fact(Change::ClaimApplied(claim));
        }
    }

    pub fn turn(&mut self) {
        self.tell(Input::Turn { attempts: 100 });
        if self.engine.begins_consideration() {
            self.tell(Input::Turn { attempts: 0 });
        }
    }

    /// Carries out the writes that are open; the fact comes before the answer.
    pub fn carry_out(&mut self) {
        for (id, write) in std::mem::take(&mut self.open) {
            if let Some(at) = self.fail.iter().position(|fails| fails(&write)) {
                self.fail.remove(at);
                self.tell(Input::Settled(id, WriteOutcome::Failed("conflict".to_owned())));
                continue;
            }
            let outcome = self.apply(&write);
            self.tell(Input::Settled(id, outcome));
        }
        self.check();
    }

    /// No device is given twice.
    pub fn check(&self) {
        let mut given: Vec<&DeviceId> = Vec::new();
        let allocations = self.claims.values().filter_map(|claim| claim.allocation.as_ref());
        for held in allocations.flat_map(|allocated| &allocated.held) {
            assert!(!given.contains(&&held.device), "{} is given twice", held.device);
            given.push(&held.device);
        }
    }

    /// Takes turns and carries out writes until nothing more is to be done.
    pub fn settle(&mut self) {
        for _ in 0..20 {
            self.turn();
            self.carry_out();
        }
        assert!(self.open.is_empty(), "it does not come to rest: {:?}", self.open);
    }

    pub fn later(&mut self, seconds: i64) {
        self.now = self.now.plus_millis(seconds * 1_000);
    }

    pub fn node_of(&self, pod: &str) -> Option<String> {
        self.pods.get(&*format!("uid-{pod}")).and_then(|pod| pod.node.as_ref()).map(|node| node.to_string())
    }

    /// The claims that were made for a pod.
    pub fn made_for(&self, pod: &str) -> Vec<String> {
        let owner = Some(format!("uid-{pod}").into());
        let made = self.claims.values().filter(|claim| claim.extended && claim.owner == owner);
        made.map(|claim| claim.wish.id.name.to_string()).collect()
    }

    pub fn devices_of(&self, claim: &str) -> Vec<String> {
        let allocation = self.claims[&claim_id(claim)].allocation.iter();
        allocation.flat_map(|allocated| &allocated.held).map(|held| held.device.device.to_string()).collect()
    }
}
