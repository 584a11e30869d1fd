//! Many nodes with eight GPUs each, asked one after the other, as a scheduler does that looks for a node.
//!
//! What selectors said about a slice is kept from sweep to sweep. The first sweep has nothing to go by.

use std::collections::BTreeMap;
use std::sync::Arc;

use allocation::{AllocationAnswer, DeviceOrder, Expressions, Question};
use cluster::ledger::Ledger;
use cluster::pools::{PoolView, Slices};
use cluster::published::Published;
use gates::Gates;
use model::claim::{Claim, Class};
use model::device::{Attribute, Capacity, Device};
use model::node::Node;
use selector::SliceRevision;

use super::world::{DRIVER, claim, classes, count, mebibytes, slice, take};

const GPUS: usize = 8;

/// A claim that is tried on every node.
pub(super) struct Sweep {
    pub name: &'static str,
    /// How many GPUs the claim wants.
    pub gpus: i64,
    pub tied_by: &'static [&'static str],
    /// How many GPUs of each node are taken.
    pub taken: usize,
    /// Whether each node can satisfy the claim, or none.
    pub fits: bool,
    /// The most steps on one node.
    pub steps_max: u64,
}

#[rustfmt::skip]
pub(super) const SWEEPS: &[Sweep] = &[
    Sweep { name: "fleet: 1 GPU, empty",      gpus: 1, tied_by: &[],         taken: 0, fits: true,  steps_max: 4 },
    Sweep { name: "fleet: 1 GPU, half full",  gpus: 1, tied_by: &[],         taken: 4, fits: true,  steps_max: 4 },
    Sweep { name: "fleet: 1 GPU, full",       gpus: 1, tied_by: &[],         taken: 8, fits: false, steps_max: 2 },
    Sweep { name: "fleet: 8 GPUs, empty",     gpus: 8, tied_by: &["fabric"], taken: 0, fits: true,  steps_max: 18 },
    Sweep { name: "fleet: 8 GPUs, half full", gpus: 8, tied_by: &["fabric"], taken: 4, fits: false, steps_max: 2 },
];

/// The nodes with their slices.
pub(super) struct Fleet {
    nodes: Vec<Node>,
    slices: Slices,
    views: Vec<Vec<PoolView>>,
    classes: BTreeMap<Arc<str>, Class>,
}

/// What came of a sweep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Swept {
    /// How many nodes can satisfy the claim.
    pub fitting: usize,
    /// The most steps on one node.
    pub steps_most: u64,
    /// The steps on all of them.
    pub steps: u64,
}

impl Fleet {
    /// So many nodes with eight GPUs.
    pub fn new(nodes: usize) -> anyhow::Result<Fleet> {
        let node = |number: usize| Node { name: format!("gpu-node-{number:04}").into(), ..Node::default() };
        let nodes: Vec<Node> = (0..nodes).map(node).collect();
        let publish = |(number, node): (usize, &Node)| {
            let slice = slice(&node.name, (0..GPUS).map(|gpu| device(number, gpu)).collect());
            Arc::new(Published::new(slice, SliceRevision { slice: number as u64, revision: 0 }))
        };
        let slices = Slices::new(nodes.iter().enumerate().map(publish));
        let mut fleet = Fleet { nodes, slices, views: Vec::new(), classes: classes() };
        fleet.views = fleet.view()?;
        Ok(fleet)
    }

    /// The pools as each node sees them.
    pub fn view(&self) -> anyhow::Result<Vec<Vec<PoolView>>> {
        let views = self.nodes.iter().map(|node| self.slices.pools_for(node, Gates::default()));
        Ok(views.collect::<Result<_, _>>()?)
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// A ledger with so many GPUs of each node.
    pub fn taken(&self, gpus: usize) -> Ledger {
        let mut ledger = Ledger::default();
        for node in &self.nodes {
            (0..gpus).for_each(|gpu| take(&mut ledger, &node.name, &format!("gpu-{gpu}")));
        }
        ledger
    }

    /// Asks every node.
    pub fn sweep(
        &self,
        claim: &Claim,
        ledger: &Ledger,
        budget: u64,
        expressions: &mut Expressions,
    ) -> anyhow::Result<Swept> {
        let mut swept = Swept::default();
        for (node, pools) in self.nodes.iter().zip(&self.views) {
            let (gates, order) = (Gates::default(), DeviceOrder::default());
            let (claims, classes) = (&[claim.into()][..], &self.classes);
            let question = Question { node, pools, claims, classes, ledger, gates, order, budget };
            let reply = allocation::allocate(&question, expressions)?;
            swept.fitting += usize::from(matches!(reply.answer, AllocationAnswer::Allocated(_)));
            swept.steps_most = swept.steps_most.max(reply.steps);
            swept.steps += reply.steps;
        }
        Ok(swept)
    }
}

impl Sweep {
    /// The claim in full.
    pub fn claim(&self) -> Claim {
        let selector = format!(
            "device.attributes['{DRIVER}'].productName == 'H100-SXM5-80GB' && \
             device.capacity['{DRIVER}'].memory.compareTo(quantity('40Gi')) >= 0"
        );
        claim("training", &[(self.gpus, selector)], self.tied_by)
    }
}

fn device(node: usize, gpu: usize) -> Device {
    let text = |text: String| Attribute::String(text.into());
    let attributes = [
        ("type", text("gpu".to_owned())),
        ("uuid", text(format!("GPU-{node:08x}-{gpu:04x}"))),
        ("productName", text("H100-SXM5-80GB".to_owned())),
        ("architecture", text("Hopper".to_owned())),
        ("brand", text("Example".to_owned())),
        ("index", Attribute::Int(gpu as i64)),
        ("fabric", text(format!("fabric-{node}"))),
        ("cudaComputeCapability", Attribute::Version("9.0.0".into())),
        ("driverVersion", Attribute::Version("570.124.6".into())),
        ("resource.kubernetes.io/pcieRoot", text(format!("pci0000:{gpu:02x}"))),
    ];
    let capacity = [("memory", mebibytes(81_559)), ("multiprocessors", count(132))];
    let capacity = capacity.map(|(name, value)| (name.into(), Capacity { value, policy: None }));
    Device {
        name: format!("gpu-{gpu}").into(),
        attributes: attributes.map(|(name, value)| (name.into(), value)).into(),
        capacity: capacity.into(),
        ..Device::default()
    }
}
