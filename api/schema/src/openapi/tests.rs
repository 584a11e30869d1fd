//! What the documents must hold. The expected shapes are those that Kubernetes 1.37 serves, without descriptions.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{document, document_v2, group_versions, structural};
use crate::table::table;

/// The value without descriptions.
fn bare(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let is_text = |name: &str, value: &Value| name == "description" && value.is_string();
            let kept = fields.iter().filter(|(name, value)| !is_text(name, value));
            Value::Object(kept.map(|(name, value)| (name.clone(), bare(value))).collect())
        }
        Value::Array(items) => items.iter().map(bare).collect(),
        other => other.clone(),
    }
}

fn component(group_version: &str, name: &str) -> Value {
    let document = document(group_version).expect("the version is served");
    bare(&document["components"]["schemas"][name])
}

fn check(group_version: &str, name: &str, expected: &Value) {
    let found = component(group_version, name);
    assert_eq!(&found, expected, "{name} is\n{found:#}");
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get("$ref") {
                found.insert(target.clone());
            }
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let documents = group_versions().into_iter().filter_map(document).chain([document_v2()]);
    for document in documents {
        let mut targets = BTreeSet::new();
        references(&document, &mut targets);
        assert!(!targets.is_empty());
        for target in targets {
            let pointer = target.trim_start_matches('#');
            assert!(document.pointer(pointer).is_some(), "{target} is missing");
        }
    }
    assert!(document("example.com/v1").is_none());
}

#[test]
fn every_kind_is_found_by_its_group_version_and_kind() {
    for kind in table().kinds().iter().filter(|kind| !kind.plural.is_empty()) {
        let document = document(&kind.api_version).expect("the version is served");
        let wanted = json!({ "group": kind.group(), "version": kind.version(), "kind": kind.kind });
        let schemas = document["components"]["schemas"].as_object().expect("there are schemas");
        let found = schemas.values().filter(|schema| {
            schema["x-kubernetes-group-version-kind"].as_array().is_some_and(|list| list.contains(&wanted))
        });
        assert_eq!(found.count(), 1, "{wanted}");
    }
}

#[test]
fn single_values_have_the_shapes_that_kubernetes_gives_them() {
    let quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";
    check("resource.k8s.io/v1", quantity, &json!({ "oneOf": [{ "type": "string" }, { "type": "number" }] }));
    check(
        "v1",
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        &json!({ "format": "int-or-string", "oneOf": [{ "type": "integer" }, { "type": "string" }] }),
    );
    let time = json!({ "type": "string", "format": "date-time" });
    check("v1", "io.k8s.apimachinery.pkg.apis.meta.v1.Time", &time);
    check("v1", "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", &time);
    let object = json!({ "type": "object" });
    check("resource.k8s.io/v1", "io.k8s.apimachinery.pkg.runtime.RawExtension", &object);
    check("resource.k8s.io/v1", "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", &object);
}

#[test]
fn structures_have_the_shapes_that_kubernetes_gives_them() {
    check(
        "resource.k8s.io/v1",
        "io.k8s.api.resource.v1.CounterSet",
        &json!({
            "type": "object",
            "required": ["counters", "name"],
            "properties": {
                "counters": {
                    "type": "object",
                    "additionalProperties": reference("io.k8s.api.resource.v1.Counter"),
                },
                "name": { "type": "string", "default": "" },
            },
        }),
    );
    check(
        "resource.k8s.io/v1",
        "io.k8s.api.resource.v1.OpaqueDeviceConfiguration",
        &json!({
            "type": "object",
            "required": ["driver", "parameters"],
            "properties": {
                "driver": { "type": "string", "default": "" },
                "parameters": { "allOf": [reference("io.k8s.apimachinery.pkg.runtime.RawExtension")] },
            },
        }),
    );
    check(
        "v1",
        "io.k8s.api.core.v1.ContainerPort",
        &json!({
            "type": "object",
            "required": ["containerPort"],
            "properties": {
                "containerPort": { "type": "integer", "format": "int32", "default": 0 },
                "hostIP": { "type": "string" },
                "hostPort": { "type": "integer", "format": "int32" },
                "name": { "type": "string" },
                "protocol": { "type": "string", "default": "TCP", "enum": ["SCTP", "TCP", "UDP"] },
            },
        }),
    );
    check(
        "resource.k8s.io/v1",
        "io.k8s.api.core.v1.NodeSelector",
        &json!({
            "type": "object",
            "required": ["nodeSelectorTerms"],
            "properties": {
                "nodeSelectorTerms": {
                    "type": "array",
                    "items": reference("io.k8s.api.core.v1.NodeSelectorTerm"),
                    "x-kubernetes-list-type": "atomic",
                },
            },
            "x-kubernetes-map-type": "atomic",
        }),
    );
}

