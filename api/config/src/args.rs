//! What plugins were told: `pluginConfig` of a profile.
//!
//! Invariant: every plugin that can be told something has its arguments here, with every default filled in, whether or
//! not it runs.

mod affinity;
mod fit;
mod gangs;
mod spread;

use std::time::Duration;

use gates::{Gate, Gates};

pub use affinity::AddedAffinity;
pub use fit::{NodeResourcesFit, ResourceWeight, ScoringStrategy, ShapePoint};
pub use gangs::{BindingFailurePolicy, GangScheduling, PlacementScorer, PlacementWeight};
pub use spread::{DefaultConstraint, DefaultConstraints};

use crate::fault::{Faults, Problem};
use crate::fields::{Fields, Item};
use crate::read::type_meta;
use crate::{Plugin, plugin_sets};

/// What the plugins of a profile were told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Args {
    /// `DefaultPreemptionArgs`.
    pub default_preemption: DefaultPreemption,
    /// `DynamicResourcesArgs`.
    pub dynamic_resources: DynamicResources,
    /// `GangSchedulingArgs`.
    pub gangs: GangScheduling,
    /// `InterPodAffinityArgs`.
    pub inter_pod_affinity: InterPodAffinity,
    /// `NodeAffinityArgs`: what every pod asks of nodes on top of what it says itself.
    pub added_affinity: Option<AddedAffinity>,
    /// `NodeResourcesBalancedAllocationArgs`: the resources to be balanced.
    pub balanced_resources: Vec<String>,
    /// `NodeResourcesFitArgs`.
    pub fit: NodeResourcesFit,
    /// `PodTopologySpreadArgs`: how pods are spread that say nothing about it.
    pub default_constraints: DefaultConstraints,
    /// `VolumeBindingArgs`.
    pub volume_binding: VolumeBinding,
}

/// How many nodes are tried when somebody is to be displaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultPreemption {
    /// At least this percentage of all nodes.
    pub min_candidate_nodes_percentage: u32,
    /// At least this many.
    pub min_candidate_nodes_absolute: u32,
}

/// Time limits for devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicResources {
    /// For the search on one node. Zero means that there is no limit; `None` means the same, because the feature is off.
    pub filter_timeout: Option<Duration>,
    /// For devices to report that they are ready. `None` while the feature is off.
    pub binding_timeout: Option<Duration>,
}

impl DynamicResources {
    /// The limit for the search on one node, if there is one.
    #[must_use]
    pub fn filter_limit(&self) -> Option<Duration> {
        self.filter_timeout.filter(|limit| !limit.is_zero())
    }
}

/// How much the wishes of pods about other pods count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterPodAffinity {
    /// How much it counts that a pod already there must be near to the new one.
    pub hard_pod_affinity_weight: i32,
    /// Whether wishes of pods already there count only if the new pod has some too.
    pub ignore_preferred_terms_of_existing_pods: bool,
}

/// How volumes are bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeBinding {
    /// How long to wait for it.
    pub bind_timeout: Duration,
    /// How good a node is, by how much of its storage is used; empty while the feature is off.
    pub shape: Vec<ShapePoint>,
}

const FILTER_TIMEOUT: Duration = Duration::from_secs(10);
const BINDING_TIMEOUT: Duration = Duration::from_secs(600);

