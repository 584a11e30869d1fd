//! What binding a pod to a node does to the pod, and when it is refused.

use serde_json::{Value, json};
use thiserror::Error;

/// Labels of a node that its pods get too.
const TOPOLOGY_LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/// A binding that makes no sense, whatever the pod.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadBinding {
    /// It names another pod, or none.
    #[error("the binding's name {sent:?} must be the pod's, {pod:?}")]
    OtherName {
        /// The name in the binding.
        sent: String,
        /// The name in the request.
        pod: String,
    },
    /// It names another namespace than the request.
    #[error("the binding's namespace must be the request's")]
    OtherNamespace,
    /// It names something else than a node.
    #[error("a pod can only be bound to a Node")]
    NoNode,
    /// It names no node.
    #[error("target.name must be the name of a node")]
    NoTarget,
}

/// Why a pod cannot be bound.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unbindable {
    /// The pod has another uid or revision than the binding wants.
    #[error("the binding's preconditions do not hold")]
    Precondition,
    /// The pod is being deleted.
    #[error("the pod is being deleted, and cannot be assigned to a host")]
    Deleting,
    /// The pod has a node.
    #[error("the pod is already assigned to node {0:?}")]
    Bound(String),
    /// Something holds the pod back.
    #[error("the pod has scheduling gates")]
    Gated,
}

/// A wish to bind a pod to a node.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// The pod's name.
    pub pod: &'a str,
    /// The node's name.
    pub node: &'a str,
    binding: &'a Value,
}

impl<'a> Wish<'a> {
    /// Reads a `Binding` that was sent for a pod, or with no pod in the request's path for the one that it names.
    ///
    /// # Errors
    /// When the binding contradicts the request or names no node.
    pub fn read(binding: &'a Value, namespace: &str, pod: Option<&'a str>) -> Result<Self, BadBinding> {
        let meta = &binding["metadata"];
        let sent = meta["name"].as_str().unwrap_or_default();
        let pod = pod.unwrap_or(sent);
        if sent.is_empty() || sent != pod {
            return Err(BadBinding::OtherName { sent: sent.to_owned(), pod: pod.to_owned() });
        }
        if meta["namespace"].as_str().is_some_and(|sent| !sent.is_empty() && sent != namespace) {
            return Err(BadBinding::OtherNamespace);
        }
        let target = &binding["target"];
        if !matches!(target["kind"].as_str().unwrap_or_default(), "" | "Node") {
            return Err(BadBinding::NoNode);
        }
        let node = target["name"].as_str().unwrap_or_default();
        if node.is_empty() { Err(BadBinding::NoTarget) } else { Ok(Self { pod, node, binding }) }
    }

    /// Binds the pod at a moment; the node's labels say where in the cluster that is.
    ///
    /// # Errors
    /// When the pod is bound, held back or on its way out; it is left as it was.
    pub fn bind(&self, pod: &mut Value, node_labels: &Value, now: &str) -> Result<(), Unbindable> {
        self.check(pod)?;
        pod["spec"]["nodeName"] = json!(self.node);
        for (key, value) in self.binding["metadata"]["annotations"].as_object().into_iter().flatten() {
            pod["metadata"]["annotations"][key] = value.clone();
        }
        for key in TOPOLOGY_LABELS {
            if let Some(value) = node_labels.get(key) {
                pod["metadata"]["labels"][key] = value.clone();
            }
        }
        if let Some(status) = pod["status"].as_object_mut() {
            status.remove("nominatedNodeName");
        }
        let mut conditions: Vec<Value> = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.retain(|condition| condition["type"] != "PodScheduled");
        conditions.push(
            json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now}),
        );
        pod["status"]["conditions"] = Value::Array(conditions);
        Ok(())
    }

    fn check(&self, pod: &Value) -> Result<(), Unbindable> {
        let differs = |field: &str| {
            let wanted = self.binding["metadata"][field].as_str().unwrap_or_default();
            !wanted.is_empty() && Some(wanted) != pod["metadata"][field].as_str()
        };
        if differs("uid") || differs("resourceVersion") {
            return Err(Unbindable::Precondition);
        }
        if pod["metadata"].get("deletionTimestamp").is_some() {
            return Err(Unbindable::Deleting);
        }
        if let Some(bound) = pod["spec"]["nodeName"].as_str().filter(|bound| !bound.is_empty()) {
            return Err(Unbindable::Bound(bound.to_owned()));
        }
        if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
            return Err(Unbindable::Gated);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{BadBinding, Unbindable, Wish};

    fn binding() -> Value {
        json!({"metadata": {"name": "p", "annotations": {"a": "1"}}, "target": {"kind": "Node", "name": "n"}})
    }

    fn bind(mut pod: Value) -> Result<Value, Unbindable> {
        let binding = binding();
        let wish = Wish::read(&binding, "default", Some("p")).expect("the binding is fine");
        let labels = json!({"topology.kubernetes.io/zone": "z", "other": "x"});
        wish.bind(&mut pod, &labels, "2026-01-02T03:04:05Z").map(|()| pod)
    }

    #[test]
    fn a_bound_pod_has_its_node_the_nodes_place_and_a_condition() {
        let pod = json!({"metadata": {"name": "p"}, "spec": {}, "status": {"nominatedNodeName": "m"}});
        let pod = bind(pod).expect("nothing is in the way");
        assert_eq!(pod["spec"]["nodeName"], "n");
        assert_eq!(pod["metadata"]["annotations"], json!({"a": "1"}));
        assert_eq!(pod["metadata"]["labels"], json!({"topology.kubernetes.io/zone": "z"}));
        assert_eq!(pod["status"]["conditions"][0]["type"], "PodScheduled");
        assert!(pod["status"].get("nominatedNodeName").is_none());
    }

    #[test]
    fn a_pod_that_is_bound_held_back_or_going_stays_as_it_is() {
        let pod = |meta: Value, spec: Value| bind(json!({"metadata": meta, "spec": spec}));
        assert_eq!(pod(json!({}), json!({"nodeName": "m"})), Err(Unbindable::Bound("m".to_owned())));
        assert_eq!(pod(json!({}), json!({"schedulingGates": [{"name": "g"}]})), Err(Unbindable::Gated));
        assert_eq!(pod(json!({"deletionTimestamp": "t"}), json!({})), Err(Unbindable::Deleting));
    }

    #[test]
    fn a_binding_must_name_its_pod_and_a_node() {
        let read = |change: &dyn Fn(&mut Value), pod| {
            let mut binding = binding();
            change(&mut binding);
            Wish::read(&binding, "default", pod).map(drop)
        };
        assert_eq!(read(&|_| {}, None), Ok(()));
        assert!(matches!(read(&|_| {}, Some("q")), Err(BadBinding::OtherName { .. })));
        let elsewhere = |binding: &mut Value| binding["metadata"]["namespace"] = json!("elsewhere");
        assert_eq!(read(&elsewhere, None), Err(BadBinding::OtherNamespace));
        assert_eq!(read(&|binding| binding["target"]["kind"] = json!("Pod"), None), Err(BadBinding::NoNode));
        assert_eq!(read(&|binding| binding["target"]["name"] = json!(""), None), Err(BadBinding::NoTarget));
    }
}
