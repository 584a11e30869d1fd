//! What admission needs to know of other objects.

use std::collections::BTreeMap;

use gates::Gate;
use objects::core::node::Node;
use objects::resource::class::DeviceClass;
use objects::scheduling::priority_class::PriorityClass;

/// A view of the cluster at the moment of the request. Answers may be a little old, as they are in Kubernetes.
pub trait Surroundings {
    /// The labels of a namespace, if it exists.
    fn namespace_labels(&self, name: &str) -> Option<BTreeMap<String, String>>;

    /// A priority class by its name.
    fn priority_class(&self, name: &str) -> Option<PriorityClass>;

    /// The priority class for objects that name none; of several the one with the lowest value.
    fn default_priority_class(&self) -> Option<PriorityClass>;

    /// Nodes that a filter picks.
    fn nodes(&self, wanted: &dyn Fn(&Node) -> bool) -> Vec<Node>;

    /// A class of devices by its name. Whoever knows of none judges no claim by its classes.
    fn device_class(&self, _name: &str) -> Option<DeviceClass> {
        None
    }

    /// Hears of a field that the object has and loses, because not all of these features are on. A server says nothing
    /// about it, as in Kubernetes.
    fn dropped(&self, _needed: &'static [Gate]) {}
}