impl Args {
    /// What plugins go by when they are told nothing.
    pub(crate) fn defaults(gates: Gates) -> Self {
        let with = |gate, value| gates.enabled(gate).then_some(value);
        let shape = [ShapePoint { utilization: 0, score: 10 }, ShapePoint { utilization: 100, score: 0 }];
        Self {
            default_preemption: DefaultPreemption {
                min_candidate_nodes_percentage: 10,
                min_candidate_nodes_absolute: 100,
            },
            dynamic_resources: DynamicResources {
                filter_timeout: with(Gate::DRASchedulerFilterTimeout, FILTER_TIMEOUT),
                binding_timeout: with(Gate::DRADeviceBindingConditions, BINDING_TIMEOUT),
            },
            gangs: GangScheduling::default(),
            inter_pod_affinity: InterPodAffinity {
                hard_pod_affinity_weight: 1,
                ignore_preferred_terms_of_existing_pods: false,
            },
            added_affinity: None,
            balanced_resources: ["cpu", "memory"].map(str::to_owned).to_vec(),
            fit: NodeResourcesFit::default(),
            default_constraints: DefaultConstraints::System,
            volume_binding: VolumeBinding {
                bind_timeout: Duration::from_secs(600),
                shape: if gates.enabled(Gate::StorageCapacityScoring) { shape.to_vec() } else { Vec::new() },
            },
        }
    }
}

/// Reads `pluginConfig` of a profile.
pub(crate) fn read(profile: &Fields<'_>, gates: Gates, faults: &mut Faults) -> Args {
    let mut args = Args::defaults(gates);
    let mut seen: Vec<Plugin> = Vec::new();
    profile.list("pluginConfig", faults, |item, faults| {
        let fields = item.fields(&["name", "args"], faults)?;
        let Some(name) = fields.get("name") else {
            fields.fault("name", Problem::Required { hint: "write the name of a plugin" }, faults);
            return None;
        };
        let plugin = plugin_sets::plugin(&name, faults)?;
        if seen.contains(&plugin) {
            name.fault(Problem::RepeatedPlugin { plugin }, faults);
        }
        seen.push(plugin);
        plugin_args(plugin, fields.get("args")?, gates, &mut args, faults);
        Some(())
    });
    args
}

fn plugin_args(plugin: Plugin, item: Item<'_>, gates: Gates, args: &mut Args, faults: &mut Faults) {
    match plugin {
        Plugin::DefaultPreemption => preemption(item, &mut args.default_preemption, faults),
        Plugin::DynamicResources => devices(item, gates, &mut args.dynamic_resources, faults),
        Plugin::GangScheduling => gangs::read(item, &mut args.gangs, faults),
        Plugin::InterPodAffinity => inter_pod_affinity(item, &mut args.inter_pod_affinity, faults),
        Plugin::NodeAffinity => args.added_affinity = affinity::read(item, faults),
        Plugin::NodeResourcesBalancedAllocation => balanced(item, &mut args.balanced_resources, faults),
        Plugin::NodeResourcesFit => fit::read(item, &mut args.fit, faults),
        Plugin::PodTopologySpread => args.default_constraints = spread::read(item, faults),
        Plugin::VolumeBinding => volume_binding(item, gates, &mut args.volume_binding, faults),
        Plugin::SchedulingGates
        | Plugin::PrioritySort
        | Plugin::NodeName
        | Plugin::NodeUnschedulable
        | Plugin::TaintToleration
        | Plugin::NodePorts
        | Plugin::DeferredPodScheduling
        | Plugin::VolumeRestrictions
        | Plugin::NodeVolumeLimits
        | Plugin::VolumeZone
        | Plugin::ImageLocality
        | Plugin::DefaultBinder
        | Plugin::NodeDeclaredFeatures
        | Plugin::TopologyPlacementGenerator
        | Plugin::ReadyDevices
        | Plugin::PodGroupPodsCount => item.fault(Problem::NoArguments { plugin }, faults),
    }
}

/// The fields of arguments, besides which they may say their kind.
fn fields<'t>(
    item: Item<'t>,
    kind: &'static str,
    known: &[&'static str],
    faults: &mut Faults,
) -> Option<Fields<'t>> {
    let fields = item.fields(&[known, &["apiVersion", "kind"]].concat(), faults)?;
    type_meta(&fields, kind, false, faults);
    Some(fields)
}

