//! What was found for a claim.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::claim::Toleration;
use crate::device::{Binding, DeviceId};
use crate::node::NodeSelector;
use crate::quantity::Quantity;
use crate::request_name::RequestName;

/// The devices for a claim, and from where they can be used.
#[derive(Clone, PartialEq, Debug)]
pub struct Allocation {
    /// The devices, in the order of requests.
    pub grants: Vec<Grant>,
    /// The configurations that apply.
    pub configs: Vec<GrantedConfig>,
    /// The nodes that can use all of the devices; every node if absent.
    pub nodes: Option<NodeSelector>,
}

/// One device for one request.
#[derive(Clone, PartialEq, Debug)]
pub struct Grant {
    /// The request, or the alternative of it.
    pub request: RequestName,
    /// The device.
    pub device: DeviceId,
    /// It is for looking after the device only, and takes nothing.
    pub admin_access: bool,
    /// It is one share of the device among others, with so much of its capacities.
    pub share: Option<BTreeMap<Arc<str>, Quantity>>,
    /// Taints that the request bears.
    pub tolerations: Vec<Toleration>,
    /// What must be reported before the pod may be bound.
    pub binding: Binding,
    /// Node operations that the device does without.
    pub skip_node_operations: Vec<Arc<str>>,
    /// The groups that the device declared on each counter set it draws on; empty if it declared none at all.
    pub groups: BTreeMap<Arc<str>, Vec<Arc<str>>>,
}

/// A configuration that applies to some of the devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrantedConfig {
    /// Where it stands.
    pub source: ConfigSource,
    /// The requests that it is for; none means all.
    pub requests: Vec<RequestName>,
}

/// Where a configuration stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConfigSource {
    /// In a class.
    Class {
        /// The class.
        class: Arc<str>,
        /// Its place among the class's configurations.
        index: usize,
    },
    /// In the claim, at this place.
    Claim(usize),
}
