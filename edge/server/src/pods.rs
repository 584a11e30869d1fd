//! Parts of pods that are written on their own: binding to a node, and eviction; and the finalizing of namespaces.

use std::sync::Arc;

use objects::policy::PodDisruptionBudget;
use schema::table;
use serde_json::{Value, json};
use store::{ListAt, Resource, Selection};

use crate::delete::DeleteOptions;
use crate::objects::{Options, Outcome, Site};
use crate::registry::Registry;
use crate::route::Target;
use crate::status::Failure;

/// Labels of a node that its pods get too.
const TOPOLOGY_LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

fn pods(namespace: &str) -> Result<Site, Failure> {
    let kind = table().kind("v1", "Pod").ok_or_else(Failure::no_such_path)?;
    let target = Target { kind, namespace: namespace.to_owned(), name: None, subresource: None };
    Site::of(&target)
}

fn success(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code})
}

/// Binds a pod to a node.
pub(crate) async fn bind(
    registry: &Arc<Registry>,
    namespace: &str,
    name: Option<&str>,
    binding: &Value,
    options: &Options,
) -> Result<Value, Failure> {
    let site = pods(namespace)?;
    let meta = &binding["metadata"];
    let sent = meta["name"].as_str().unwrap_or_default();
    let pod = name.unwrap_or(sent);
    if sent.is_empty() || sent != pod {
        return Err(Failure::bad_request(format!("the binding's name {sent:?} must be the pod's, {pod:?}")));
    }
    if meta["namespace"].as_str().is_some_and(|sent| !sent.is_empty() && sent != namespace) {
        return Err(Failure::bad_request("the binding's namespace must be the request's"));
    }
    let target = &binding["target"];
    if !matches!(target["kind"].as_str().unwrap_or_default(), "" | "Node") {
        return Err(Failure::unexplained("a pod can only be bound to a Node"));
    }
    let node = target["name"].as_str().unwrap_or_default();
    if node.is_empty() {
        return Err(Failure::unexplained("target.name must be the name of a node"));
    }
    let labels = registry.node(node).map(|node| node["metadata"]["labels"].clone()).unwrap_or_default();
    let now = Registry::now().to_string();
    let mut change = |object: &mut Value| assign(&site, object, node, binding, &labels, &now);
    if options.dry_run {
        let entry =
            registry.get(site.resource, &site.key(pod)).ok_or_else(|| Failure::not_found(site.kind, pod))?;
        change(&mut site.value(&entry))?;
    } else {
        registry.adjust(&site, pod, &mut change).await?;
    }
    Ok(success(201))
}

