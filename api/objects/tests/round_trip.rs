//! An object that passes through a wire type loses nothing and changes nothing, whatever its kind.

use std::collections::BTreeSet;

use objects::{Object, decode};
use objects::{
    apps, batch, coordination, core, events, kept, policy, resource, scheduling, storage, supercargo,
};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestError, TestRunner};
use schema::{Kind, conform, fill, table};
use serde_json::{Value, json};

/// So many bytes make an object of some kilobytes.
const BYTES_MAX: usize = 3_000;

/// A kind's wire type: the version it is written in, and reading and writing it.
struct WireKind {
    api_version: &'static str,
    kind: &'static str,
    rewrite: fn(&Value) -> Result<Value, String>,
}

fn wire_kind<T: Object>() -> WireKind {
    WireKind { api_version: T::API_VERSION, kind: T::KIND, rewrite: rewrite::<T> }
}

/// Reads the object's text and writes it again.
fn rewrite<T: Object>(object: &Value) -> Result<Value, String> {
    let read: T = decode(object.to_string().as_bytes()).map_err(|error| error.to_string())?;
    serde_json::from_slice(&read.write()).map_err(|error| error.to_string())
}

fn wire_kinds() -> Vec<WireKind> {
    vec![
        wire_kind::<core::pod::Pod>(),
        wire_kind::<core::node::Node>(),
        wire_kind::<core::event::Event>(),
        wire_kind::<core::kinds::Namespace>(),
        wire_kind::<core::kinds::PersistentVolumeClaim>(),
        wire_kind::<core::kinds::PersistentVolume>(),
        wire_kind::<core::kinds::Service>(),
        wire_kind::<core::kinds::ServiceAccount>(),
        wire_kind::<core::kinds::Secret>(),
        wire_kind::<core::kinds::ConfigMap>(),
        wire_kind::<core::kinds::ReplicationController>(),
        wire_kind::<core::kinds::Binding>(),
        wire_kind::<events::Event>(),
        wire_kind::<coordination::Lease>(),
        wire_kind::<kept::Deployment>(),
        wire_kind::<kept::DaemonSet>(),
        wire_kind::<kept::CronJob>(),
        wire_kind::<kept::Endpoints>(),
        wire_kind::<kept::HorizontalPodAutoscaler>(),
        wire_kind::<kept::Ingress>(),
        wire_kind::<kept::LeaseCandidate>(),
        wire_kind::<policy::PodDisruptionBudget>(),
        wire_kind::<policy::Eviction>(),
        wire_kind::<storage::StorageClass>(),
        wire_kind::<storage::CSINode>(),
        wire_kind::<storage::CSIDriver>(),
        wire_kind::<storage::CSIStorageCapacity>(),
        wire_kind::<storage::VolumeAttachment>(),
        wire_kind::<apps::ReplicaSet>(),
        wire_kind::<apps::StatefulSet>(),
        wire_kind::<batch::Job>(),
        wire_kind::<scheduling::priority_class::PriorityClass>(),
        wire_kind::<scheduling::pod_group::PodGroup>(),
        wire_kind::<scheduling::workload::Workload>(),
        wire_kind::<scheduling::composite_pod_group::CompositePodGroup>(),
        wire_kind::<resource::slice::ResourceSlice>(),
        wire_kind::<resource::claim::ResourceClaim>(),
        wire_kind::<resource::claim::ResourceClaimTemplate>(),
        wire_kind::<resource::class::DeviceClass>(),
        wire_kind::<resource::class::DeviceTaintRule>(),
        wire_kind::<resource::pool_status::ResourcePoolStatusRequest>(),
        wire_kind::<supercargo::pod_scheduling_context::PodSchedulingContext>(),
        wire_kind::<supercargo::device_attachment::DeviceAttachment>(),
        wire_kind::<supercargo::node_topology::NodeTopology>(),
        wire_kind::<supercargo::workload::Workload>(),
    ]
}

/// The wire type of the kind, or of its other version: what that does not know it must keep.
fn wire_kind_of<'k>(kinds: &'k [WireKind], kind: &Kind) -> &'k WireKind {
    let group = |api_version: &str| api_version.rsplit_once('/').map(|(group, _)| group.to_owned());
    let exact = |wire: &&WireKind| wire.kind == kind.kind && wire.api_version == kind.api_version;
    let other =
        |wire: &&WireKind| wire.kind == kind.kind && group(wire.api_version) == group(&kind.api_version);
    kinds.iter().find(exact).or_else(|| kinds.iter().find(other)).expect("every kind has a wire type")
}

/// The form in which the object is written.
fn canonical(kind: &Kind, mut object: Value) -> Value {
    object["apiVersion"] = json!(kind.api_version);
    fill(table(), kind.object, &mut object);
    object
}

/// Makes objects of every kind and sends them through their wire type.
fn check_every_kind(cases: u32, make: fn(&Kind, &[u8]) -> Value) {
    let config = ProptestConfig {
        cases,
        max_shrink_iters: 4_096,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let kinds = wire_kinds();
    for kind in table().kinds() {
        let wire = wire_kind_of(&kinds, kind);
        let bytes = prop::collection::vec(any::<u8>(), 0..BYTES_MAX);
        let object = bytes.prop_map(|bytes| make(kind, &bytes));
        let outcome = TestRunner::new(config.clone()).run(&object, |object| {
            let written = (wire.rewrite)(&object).map_err(TestCaseError::fail)?;
            let mut differences = Vec::new();
            compare(&canonical(kind, object), &canonical(kind, written), "", &mut differences);
            if differences.is_empty() { Ok(()) } else { Err(TestCaseError::fail(differences.join("\n"))) }
        });
        let failure = outcome.err().map(|error| match error {
            TestError::Fail(reason, object) => format!("{reason}\nfor {object}"),
            TestError::Abort(reason) => reason.to_string(),
        });
        let failure = failure.as_deref().unwrap_or_default();
        assert!(failure.is_empty(), "{} {}: {failure}", kind.api_version, kind.kind);
    }
}

/// Where two values differ.
fn compare(before: &Value, after: &Value, path: &str, differences: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for name in names {
                let (before, after) = (before.get(name), after.get(name));
                let path = format!("{path}.{name}");
                match (before, after) {
                    (Some(before), Some(after)) => compare(before, after, &path, differences),
                    (before, after) => differences.push(format!("{path}: {before:?} became {after:?}")),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                compare(before, after, &format!("{path}[{index}]"), differences);
            }
        }
        _ if before == after => {}
        _ => differences.push(format!("{path}: {before} became {after}")),
    }
}

/// An object with the types of its kind, as a client sends it.
fn sent(kind: &Kind, bytes: &[u8]) -> Value {
    let object = testkit::object(kind, bytes);
    conform(table(), kind.object, object, &mut Vec::new()).expect("the testkit keeps to the table")
}

/// An object as a newer server would send it.
fn with_unknown_fields(kind: &Kind, bytes: &[u8]) -> Value {
    let (known, unknown) = bytes.split_at(bytes.len() / 2);
    let mut object = canonical(kind, sent(kind, known));
    testkit::scatter_unknown(kind, &mut object, unknown);
    object
}

#[test]
fn nothing_is_lost_or_changed() {
    check_every_kind(200, sent);
}

#[test]
fn fields_that_nobody_knows_stay() {
    check_every_kind(100, with_unknown_fields);
}
