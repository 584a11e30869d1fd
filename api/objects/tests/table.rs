//! The wire types agree with the schema table: same names, same types, and no zero lost that means something.

use schema::{Field, Presence, Shape, Table, table};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Packages of which the wire types know every field.
const COMPLETE: [&str; 4] = ["resource.v1", "scheduling.v1", "scheduling.v1beta1", "supercargo.v1alpha1"];

/// Calls the macro with every wire type: its module, the package of its structure in the table, the module's text,
/// and its name, followed by the structure's name where that is another one.
macro_rules! with_every_type {
    ($then:ident) => {
        $then! {
            apps, "apps.v1", "../src/apps.rs":
                ReplicaSet, ReplicaSetSpec, ReplicaSetStatus, StatefulSet, StatefulSetSpec,
                StatefulSetStatus, StatefulSetUpdateStrategy, RollingUpdateStatefulSetStrategy,
                VolumeClaimTemplate;
            batch, "batch.v1", "../src/batch.rs":
                Job, JobSpec, JobStatus, JobCondition, JobScheduling as "JobSchedulingConfiguration",
                PodFailurePolicy, PodFailurePolicyRule, PodFailurePolicyOnExitCodesRequirement,
                PodFailurePolicyOnPodConditionsPattern, SuccessPolicy, SuccessPolicyRule,
                UncountedTerminatedPods;
            coordination, "coordination.v1", "../src/coordination.rs":
                Lease, LeaseSpec;
            core::affinity, "core.v1", "../src/core/affinity.rs":
                Affinity, NodeAffinity, PreferredSchedulingTerm, NodeSelector, NodeSelectorTerm,
                NodeSelectorRequirement, PodAffinity, PodAntiAffinity, PodAffinityTerm,
                WeightedPodAffinityTerm, TopologySpreadConstraint, Toleration;
            core::container, "core.v1", "../src/core/container.rs":
                Container, ContainerPort, ResourceRequirements, ContainerClaim as "ResourceClaim", EnvVar,
                EnvVarSource, KeySelector as "SecretKeySelector", ObjectFieldSelector, FileKeySelector,
                ResourceFieldSelector, EnvFromSource, VolumeMount, VolumeDevice, Probe, Lifecycle,
                LifecycleHandler, ExecAction, HTTPGetAction, TCPSocketAction, SleepAction,
                ContainerResizePolicy, ContainerRestartRule, ContainerRestartRuleOnExitCodes, Volume,
                EmptyDirVolumeSource, ImageVolumeSource, PersistentVolumeClaimVolumeSource,
                AWSElasticBlockStoreVolumeSource, AzureDiskVolumeSource, CinderVolumeSource,
                EphemeralVolumeSource, PersistentVolumeClaimTemplate, GCEPersistentDiskVolumeSource,
                ISCSIVolumeSource, PortworxVolumeSource, RBDVolumeSource;
            core::event, "core.v1", "../src/core/event.rs":
                Event, EventSeries, EventSource, ObjectReference;
            core::kinds, "core.v1", "../src/core/kinds.rs":
                Namespace, NamespaceSpec, NamespaceStatus, Binding, PersistentVolumeClaim,
                PersistentVolumeClaimSpec, VolumeResourceRequirements,
                PersistentVolumeClaimStatus, PersistentVolume, PersistentVolumeSpec, PersistentVolumeStatus,
                VolumeNodeAffinity, CSIPersistentVolumeSource, CinderPersistentVolumeSource,
                TopologySelectorTerm, TopologySelectorLabelRequirement, Service, ServiceSpec, ServicePort, ServiceAccount, Secret, ConfigMap,
                ReplicationController, ReplicationControllerSpec, ReplicationControllerStatus;
            core::node, "core.v1", "../src/core/node.rs":
                Node, NodeSpec, NodeStatus, NodeSystemInfo, NodeSwapStatus, NodeAddress, NodeCondition,
                ContainerImage, Taint;
            core::pod, "core.v1", "../src/core/pod.rs":
                Pod, PodSpec, PodStatus, PodCondition, PodReadinessGate, PodSchedulingGate,
                PodSchedulingGroup, PodResourceClaim, PodResourceClaimStatus,
                PodExtendedResourceClaimStatus, ContainerExtendedResourceRequest,
                NodeAllocatableResourceClaimStatus, NodeAllocatableMappedResources,
                NodeAllocatableOverheadResources, PodIP, ContainerStatus, ContainerState,
                ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, HostAlias, LocalObjectReference, PodTemplateSpec, PodOS;
            events, "events.v1", "../src/events.rs":
                Event, EventSeries;
            meta, "meta.v1", "../src/meta.rs":
                ObjectMeta, OwnerReference, Condition, LabelSelector, LabelSelectorRequirement,
                DeleteOptions, Preconditions;
            policy, "policy.v1", "../src/policy.rs":
                PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus, Eviction;
            resource::allocation, "resource.v1", "../src/resource/allocation.rs":
                ResourceClaimStatus, AllocationResult, DeviceAllocationResult,
                DeviceRequestAllocationResult, DeviceAllocationConfiguration,
                ResourceClaimConsumerReference, AllocatedDeviceStatus, NetworkDeviceData, ResourceHandle;
            resource::claim, "resource.v1", "../src/resource/claim.rs":
                ResourceClaim, ResourceClaimSpec, DeviceClaim, DeviceRequest, ExactDeviceRequest,
                DeviceSubRequest, DeviceSelector, CELDeviceSelector, CapacityRequirements, DeviceToleration,
                DeviceDerivedAttribute, DeviceConstraint, DeviceClaimConfiguration,
                OpaqueDeviceConfiguration, ResourceClaimTemplate, ResourceClaimTemplateSpec;
            resource::class, "resource.v1", "../src/resource/class.rs":
                DeviceClass, DeviceClassSpec, DeviceClassConfiguration, DeviceTaintRule,
                DeviceTaintRuleSpec, DeviceTaintSelector, DeviceTaintRuleStatus;
            resource::pool_status, "resource.v1alpha3", "../src/resource/pool_status.rs":
                ResourcePoolStatusRequest, ResourcePoolStatusRequestSpec, ResourcePoolStatusRequestStatus,
                PoolStatus;
            resource::slice, "resource.v1", "../src/resource/slice.rs":
                ResourceSlice, ResourceSliceSpec, ResourcePool, CounterSet, Counter, Device,
                DeviceAttribute, DeviceCapacity, CapacityRequestPolicy, CapacityRequestPolicyRange,
                DeviceCounterConsumption, NodeAllocatableResource, NodeAllocatableMapping,
                NodeAllocatableOverhead, DeviceTaint;
            scheduling::composite_pod_group, "scheduling.v1alpha3", "../src/scheduling/composite_pod_group.rs":
                CompositePodGroup, CompositePodGroupSpec, CompositePodGroupStatus;
            scheduling::job, "scheduling.v1alpha3", "../src/scheduling/job.rs":
                JobSchedulingPolicy as "WorkloadPodGroupSchedulingPolicy",
                JobGangSchedulingPolicy as "WorkloadPodGroupGangSchedulingPolicy";
            scheduling::pod_group, "scheduling.v1beta1", "../src/scheduling/pod_group.rs":
                PodGroup, PodGroupSpec, PodGroupStatus, PodGroupResourceClaim, PodGroupResourceClaimStatus,
                PodGroupSchedulingConstraints, TopologyConstraint, PodGroupSchedulingPolicy,
                BasicSchedulingPolicy, GangSchedulingPolicy, DisruptionMode, SingleDisruptionMode,
                AllDisruptionMode, WorkloadReference;
            scheduling::priority_class, "scheduling.v1", "../src/scheduling/priority_class.rs":
                PriorityClass;
            scheduling::workload, "scheduling.v1beta1", "../src/scheduling/workload.rs":
                Workload, WorkloadSpec, TypedLocalObjectReference, PodGroupTemplate,
                CompositePodGroupTemplate, CompositePodGroupSchedulingPolicy,
                CompositeBasicSchedulingPolicy, CompositeGangSchedulingPolicy,
                CompositePodGroupSchedulingConstraints, CompositeDisruptionMode,
                SingleCompositeDisruptionMode, AllCompositeDisruptionMode;
            storage, "storage.v1", "../src/storage.rs":
                StorageClass, CSINode, CSINodeSpec, CSINodeDriver, VolumeNodeResources, CSIDriver,
                CSIDriverSpec, CSIStorageCapacity, VolumeAttachment, VolumeAttachmentSpec,
                VolumeAttachmentSource;
            supercargo::device_attachment, "supercargo.v1alpha1", "../src/supercargo/device_attachment.rs":
                DeviceAttachment, DeviceAttachmentSpec, AttachmentClaim, DeviceAttachmentStatus;
            supercargo::node_topology, "supercargo.v1alpha1", "../src/supercargo/node_topology.rs":
                NodeTopology, NodeTopologySpec, TopologyLevel, NodeTopologyStatus, TopologyLevelStatus,
                TopologyContradiction;
            supercargo::pod_scheduling_context, "supercargo.v1alpha1", "../src/supercargo/pod_scheduling_context.rs":
                PodSchedulingContext, PodSchedulingContextSpec, PodSchedulingContextStatus,
                ResourceClaimSchedulingStatus;
            supercargo::workload, "supercargo.v1alpha1", "../src/supercargo/workload.rs":
                Workload, WorkloadSpec, PodGroup, PodGroupPolicy, BasicPolicy, GangPolicy,
                PodGroupSchedulingConstraints, TopologyConstraint, DRAConstraint, WorkloadStatus,
                PodGroupStatus, ReplicaStatus, ReplicaDomain;
        }
    };
}

