//! Services: names for sets of pods.

use std::collections::BTreeSet;

use objects::IntOrString;
use objects::core::kinds::Service;
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context};
use crate::kinds::container::{one_of, port_number};
use crate::metadata::label_map;
use crate::names;

impl Admit for Service {
    const NAME_FORM: fn(&str) -> names::Faults = names::dns_1035_label;
    const STATUS_KEEPS_METADATA: bool = false;

    fn set_defaults(&mut self, _context: &Context<'_>) {
        let spec = &mut self.spec;
        if spec.session_affinity == "None" {
            spec.session_affinity_config = None;
        }
        for port in &mut spec.ports {
            let unset = match &port.target_port {
                None => true,
                Some(IntOrString::Int(number)) => *number == 0,
                Some(IntOrString::String(name)) => name.is_empty(),
            };
            if unset {
                port.target_port = Some(IntOrString::Int(port.port));
            }
        }
        let kind = spec.type_.as_str();
        if matches!(kind, "NodePort" | "LoadBalancer") && spec.external_traffic_policy.is_empty() {
            "Cluster".clone_into(&mut spec.external_traffic_policy);
        }
        if matches!(kind, "ClusterIP" | "NodePort" | "LoadBalancer") {
            spec.internal_traffic_policy.get_or_insert_with(|| "Cluster".to_owned());
        }
        if kind == "LoadBalancer" {
            spec.allocate_load_balancer_node_ports.get_or_insert(true);
        }
    }

    fn prepare_create(&mut self, _context: &Context<'_>) {
        self.status = None;
    }

    fn prepare_update(&mut self, old: &Self, _context: &Context<'_>) {
        self.status.clone_from(&old.status);
        if self.spec.type_ != "ExternalName" && self.spec.cluster_ip.is_empty() {
            self.spec.cluster_ip.clone_from(&old.spec.cluster_ip);
            self.spec.cluster_ips.clone_from(&old.spec.cluster_ips);
        }
    }

    fn prepare_status(&mut self, old: &Self, _context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
    }

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let (spec, path) = (&self.spec, Path::ROOT.field("spec"));
        let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
        one_of(&spec.type_, &kinds, &path.field("type"), causes);
        let external = spec.type_ == "ExternalName";
        if spec.ports.is_empty() && !external && spec.cluster_ip != "None" {
            causes.required(&path.field("ports"), "must have at least one port");
        }
        if external {
            let place = path.field("externalName");
            if spec.external_name.is_empty() {
                causes.required(&place, "must be set for an ExternalName");
            } else {
                let name = spec.external_name.trim_end_matches('.');
                causes.malformed(&place, &spec.external_name, names::dns_subdomain(name));
            }
        }
        validate_ports(self, &path.field("ports"), causes);
        label_map(&spec.selector, &path.field("selector"), causes);
        one_of(&spec.session_affinity, &["ClientIP", "None"], &path.field("sessionAffinity"), causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        self.validate(context, causes);
        let (new, old) = (&self.spec, &old.spec);
        if new.type_ != "ExternalName" && old.type_ != "ExternalName" && !old.cluster_ip.is_empty() {
            let path = Path::ROOT.field("spec");
            causes.immutable(&path.field("clusterIP"), &new.cluster_ip, &old.cluster_ip);
        }
    }
}

fn validate_ports(service: &Service, path: &Path<'_>, causes: &mut Causes) {
    let ports = &service.spec.ports;
    let (mut names, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for (index, port) in ports.iter().enumerate() {
        let element = path.index(index);
        if port.name.is_empty() {
            if ports.len() > 1 {
                causes.required(&element.field("name"), "several ports need names");
            }
        } else {
            causes.malformed(&element.field("name"), &port.name, names::dns_label(&port.name));
            if !names.insert(port.name.as_str()) {
                causes.duplicate(&element.field("name"), &port.name);
            }
        }
        port_number(port.port, &element.field("port"), causes);
        one_of(&port.protocol, &["SCTP", "TCP", "UDP"], &element.field("protocol"), causes);
        if let Some(IntOrString::Int(number)) = port.target_port {
            port_number(number, &element.field("targetPort"), causes);
        }
        if !seen.insert((port.port, port.protocol.as_str())) {
            causes.duplicate(&element, &format!("{}/{}", port.port, port.protocol));
        }
    }
}
