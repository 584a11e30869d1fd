//! Nodes: taints, capacity and networks.

use std::collections::{BTreeMap, BTreeSet};

use gates::Gate;
use objects::Quantity;
use objects::core::node::{Node, Taint};
use schema::Path;

use crate::addresses;
use crate::cause::Causes;
use crate::kind::{Admit, Context, Gated, strip};
use crate::kinds::pod_placement::validate_effect;
use crate::kinds::resource_names::{round_up, validate_amount};
use crate::names;
use crate::rejection::Rejection;

/// A new node is not ready until its kubelet has said so.
const NOT_READY: &str = "node.kubernetes.io/not-ready";
const FEATURE_BYTES_MAX: usize = 253;

impl Admit for Node {
    const STATUS_KEEPS_METADATA: bool = false;

    fn set_defaults(&mut self, _context: &Context<'_>) {
        round_up(&mut self.status.capacity);
        round_up(&mut self.status.allocatable);
        if self.status.allocatable.is_empty() {
            self.status.allocatable.clone_from(&self.status.capacity);
        }
        let first = self.spec.pod_cidrs.first();
        if self.spec.pod_cidr.is_empty() {
            self.spec.pod_cidr = first.cloned().unwrap_or_default();
        } else if first != Some(&self.spec.pod_cidr) {
            self.spec.pod_cidrs = vec![self.spec.pod_cidr.clone()];
        }
    }

    fn mutate(&mut self, old: Option<&Self>, _context: &Context<'_>) -> Result<(), Rejection> {
        let not_ready = |taint: &Taint| taint.key == NOT_READY && taint.effect == "NoSchedule";
        if old.is_none() && !self.spec.taints.iter().any(not_ready) {
            self.spec.taints.push(Taint {
                effect: "NoSchedule".to_owned(),
                key: NOT_READY.to_owned(),
                ..Default::default()
            });
        }
        Ok(())
    }

    fn prepare_create(&mut self, context: &Context<'_>) {
        self.spec.config_source = None;
        self.status.config = None;
        strip(GATED, self, None, context);
    }

    fn prepare_update(&mut self, old: &Self, context: &Context<'_>) {
        self.status.clone_from(&old.status);
        if old.spec.config_source.is_none() {
            self.spec.config_source = None;
        }
        strip(GATED, self, Some(old), context);
    }

    fn prepare_status(&mut self, old: &Self, _context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
        if old.status.config.is_none() {
            self.status.config = None;
        }
    }

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        validate_both(self, causes);
        let swap = self.status.node_info.swap.as_ref().and_then(|swap| swap.capacity);
        if swap.is_some_and(|bytes| bytes <= 0) {
            // Quirk: it is part of the status, but is spoken of as metadata.
            let metadata = Path::ROOT.field("metadata");
            causes.invalid(&metadata.field("nodeSwapStatus").field("capacity"), "must be greater than zero");
        }
        validate_networks(&self.spec.pod_cidrs, &Path::ROOT.field("spec").field("podCIDRs"), causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        self.validate(context, causes);
        validate_change(self, old, causes);
    }

    fn validate_status(&self, old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        validate_both(self, causes);
        validate_change(self, old, causes);
    }

    fn warnings_on_create(&self) -> Vec<String> {
        let set = !self.spec.external_id.is_empty();
        set.then(|| "spec.externalID: deprecated and unused".to_owned()).into_iter().collect()
    }
}

const GATED: &[Gated<Node>] = &[
    Gated {
        gates: &[Gate::NodeDeclaredFeatures],
        in_use: |node| !node.status.declared_features.is_empty(),
        clear: |node| node.status.declared_features.clear(),
    },
    Gated {
        gates: &[Gate::InPlacePodVerticalScalingSchedulerPreemption],
        in_use: |node| node.spec.pod_preemption_policy.is_some(),
        clear: |node| node.spec.pod_preemption_policy = None,
    },
];