fn assign(
    site: &Site,
    pod: &mut Value,
    node: &str,
    binding: &Value,
    labels: &Value,
    now: &str,
) -> Result<(), Failure> {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let conflict = |why: &str| {
        let mut failure = Failure::conflict(site.kind, &name, why);
        failure.details["kind"] = json!("pods/binding");
        Err(failure)
    };
    let differs = |field: &str| {
        let wanted = binding["metadata"][field].as_str().unwrap_or_default();
        !wanted.is_empty() && Some(wanted) != pod["metadata"][field].as_str()
    };
    if differs("uid") || differs("resourceVersion") {
        return Err(Failure::conflict(site.kind, &name, "the binding's preconditions do not hold"));
    }
    if pod["metadata"].get("deletionTimestamp").is_some() {
        return conflict("the pod is being deleted, and cannot be assigned to a host");
    }
    if let Some(bound) = pod["spec"]["nodeName"].as_str().filter(|bound| !bound.is_empty()) {
        return conflict(&format!("the pod is already assigned to node {bound:?}"));
    }
    if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
        return conflict("the pod has scheduling gates");
    }
    pod["spec"]["nodeName"] = json!(node);
    for (key, value) in binding["metadata"]["annotations"].as_object().into_iter().flatten() {
        pod["metadata"]["annotations"][key] = value.clone();
    }
    for key in TOPOLOGY_LABELS {
        if let Some(value) = labels.get(key) {
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

/// Deletes a pod if its disruption budgets allow.
pub(crate) async fn evict(
    registry: &Arc<Registry>,
    namespace: &str,
    name: &str,
    eviction: &Value,
    options: &Options,
) -> Result<Value, Failure> {
    let site = pods(namespace)?;
    let sent = eviction["metadata"]["name"].as_str().unwrap_or_default();
    if sent != name {
        return Err(Failure::bad_request(format!(
            "the eviction's name {sent:?} must be the pod's, {name:?}"
        )));
    }
    let entry =
        registry.get(site.resource, &site.key(name)).ok_or_else(|| Failure::not_found(site.kind, name))?;
    let pod = site.value(&entry);
    let mut delete = DeleteOptions::read(&crate::route::Query::default(), &eviction["deleteOptions"])?;
    delete.dry_run |= options.dry_run;
    let spared = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed" | "Pending"))
        || pod["metadata"].get("deletionTimestamp").is_some();
    if !spared && !delete.dry_run {
        spend_budget(registry, namespace, &entry).await?;
    }
    registry.delete(&site, name, &delete).await?;
    Ok(success(201))
}

/// Takes one from the budget that covers the pod; refuses when there is nothing left.
async fn spend_budget(registry: &Arc<Registry>, namespace: &str, pod: &store::Entry) -> Result<(), Failure> {
    let kind = table().kind("policy/v1", "PodDisruptionBudget").ok_or_else(Failure::no_such_path)?;
    let resource = Resource::of(kind).ok_or_else(Failure::no_such_path)?;
    let page = registry.glance(|store| {
        store.list(resource, Some(namespace), &Selection::default(), ListAt::Latest, None, None)
    })?;
    let covers = |budget: &PodDisruptionBudget| {
        budget.spec.selector.as_ref().is_some_and(|selector| {
            let labels = pod.labels();
            selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
                && selector.match_expressions.iter().all(|each| {
                    let have = labels.get(&each.key);
                    match each.operator.as_str() {
                        "In" => have.is_some_and(|have| each.values.contains(have)),
                        "NotIn" => have.is_none_or(|have| !each.values.contains(have)),
                        "Exists" => have.is_some(),
                        "DoesNotExist" => have.is_none(),
                        _ => false,
                    }
                })
        })
    };
    let budgets = page.items.iter().filter_map(|(_, entry)| {
        serde_json::from_value::<PodDisruptionBudget>(entry.value(&kind.api_version, &kind.kind)).ok()
    });
    let budgets: Vec<PodDisruptionBudget> = budgets.filter(covers).collect();
    let [budget] = budgets.as_slice() else {
        return match budgets.len() {
            0 => Ok(()),
            _ => Err(Failure::internal(
                "the pod is covered by more than one disruption budget, which is not supported",
            )),
        };
    };
    let target = Target { kind, namespace: namespace.to_owned(), name: None, subresource: None };
    let site = Site::of(&target)?;
    let name = budget.metadata.name.clone();
    let mut spend = |object: &mut Value| {
        let left = object["status"]["disruptionsAllowed"].as_i64().unwrap_or(0);
        if left < 1 {
            let mut failure =
                Failure::too_busy("cannot evict the pod as it would violate the pod's disruption budget");
            failure.details = json!({"causes": [{"reason": "DisruptionBudget",
                "message": format!("the disruption budget {name} allows no disruption now")}]});
            return Err(failure);
        }
        object["status"]["disruptionsAllowed"] = json!(left - 1);
        Ok(())
    };
    registry.adjust(&site, &name, &mut spend).await.map(|_| ())
}

/// Sets the finalizers of a namespace's contents; with none left a namespace that is being deleted goes.
pub(crate) async fn finalize(
    registry: &Arc<Registry>,
    site: &Site,
    name: &str,
    sent: &Value,
) -> Result<Value, Failure> {
    let finalizers = sent["spec"]["finalizers"].clone();
    let outcome = registry
        .adjust(site, name, &mut |namespace: &mut Value| {
            let spec = namespace["spec"].as_object_mut();
            match (spec, finalizers.as_array().is_some_and(|list| !list.is_empty())) {
                (Some(spec), true) => drop(spec.insert("finalizers".to_owned(), finalizers.clone())),
                (Some(spec), false) => drop(spec.remove("finalizers")),
                (None, _) => {}
            }
            Ok(())
        })
        .await?;
    Ok(match outcome {
        Outcome::Stored(entry) => site.value(&entry),
        Outcome::Shown(object) | Outcome::Gone(object) => object,
    })
}
