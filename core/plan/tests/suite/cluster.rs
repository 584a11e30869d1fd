//! Clusters of like nodes with devices, on which pods with a claim each hold them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::change::Change;
use cluster::claims::{Allocated, ClaimState, Held};
use cluster::ledger::Holding;
use cluster::published::Published;
use decisions::considering::Snapshot;
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::Gates;
use model::claim::{Amount, Ask, Claim, ClaimId, ClaimSpec, Class, Request, Wish};
use model::device::{Device, DeviceId, PoolId, Reach, Slice};
use model::node::{Node, NodeSelector};
use model::pod::{ClaimSource, Pod, PodClaim, PodId, Resources, Shape};
use model::timestamp::Timestamp;
use plan::{PlanQuestion, WORK_MAX};
use scheduler::engine::{Engine, Input};
use selector::SliceRevision;

const DRIVER: &str = "gpu.example.com";
const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

/// So many nodes with so many devices each, of which pods hold all but those that `free` picks by node and device.
pub fn cluster(nodes: usize, devices: usize, free: impl Fn(usize, usize) -> bool) -> Snapshot {
    let mut engine = Engine::new(Settings {
        profiles: vec![Arc::new(Profile::named("supercargo"))],
        gates: Gates::default(),
        patience: Patience::default(),
        search_steps_max: 10_000,
    });
    let mut tell = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
    let selectors = vec![Some(format!("device.driver == \"{DRIVER}\"").into())];
    tell(Change::ClassApplied(Class { name: "gpu".into(), selectors, ..Class::default() }));
    for number in 0..nodes {
        let name = node_name(number);
        let allocatable = Resources { cpu_milli: 64_000, memory: 256 << 30, ..Resources::default() };
        let node = Node { name: name.as_str().into(), allocatable, pods_max: 110, ..Node::default() };
        tell(Change::NodeApplied(Box::new(node)));
        let device = |device: usize| Device { name: format!("gpu-{device}").into(), ..Device::default() };
        let slice = Slice {
            name: format!("{name}-gpus").into(),
            pool: PoolId { driver: DRIVER.into(), pool: name.as_str().into() },
            generation: 1,
            slices_in_pool: 1,
            reach: Reach::Node(name.as_str().into()),
            devices: (0..devices).map(device).collect(),
            counter_sets: Vec::new(),
            skip_node_operations: Vec::new(),
        };
        let revision = SliceRevision { slice: number as u64, revision: 1 };
        tell(Change::SliceApplied(Arc::new(Published::new(slice, revision))));
    }
    for number in 0..nodes {
        for device in 0..devices {
            let name = format!("old-{number}-{device}");
            let mut pod = pod_of(&name);
            pod.node = Some(node_name(number).into());
            let mut state = claim_of(&name, 1);
            if free(number, device) {
                // As many pods in any case.
                pod.claims.clear();
            } else {
                state.reserved_for = vec![(&pod.uid).into()];
                state.allocation = Some(allocated(&state.wish.id, number, device));
                tell(Change::ClaimApplied(Box::new(state)));
            }
            tell(Change::PodApplied(Arc::new(pod)));
        }
    }
    engine.snapshot()
}

/// What is asked about so many new pods, each with so many devices.
pub fn question(snapshot: Snapshot, pods: usize, devices: i64) -> PlanQuestion {
    let arrivals = (0..pods).flat_map(|number| {
        let name = format!("new-{number}");
        let pod = pod_of(&name);
        let mut state = claim_of(&name, devices);
        state.owner = Some((&pod.uid).into());
        [Change::ClaimApplied(Box::new(state)), Change::PodApplied(Arc::new(pod))]
    });
    PlanQuestion {
        snapshot,
        arrivals: arrivals.collect(),
        alterations: Vec::new(),
        namespace: "default".to_owned(),
        priorities: BTreeMap::new(),
        stays: BTreeSet::new(),
        work_max: WORK_MAX,
    }
}

fn node_name(number: usize) -> String {
    format!("node-{number}")
}

fn pod_of(name: &str) -> Pod {
    let requests = Resources { cpu_milli: 1_000, memory: 1 << 30, ..Resources::default() };
    let shape = Shape {
        namespace: "default".into(),
        scored: requests.clone(),
        requests,
        containers: 1,
        ..Shape::default()
    };
    Pod {
        id: PodId { namespace: "default".into(), name: name.into() },
        uid: format!("uid-{name}").into(),
        scheduler: "supercargo".into(),
        preempts: true,
        claims: vec![PodClaim { name: "gpu".into(), source: ClaimSource::Generated(name.into()) }],
        shape: Arc::new(shape),
        ..Pod::default()
    }
}

fn claim_of(name: &str, devices: i64) -> ClaimState {
    let ask = Ask {
        class: "gpu".into(),
        selectors: Vec::new(),
        amount: Amount::Exactly(devices),
        admin_access: None,
        tolerations: Vec::new(),
        capacity: None,
        derived: Vec::new(),
    };
    let requests = vec![Request { name: "gpu".into(), wish: Wish::Exactly(ask) }];
    let id = ClaimId { namespace: "default".into(), name: name.into() };
    ClaimState {
        uid: format!("uid-claim-{name}").into(),
        version: "1".into(),
        wish: Arc::new(Claim { id, spec: ClaimSpec { requests, ..ClaimSpec::default() } }),
        allocation: None,
        reserved_for: Vec::new(),
        owner: Some((&model::identity::PodUid::from(format!("uid-{name}"))).into()),
        extended: false,
        deleting: false,
        protected: true,
        preparation: None,
        control: Default::default(),
    }
}

fn allocated(id: &ClaimId, node: usize, device: usize) -> Arc<Allocated> {
    let name = node_name(node);
    let device = DeviceId {
        driver: DRIVER.into(),
        pool: name.as_str().into(),
        device: format!("gpu-{device}").into(),
    };
    let holding = Holding { holder: id.clone().into(), groups: BTreeMap::new(), consumed: BTreeMap::new() };
    let held = vec![Held { device, share: None, holding, tolerations: Vec::new() }];
    Arc::new(Allocated { nodes: Some(NodeSelector::only(&name.into())), held })
}