#[test]
fn objects_and_lists_have_the_shapes_that_kubernetes_gives_them() {
    let meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
    check(
        "scheduling.k8s.io/v1beta1",
        "io.k8s.api.scheduling.v1beta1.Workload",
        &json!({
            "type": "object",
            "required": ["spec"],
            "properties": {
                "apiVersion": { "type": "string" },
                "kind": { "type": "string" },
                "metadata": { "default": {}, "allOf": [reference(&format!("{meta}.ObjectMeta"))] },
                "spec": { "default": {}, "allOf": [reference("io.k8s.api.scheduling.v1beta1.WorkloadSpec")] },
            },
            "x-kubernetes-group-version-kind": [
                { "group": "scheduling.k8s.io", "version": "v1beta1", "kind": "Workload" },
            ],
        }),
    );
    check(
        "resource.k8s.io/v1",
        "io.k8s.api.resource.v1.ResourceSliceList",
        &json!({
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": { "type": "string" },
                "items": { "type": "array", "items": reference("io.k8s.api.resource.v1.ResourceSlice") },
                "kind": { "type": "string" },
                "metadata": { "default": {}, "allOf": [reference(&format!("{meta}.ListMeta"))] },
            },
            "x-kubernetes-group-version-kind": [
                { "group": "resource.k8s.io", "version": "v1", "kind": "ResourceSliceList" },
            ],
        }),
    );
}

#[test]
fn lists_say_how_they_merge() {
    let meta = component("v1", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
    assert_eq!(
        meta["properties"]["ownerReferences"],
        json!({
            "type": "array",
            "items": reference("io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference"),
            "x-kubernetes-list-map-keys": ["uid"],
            "x-kubernetes-list-type": "map",
            "x-kubernetes-patch-merge-key": "uid",
            "x-kubernetes-patch-strategy": "merge",
        })
    );
    let spec = component("v1", "io.k8s.api.core.v1.PodSpec");
    assert_eq!(spec["properties"]["volumes"]["x-kubernetes-patch-strategy"], "merge,retainKeys");
    assert_eq!(spec["properties"]["nodeSelector"]["x-kubernetes-map-type"], "atomic");
    let slice = component("resource.k8s.io/v1", "io.k8s.api.resource.v1.ResourceSliceSpec");
    assert_eq!(
        slice["properties"]["skipNodeOperations"],
        json!({
            "type": "array",
            "items": { "type": "string", "enum": ["*", "NodePrepareResources", "NodeUnprepareResources"] },
            "x-kubernetes-list-type": "set",
        })
    );
}

#[test]
fn the_older_dialect_has_plain_references_and_no_defaults() {
    let document = bare(&document_v2());
    let definitions = &document["definitions"];
    assert_eq!(definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"], json!({ "type": "string" }));
    let device = &definitions["io.k8s.api.resource.v1.Device"]["properties"];
    assert_eq!(device["name"], json!({ "type": "string" }));
    assert_eq!(device["nodeSelector"], json!({ "$ref": "#/definitions/io.k8s.api.core.v1.NodeSelector" }));
}

#[test]
fn kubectl_finds_the_operations_it_looks_for() {
    let document = document("resource.k8s.io/v1").expect("claims are served");
    let home = "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims";
    let claim = json!({ "group": "resource.k8s.io", "version": "v1", "kind": "ResourceClaim" });
    for (path, method, action, id) in [
        (home.to_owned(), "post", "post", "createResourceV1NamespacedResourceClaim"),
        (home.to_owned(), "delete", "deletecollection", "deleteResourceV1CollectionNamespacedResourceClaim"),
        (format!("{home}/{{name}}"), "patch", "patch", "patchResourceV1NamespacedResourceClaim"),
        (format!("{home}/{{name}}/status"), "put", "put", "replaceResourceV1NamespacedResourceClaimStatus"),
    ] {
        let operation = &document["paths"][&path][method];
        assert_eq!(operation["x-kubernetes-action"], action, "{path}");
        assert_eq!(operation["x-kubernetes-group-version-kind"], claim, "{path}");
        assert_eq!(operation["operationId"], id, "{path}");
    }
    let patch = &document["paths"][format!("{home}/{{name}}")]["patch"];
    let names: Vec<&Value> = patch["parameters"]
        .as_array()
        .map(|list| list.iter().map(|parameter| &parameter["name"]).collect())
        .unwrap_or_default();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
}

#[test]
fn a_structural_schema_has_no_references_and_keeps_limits_and_rules() {
    for kind in table().kinds() {
        let mut found = BTreeSet::new();
        references(&structural(table(), kind.object), &mut found);
        assert!(found.is_empty(), "{}: {found:?}", kind.kind);
    }
    let kind = table().kind("supercargo.dev/v1alpha1", "NodeTopology").expect("topologies are ours");
    let schema = bare(&structural(table(), kind.object));
    assert_eq!(schema["properties"]["metadata"], json!({ "type": "object" }));
    let levels = &schema["properties"]["spec"]["properties"]["levels"];
    assert_eq!(levels["maxItems"], 16);
    assert_eq!(levels["items"]["properties"]["name"]["maxLength"], 63);
    assert!(schema["properties"]["spec"]["x-kubernetes-validations"][0]["rule"].is_string());
}

#[test]
fn all_that_is_ours_and_all_that_is_about_devices_is_described() {
    let wanted = ["supercargo.v1alpha1", "resource.v1", "scheduling.v1beta1", "meta.v1"];
    for structure in table().structs() {
        let package = structure.name.rsplit_once('.').map_or("", |(package, _)| package);
        if !wanted.contains(&package) {
            continue;
        }
        assert!(!structure.description.is_empty(), "{} is not described", structure.name);
        for field in &structure.fields {
            assert!(!field.description.is_empty(), "{}.{} is not described", structure.name, field.name);
        }
    }
}

/// Reads a message as its fields: numbers, and what each holds as bytes or as a number.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>, u64)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for (at, byte) in (0..).zip(bytes.iter()) {
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                *bytes = &bytes[at + 1..];
                break;
            }
        }
        value
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let (held, number) = match tag & 7 {
            0 => (Vec::new(), varint(&mut bytes)),
            wire => {
                let length = if wire == 2 { varint(&mut bytes) as usize } else { 8 };
                let (held, rest) = bytes.split_at(length);
                bytes = rest;
                (held.to_vec(), 0)
            }
        };
        found.push((tag >> 3, held, number));
    }
    found
}

