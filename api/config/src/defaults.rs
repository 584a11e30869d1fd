//! The plugins that run unless somebody says otherwise, in order, with their weights.

use gates::{Gate, Gates};

use crate::Plugin;
use crate::merge::Listed;

/// The list with these gates.
pub(crate) fn plugins(gates: Gates) -> Vec<Listed> {
    let when = |gate| if gates.enabled(gate) { Some(0) } else { None };
    let listed = Plugin::ALL.iter().map(|plugin| {
        let weight = match plugin {
            Plugin::TaintToleration => Some(3),
            Plugin::NodeAffinity | Plugin::PodTopologySpread | Plugin::InterPodAffinity => Some(2),
            Plugin::NodeResourcesFit | Plugin::NodeResourcesBalancedAllocation | Plugin::ImageLocality => {
                Some(1)
            }
            Plugin::ReadyDevices => when(Gate::DRADeviceBindingConditions).map(|_| 3),
            Plugin::DynamicResources => when(Gate::DynamicResourceAllocation).map(|_| 2),
            Plugin::NodeDeclaredFeatures => when(Gate::NodeDeclaredFeatures),
            Plugin::DeferredPodScheduling => when(Gate::InPlacePodVerticalScalingSchedulerPreemption),
            Plugin::GangScheduling => when(Gate::GenericWorkload),
            Plugin::TopologyPlacementGenerator => when(Gate::TopologyAwareWorkloadScheduling),
            Plugin::PodGroupPodsCount => when(Gate::TopologyAwareWorkloadScheduling).map(|_| 1),
            Plugin::SchedulingGates
            | Plugin::PrioritySort
            | Plugin::NodeName
            | Plugin::NodeUnschedulable
            | Plugin::NodePorts
            | Plugin::VolumeRestrictions
            | Plugin::NodeVolumeLimits
            | Plugin::VolumeBinding
            | Plugin::VolumeZone
            | Plugin::DefaultPreemption
            | Plugin::DefaultBinder => Some(0),
        };
        weight.map(|weight| Listed { plugin: *plugin, weight })
    });
    listed.flatten().collect()
}
