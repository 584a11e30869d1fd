//! Volumes, and the classes and drivers that they come from.

use std::cmp::Reverse;

use model::quantity::Quantity;
use model::timestamp::Timestamp;
use serde_json::Value;

use crate::age::{age, moment};
use crate::column::{AGE, Column, NAME};
use crate::fields::{is_deleted, items, joined, joined_by, name, set_or, text, truth};

const ATTRIBUTES: Column = Column::text("VolumeAttributesClass", "The class of the volume's attributes.");
const MODE: Column =
    Column::text("VolumeMode", "Whether the volume has a file system or is a bare device.").wide();

pub(super) const VOLUME: &[Column] = &[
    NAME,
    Column::text("Capacity", "How much the volume holds."),
    Column::text("Access Modes", "The access modes of the volume."),
    Column::text("Reclaim Policy", "Reclaim policy of the volume."),
    Column::text("Status", "Whether the volume is free, bound or released."),
    Column::text("Claim", "The claim to which the volume is bound."),
    Column::text("StorageClass", "The class of the volume."),
    ATTRIBUTES,
    Column::text("Reason", "Why the volume failed."),
    AGE,
    MODE,
];

pub(super) fn volume(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let claim = &spec["claimRef"];
    let claim = if claim.is_object() {
        format!("{}/{}", text(&claim["namespace"]), text(&claim["name"]))
    } else {
        String::new()
    };
    vec![
        name(object),
        amount(&spec["capacity"]["storage"]).into(),
        access_modes(&spec["accessModes"]).into(),
        text(&spec["persistentVolumeReclaimPolicy"]).into(),
        phase(object).into(),
        claim.into(),
        class_name(object).into(),
        set_or(&spec["volumeAttributesClassName"], "<unset>").into(),
        text(&status["reason"]).into(),
        age(object, now),
        set_or(&spec["volumeMode"], "<unset>").into(),
    ]
}

pub(super) const VOLUME_CLAIM: &[Column] = &[
    NAME,
    Column::text("Status", "Whether the claim has its volume."),
    Column::text("Volume", "The volume to which the claim is bound."),
    Column::text("Capacity", "How much the volume holds."),
    Column::text("Access Modes", "The access modes of the volume."),
    Column::text("StorageClass", "The class of the claim."),
    ATTRIBUTES,
    AGE,
    MODE,
];

pub(super) fn volume_claim(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let volume = text(&spec["volumeName"]);
    let (capacity, modes) = if volume.is_empty() {
        (String::new(), String::new())
    } else {
        (amount(&status["capacity"]["storage"]), access_modes(&status["accessModes"]))
    };
    vec![
        name(object),
        phase(object).into(),
        volume.into(),
        capacity.into(),
        modes.into(),
        class_name(object).into(),
        set_or(&spec["volumeAttributesClassName"], "<unset>").into(),
        age(object, now),
        set_or(&spec["volumeMode"], "<unset>").into(),
    ]
}

fn phase(object: &Value) -> &str {
    if is_deleted(object) { "Terminating" } else { text(&object["status"]["phase"]) }
}

/// An old annotation outranks the field that replaced it.
fn class_name(object: &Value) -> &str {
    let annotation = &object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
    set_or(annotation, text(&object["spec"]["storageClassName"]))
}

fn amount(field: &Value) -> String {
    let given = set_or(field, "0");
    given.parse::<Quantity>().map_or_else(|_| given.to_owned(), |quantity| quantity.to_string())
}

fn access_modes(field: &Value) -> String {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |mode: &str| items(field).iter().any(|each| text(each) == mode);
    let modes: Vec<&str> = SHORT.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short).collect();
    modes.join(",")
}

pub(super) const CLASS: &[Column] = &[
    NAME,
    Column::text("Provisioner", "The provisioner of the class."),
    Column::text("ReclaimPolicy", "Reclaim policy of volumes of the class."),
    Column::text("VolumeBindingMode", "When volumes of the class are made and bound."),
    Column::text("AllowVolumeExpansion", "Whether volumes of the class can grow."),
    AGE,
];

pub(super) fn class(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        text(&object["provisioner"]).into(),
        set_or(&object["reclaimPolicy"], "Delete").into(),
        set_or(&object["volumeBindingMode"], "Immediate").into(),
        truth(&object["allowVolumeExpansion"]).into(),
        age(object, now),
    ]
}

/// The name of the class that is the default among those listed: the newest that claims to be, then by name.
pub(crate) fn default_class<'a>(classes: impl Iterator<Item = &'a Value>) -> Option<&'a str> {
    const DEFAULT: [&str; 2] =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    let claims = |class: &&Value| {
        DEFAULT.iter().any(|annotation| text(&class["metadata"]["annotations"][*annotation]) == "true")
    };
    let order = |class: &&Value| {
        (
            moment(&class["metadata"]["creationTimestamp"]),
            Reverse(text(&class["metadata"]["name"]).to_owned()),
        )
    };
    classes.filter(claims).max_by_key(order).map(|class| text(&class["metadata"]["name"]))
}

/// Marks the row of the default class.
pub(crate) fn mark_default(cells: &mut [Value], default: Option<&str>) {
    if let (Some(Value::String(name)), Some(default)) = (cells.first_mut(), default)
        && name == default
    {
        name.push_str(" (default)");
    }
}

pub(super) const CSI_NODE: &[Column] =
    &[NAME, Column::integer("Drivers", "How many drivers are on the node."), AGE];

pub(super) fn csi_node(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), items(&object["spec"]["drivers"]).len().into(), age(object, now)]
}

pub(super) const CSI_DRIVER: &[Column] = &[
    NAME,
    Column::boolean("AttachRequired", "Whether volumes are attached to a node before they are mounted."),
    Column::boolean("PodInfoOnMount", "Whether the driver receives pod information when it mounts a volume."),
    Column::boolean(
        "StorageCapacity",
        "Whether the scheduler looks at the capacity that the driver reports.",
    ),
    Column::text("TokenRequests", "Audiences of the service account tokens that the driver receives."),
    Column::boolean("RequiresRepublish", "Whether the driver is called periodically for a mounted volume."),
    Column::text("Modes", "Which kinds of volumes the driver has."),
    AGE,
];

pub(super) fn csi_driver(object: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &object["spec"];
    let tokens = &spec["tokenRequests"];
    let tokens = if tokens.is_array() { joined_by(tokens, "audience") } else { "<unset>".to_owned() };
    let modes = match joined(&spec["volumeLifecycleModes"]) {
        modes if modes.is_empty() => "<none>".to_owned(),
        modes => modes,
    };
    vec![
        name(object),
        spec["attachRequired"].as_bool().unwrap_or(true).into(),
        truth(&spec["podInfoOnMount"]).into(),
        truth(&spec["storageCapacity"]).into(),
        tokens.into(),
        truth(&spec["requiresRepublish"]).into(),
        modes.into(),
        age(object, now),
    ]
}

pub(super) const ATTACHMENT: &[Column] = &[
    NAME,
    Column { format: "name", ..Column::text("Attacher", "The driver that attaches the volume.") },
    Column::text("PV", "The volume."),
    Column::text("Node", "The node that the volume is attached to."),
    Column::boolean("Attached", "Whether the volume is attached."),
    AGE,
];

pub(super) fn attachment(object: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &object["spec"];
    vec![
        name(object),
        text(&spec["attacher"]).into(),
        text(&spec["source"]["persistentVolumeName"]).into(),
        text(&spec["nodeName"]).into(),
        truth(&object["status"]["attached"]).into(),
        age(object, now),
    ]
}