fn preemption(item: Item<'_>, args: &mut DefaultPreemption, faults: &mut Faults) {
    const PERCENTAGE: &str = "minCandidateNodesPercentage";
    const ABSOLUTE: &str = "minCandidateNodesAbsolute";
    let Some(fields) = fields(item, "DefaultPreemptionArgs", &[PERCENTAGE, ABSOLUTE], faults) else { return };
    if let Some(percentage) = fields.small(PERCENTAGE, 0..=100, faults) {
        args.min_candidate_nodes_percentage = percentage.unsigned_abs();
    }
    if let Some(absolute) = fields.small(ABSOLUTE, 0..=i32::MAX, faults) {
        args.min_candidate_nodes_absolute = absolute.unsigned_abs();
    }
    if args.min_candidate_nodes_percentage == 0 && args.min_candidate_nodes_absolute == 0 {
        let problem = Problem::Rule("must not be zero together with minCandidateNodesAbsolute");
        fields.fault(PERCENTAGE, problem, faults);
    }
}

fn devices(item: Item<'_>, gates: Gates, args: &mut DynamicResources, faults: &mut Faults) {
    const FILTER: &str = "filterTimeout";
    const BINDING: &str = "bindingTimeout";
    let Some(fields) = fields(item, "DynamicResourcesArgs", &[FILTER, BINDING], faults) else { return };
    let limits = [
        (FILTER, Gate::DRASchedulerFilterTimeout, &mut args.filter_timeout),
        (BINDING, Gate::DRADeviceBindingConditions, &mut args.binding_timeout),
    ];
    for (name, gate, limit) in limits {
        let Some(wanted) = fields.duration(name, faults) else { continue };
        if !gates.enabled(gate) {
            fields.fault(name, Problem::GateOff { gate }, faults);
        } else if name == BINDING && wanted < Duration::from_secs(1) {
            fields.fault(name, Problem::Rule("must be at least 1s"), faults);
        } else {
            *limit = Some(wanted);
        }
    }
}

fn inter_pod_affinity(item: Item<'_>, args: &mut InterPodAffinity, faults: &mut Faults) {
    const WEIGHT: &str = "hardPodAffinityWeight";
    const IGNORE: &str = "ignorePreferredTermsOfExistingPods";
    let Some(fields) = fields(item, "InterPodAffinityArgs", &[WEIGHT, IGNORE], faults) else { return };
    if let Some(weight) = fields.small(WEIGHT, 0..=100, faults) {
        args.hard_pod_affinity_weight = weight;
    }
    if let Some(ignore) = fields.flag(IGNORE, faults) {
        args.ignore_preferred_terms_of_existing_pods = ignore;
    }
}

fn balanced(item: Item<'_>, args: &mut Vec<String>, faults: &mut Faults) {
    let kind = "NodeResourcesBalancedAllocationArgs";
    let Some(fields) = fields(item, kind, &["resources"], faults) else { return };
    let mut names: Vec<String> = Vec::new();
    fields.list("resources", faults, |item, faults| {
        let resource = fit::resource(item, 1..=1, faults)?;
        if names.contains(&resource.name) {
            item.fault(Problem::Rule("an earlier resource has this name"), faults);
        }
        names.push(resource.name);
        Some(())
    });
    if !names.is_empty() {
        *args = names;
    }
}

fn volume_binding(item: Item<'_>, gates: Gates, args: &mut VolumeBinding, faults: &mut Faults) {
    const TIMEOUT: &str = "bindTimeoutSeconds";
    let Some(fields) = fields(item, "VolumeBindingArgs", &[TIMEOUT, "shape"], faults) else { return };
    if let Some(seconds) = fields.whole(TIMEOUT, 0..=i64::MAX, faults) {
        args.bind_timeout = Duration::from_secs(seconds.unsigned_abs());
    }
    let Some(shape) = fields.get("shape") else { return };
    let gate = Gate::StorageCapacityScoring;
    if !gates.enabled(gate) {
        shape.fault(Problem::GateOff { gate }, faults);
        return;
    }
    let points = fit::shape(&shape, faults);
    if !points.is_empty() {
        args.shape = points;
    }
}
