//! Annotations that stand for fields of ours where a real API server would drop them, and labels by which pods join our own
//! workloads.

/// On a ResourceSlice, for `bindingTimeout` of its devices: how long each may take to be made ready, as a JSON object of
/// times by the names of devices.
pub const BINDING_TIMEOUTS: &str = "supercargo.dev/binding-timeouts";

/// On a pod: the workload of our own kind that it belongs to.
pub const WORKLOAD_LABEL: &str = "supercargo.dev/workload";

/// On a pod: its group in the workload.
pub const POD_GROUP_LABEL: &str = "supercargo.dev/pod-group";

/// On a pod: the number of its group's replica, from zero; the first if it is left out.
pub const REPLICA_LABEL: &str = "supercargo.dev/replica";

/// On a pod that is bound together with others of its gang, all of which are let go unless all are bound: when the youngest of them was
/// made. So a scheduler that is started meanwhile knows who was bound with whom.
pub const BOUND_TOGETHER: &str = "supercargo.dev/bound-together";

/// Beside [`BOUND_TOGETHER`]: the uids of other pods of the gang that waited then and were not bound with it, separated by commas.
pub const NOT_BOUND_TOGETHER: &str = "supercargo.dev/not-bound-together";

/// On a DeviceClass, for `spec.controllerName`; on a ResourceClaim, for `status.controllerName`.
pub const CONTROLLER_NAME: &str = "supercargo.dev/controller-name";

/// On a DeviceClass, for `spec.suitableNodes`: a node selector in JSON.
pub const SUITABLE_NODES: &str = "supercargo.dev/suitable-nodes";

/// On a ResourceClaim, for `spec.allocationMode`.
pub const ALLOCATION_MODE: &str = "supercargo.dev/allocation-mode";

/// On a ResourceClaim, for `status.deallocationRequested`: `true`.
pub const DEALLOCATION_REQUESTED: &str = "supercargo.dev/deallocation-requested";

/// On a ResourceClaim, for `status.allocation.shareable`: `true`.
pub const SHAREABLE: &str = "supercargo.dev/shareable";

/// On a ResourceClaim, for `status.allocation.resourceHandles`: the list in JSON.
pub const RESOURCE_HANDLES: &str = "supercargo.dev/resource-handles";

/// On a ResourceClaim, for `status.allocation.devices.results[].compatibilityGroups`: a list in JSON of devices with their groups.
pub const COMPATIBILITY_GROUPS: &str = "supercargo.dev/compatibility-groups";