/// What the types say of themselves.
struct WireType {
    package: &'static str,
    name: &'static str,
    structure: String,
    source: &'static str,
    fields: &'static [&'static str],
    rewrite: fn(Value) -> Result<Value, String>,
}

/// Reads a value as `T` and writes it again.
fn rewrite<T: Serialize + DeserializeOwned>(value: Value) -> Result<Value, String> {
    let read: T = serde_json::from_value(value).map_err(|error| error.to_string())?;
    serde_json::to_value(&read).map_err(|error| error.to_string())
}

fn wire_types() -> Vec<WireType> {
    let mut types = Vec::new();
    macro_rules! collect {
        ($($($module:ident)::+, $package:literal, $source:literal:
            $($type:ident $(as $structure:literal)?),+;)+) => {$({
            use objects::$($module)::+ as module;
            $(
                let names: &[&str] = &[stringify!($type) $(, $structure)?];
                types.push(WireType {
                    package: $package,
                    name: stringify!($type),
                    structure: format!("{}.{}", $package, names[names.len() - 1]),
                    source: include_str!($source),
                    fields: module::$type::FIELDS,
                    rewrite: rewrite::<module::$type>,
                });
            )+
        })+};
    }
    with_every_type!(collect);
    types
}

#[test]
fn every_field_of_a_wire_type_is_in_the_table() {
    for wire in wire_types() {
        let id = table().find(&wire.structure).unwrap_or_else(|| panic!("no structure {}", wire.structure));
        for name in wire.fields {
            let known = table().get(id).field(name).is_some();
            assert!(known, "{}: the table has no field {name}", wire.structure);
        }
    }
}

