//! Services.

use std::collections::BTreeSet;

use model::timestamp::Timestamp;
use serde_json::Value;

use crate::age::age;
use crate::column::{AGE, Column, NAME};
use crate::fields::{items, joined, name, number, set_or, text, text_or};
use crate::selectors::labels;

pub(super) const COLUMNS: &[Column] = &[
    NAME,
    Column::text("Type", "How the service can be reached."),
    Column::text("Cluster-IP", "The address of the service inside the cluster."),
    Column::text("External-IP", "The addresses of the service outside the cluster."),
    Column::text("Port(s)", "The ports of the service."),
    AGE,
    Column::text("Selector", "The labels of the pods behind the service.").wide(),
];

pub(super) fn cells(service: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &service["spec"];
    let ports: Vec<String> = items(&spec["ports"]).iter().map(port).collect();
    let ports = if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") };
    vec![
        name(service),
        text(&spec["type"]).into(),
        set_or(&spec["clusterIPs"][0], "<none>").into(),
        external(service).into(),
        ports.into(),
        age(service, now),
        labels(&spec["selector"]).into(),
    ]
}

fn port(port: &Value) -> String {
    let (number_inside, protocol) = (number(&port["port"]), text(&port["protocol"]));
    match number(&port["nodePort"]) {
        ..=0 => format!("{number_inside}/{protocol}"),
        outside => format!("{number_inside}:{outside}/{protocol}"),
    }
}

fn external(service: &Value) -> String {
    let spec = &service["spec"];
    let given = joined(&spec["externalIPs"]);
    match text(&spec["type"]) {
        "ClusterIP" | "NodePort" if given.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => given,
        "LoadBalancer" => {
            let balancers = items(&service["status"]["loadBalancer"]["ingress"]).iter();
            let addresses = balancers.map(|each| text_or(&each["ip"], text(&each["hostname"])));
            let mut all: Vec<&str> = addresses
                .filter(|address| !address.is_empty())
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect();
            if !given.is_empty() {
                all.push(&given);
            }
            if all.is_empty() { "<pending>".to_owned() } else { all.join(",") }
        }
        "ExternalName" => text(&spec["externalName"]).to_owned(),
        _ => "<unknown>".to_owned(),
    }
}