/// What is at a path of field numbers, of the first field of each number.
fn at(bytes: &[u8], path: &[u64]) -> Vec<u8> {
    path.iter().fold(bytes.to_vec(), |bytes, number| {
        let found = fields(&bytes).into_iter().find(|(found, _, _)| found == number);
        found.unwrap_or_else(|| panic!("no field {number}")).1
    })
}

#[test]
fn everything_in_the_document_has_a_place_in_its_protobuf() {
    let (bytes, unknown) = super::gnostic::write(&document_v2());
    assert_eq!(unknown, Vec::<String>::new());
    assert_eq!(bytes, super::document_v2_protobuf());
    assert_eq!(at(&bytes, &[1]), b"2.0");
    assert_eq!(at(&bytes, &[2, 1]), b"Kubernetes");
    let document = document_v2();
    let of = |name: &str| document[name].as_object().expect("a map").keys().cloned().collect::<Vec<_>>();
    let names = |message: &[u8], number: u64| -> Vec<String> {
        let found = fields(message).into_iter().filter(|(found, _, _)| *found == number);
        found.map(|(_, held, _)| String::from_utf8(at(&held, &[1])).expect("text")).collect()
    };
    assert_eq!(names(&at(&bytes, &[8]), 2), of("paths"));
    assert_eq!(names(&at(&bytes, &[9]), 1), of("definitions"));
    assert_eq!(names(&at(&bytes, &[13]), 1), of("securityDefinitions"));
}

#[test]
fn a_schema_in_protobuf_says_what_it_says_in_json() {
    let schema = serde_json::json!({"swagger": "2.0", "definitions": {"x": {
    "type": "object", "required": ["a"], "x-kubernetes-group-version-kind": [{"kind": "X"}],
    "properties": {
        "a": {"type": "array", "items": {"$ref": "#/definitions/y"}, "maxItems": 3, "default": {}},
        "b": {"type": "object", "additionalProperties": {"type": "string"}},
    }}}});
    let (bytes, unknown) = super::gnostic::write(&schema);
    assert!(unknown.is_empty(), "{unknown:?}");
    let x = at(&bytes, &[9, 1, 2]);
    assert_eq!(at(&x, &[22, 1]), b"object");
    assert_eq!(at(&x, &[19]), b"a");
    assert_eq!(at(&x, &[31, 1]), b"x-kubernetes-group-version-kind");
    assert_eq!(at(&x, &[31, 2, 2]), b"[{\"kind\":\"X\"}]\n");
    let a = at(&x, &[25, 1, 2]);
    assert_eq!(at(&a, &[23, 1, 1]), b"#/definitions/y");
    assert_eq!(at(&a, &[5, 2]), b"{}\n");
    assert!(fields(&a).iter().any(|(number, _, value)| (*number, *value) == (14, 3)));
    let properties = fields(&at(&x, &[25]));
    assert_eq!(at(&properties[1].1, &[2, 21, 1, 22, 1]), b"string");
}