#[test]
fn types_that_are_said_to_be_complete_are() {
    for wire in wire_types().iter().filter(|wire| COMPLETE.contains(&wire.package)) {
        for field in fields(table(), wire) {
            let known = wire.fields.contains(&field.name.as_str());
            assert!(known, "{} does not know {}", wire.structure, field.name);
        }
    }
}

#[test]
fn a_field_holds_what_the_table_says() {
    for wire in wire_types() {
        for field in known_fields(&wire) {
            let value = testkit::sample(table(), &field.shape);
            check(&wire, field, &value);
        }
    }
}

#[test]
fn a_zero_that_was_set_stays_where_it_means_something() {
    for wire in wire_types() {
        for field in known_fields(&wire).filter(|field| field.presence == Presence::Optional) {
            let zero = match &field.shape {
                Shape::Scalar(scalar) => scalar.zero(),
                Shape::Struct(_) => json!({}),
                Shape::List(_) | Shape::Map(_) | Shape::Any => Value::Null,
            };
            if !zero.is_null() {
                check(&wire, field, &zero);
            }
        }
    }
}

#[test]
fn no_wire_type_is_forgotten_here() {
    let types = wire_types();
    for wire in &types {
        let declared = wire.source.lines().filter_map(|line| {
            let line = line.strip_prefix("    pub ")?;
            let rest = line.strip_prefix("struct ").or_else(|| line.strip_prefix("object "))?;
            rest.split(' ').next()
        });
        for name in declared {
            let listed = types.iter().any(|other| other.source == wire.source && other.name == name);
            assert!(listed, "{name} is declared next to {} and not listed in this test", wire.name);
        }
    }
}

fn fields<'t>(table: &'t Table, wire: &WireType) -> impl Iterator<Item = &'t Field> {
    table.find(&wire.structure).into_iter().flat_map(|id| &table.get(id).fields)
}

/// The fields that the type looks at; all others it keeps word for word.
fn known_fields(wire: &WireType) -> impl Iterator<Item = &'static Field> {
    let names = wire.fields;
    fields(table(), wire).filter(move |field| names.contains(&field.name.as_str()))
}

/// The value comes back as it went in.
fn check(wire: &WireType, field: &Field, value: &Value) {
    let object: Map<String, Value> = [(field.name.clone(), value.clone())].into_iter().collect();
    let written = (wire.rewrite)(Value::Object(object));
    assert!(written.is_ok(), "{}.{}: {written:?}", wire.structure, field.name);
    let written = written.unwrap_or_default();
    let nothing = json!({});
    let may_vanish = field.presence != Presence::Optional && *value == nothing;
    let back = written.get(&field.name).unwrap_or(if may_vanish { &nothing } else { &Value::Null });
    assert_eq!(back, value, "{}.{}", wire.structure, field.name);
}