/// What holds whoever writes the node.
fn validate_both(node: &Node, causes: &mut Causes) {
    // Quirk: taints are part of the spec, but are spoken of as metadata.
    validate_taints(&node.spec.taints, &Path::ROOT.field("metadata").field("taints"), causes);
    let status = Path::ROOT.field("status");
    validate_amounts(&node.status.capacity, &status.field("capacity"), causes);
    validate_amounts(&node.status.allocatable, &status.field("allocatable"), causes);
    validate_features(&node.status.declared_features, &status.field("declaredFeatures"), causes);
}

fn validate_taints(taints: &[Taint], path: &Path<'_>, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    for (index, taint) in taints.iter().enumerate() {
        let path = path.index(index);
        causes.malformed(&path.field("key"), &taint.key, names::label_key(&taint.key));
        if !names::label_value(&taint.value).is_empty() {
            causes.invalid(&path.field("value"), "must be a value that a label can have");
        }
        if taint.effect.is_empty() {
            causes.required(&path.field("effect"), "must be set");
        } else {
            validate_effect(&taint.effect, &path.field("effect"), causes);
        }
        if !seen.insert((taint.effect.as_str(), taint.key.as_str())) {
            causes.duplicate(&path, &taint.key);
        }
    }
}

fn validate_amounts(amounts: &BTreeMap<String, Quantity>, path: &Path<'_>, causes: &mut Causes) {
    for (name, amount) in amounts {
        validate_amount(name, amount, &path.field(name), causes);
    }
}

/// Features are sorted, so that a change of the list is a change of the features.
fn validate_features(features: &[String], path: &Path<'_>, causes: &mut Causes) {
    for (index, feature) in features.iter().enumerate() {
        if !is_feature(feature) {
            causes.invalid(
                &path.index(index),
                "must be letters and digits, beginning with a capital, with '/' before a detail",
            );
        }
        match features.get(index + 1) {
            Some(next) if next == feature => causes.duplicate(&path.index(index + 1), next),
            Some(next) if next < feature => causes.invalid(&path.index(index + 1), "must be sorted"),
            _ => {}
        }
    }
}

fn is_feature(name: &str) -> bool {
    let word = |part: &str| {
        part.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    name.len() <= FEATURE_BYTES_MAX
        && name.as_bytes().first().is_some_and(u8::is_ascii_uppercase)
        && name.split('/').all(word)
}

/// Networks of the node's pods: at most one of each family.
fn validate_networks(networks: &[String], path: &Path<'_>, causes: &mut Causes) {
    let mut families = Vec::new();
    for (index, network) in networks.iter().enumerate() {
        match addresses::network(network) {
            Ok(address) => families.push(address.is_ipv4()),
            Err(fault) => causes.invalid(&path.index(index), format!("{network:?}: {fault}")),
        }
    }
    let mixed = matches!(families.as_slice(), [a, b] if a != b);
    if networks.len() > 1 && (networks.len() > 2 || !mixed) {
        causes.invalid(path, "may have one network of each family");
    }
}

/// What of a node stays as it is.
fn validate_change(node: &Node, old: &Node, causes: &mut Causes) {
    let (spec, status) = (Path::ROOT.field("spec"), Path::ROOT.field("status"));
    let mut seen = BTreeSet::new();
    for (index, address) in node.status.addresses.iter().enumerate() {
        if !seen.insert((&address.type_, &address.address)) {
            causes.duplicate(&status.field("addresses").index(index), &address.address);
        }
    }
    if !old.spec.pod_cidrs.is_empty() && node.spec.pod_cidrs != old.spec.pod_cidrs {
        causes.forbidden(&spec.field("podCIDRs"), "cannot be changed once it is set");
    }
    if !old.spec.provider_id.is_empty() {
        causes.immutable(&spec.field("providerID"), &node.spec.provider_id, &old.spec.provider_id);
    }
    if node.spec.external_id != old.spec.external_id {
        causes.forbidden(&spec.field("externalID"), "cannot be changed");
    }
}
