//! Parts of pods that are written on their own: binding to a node, and eviction; and the finalizing of namespaces.

use std::sync::Arc;

use schema::table;
use serde_json::{Value, json};
use store::binding::{BadBinding, Unbindable, Wish};
use store::eviction::{self, Refused};
use store::{ListAt, Resource, Selection};

use crate::delete::DeleteOptions;
use crate::objects::{Options, Outcome, Site};
use crate::registry::Registry;
use crate::route::Target;
use crate::status::Failure;

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
    let wish = Wish::read(binding, namespace, name).map_err(|bad| match bad {
        BadBinding::OtherName { .. } | BadBinding::OtherNamespace => Failure::bad_request(bad.to_string()),
        BadBinding::NoNode | BadBinding::NoTarget => Failure::unexplained(bad.to_string()),
    })?;
    let pod = wish.pod;
    let labels = registry.node(wish.node).map(|node| node["metadata"]["labels"].clone()).unwrap_or_default();
    let now = Registry::now().to_string();
    let mut change = |object: &mut Value| {
        wish.bind(object, &labels, &now).map_err(|why| {
            let mut failure = Failure::conflict(site.kind, pod, &why.to_string());
            if why != Unbindable::Precondition {
                failure.details["kind"] = json!("pods/binding");
            }
            failure
        })
    };
    if options.dry_run {
        let stored =
            registry.get(site.resource, &site.key(pod)).ok_or_else(|| Failure::not_found(site.kind, pod))?;
        change(&mut site.value(&stored))?;
    } else {
        registry.adjust(&site, pod, &mut change).await?;
    }
    Ok(success(201))
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
            "the name of the eviction, {sent:?}, must be the name of the pod, {name:?}"
        )));
    }
    let stored =
        registry.get(site.resource, &site.key(name)).ok_or_else(|| Failure::not_found(site.kind, name))?;
    let pod = site.value(&stored);
    let mut delete = DeleteOptions::read(&crate::route::Query::default(), &eviction["deleteOptions"])?;
    delete.dry_run |= options.dry_run;
    let mut spared_by = None;
    if eviction::is_counted(&pod) && !delete.dry_run {
        spared_by = spend_budget(registry, namespace, &stored, &pod).await?;
    }
    if !delete.dry_run {
        let now = Registry::now().to_seconds().to_string();
        let mut mark = |pod: &mut Value| {
            delete.check(&site, pod)?;
            // It has become healthy since, and would have to be paid for.
            if let Some(budget) = spared_by.clone().filter(|_| eviction::is_ready(pod)) {
                return Err(refused(&Refused::NothingLeft { budget }));
            }
            eviction::mark(pod, &now);
            Ok(())
        };
        let marked = registry.adjust(&site, name, &mut mark).await?;
        match marked {
            Outcome::Stored(stored) => delete.follow(stored.revision()),
            // It was only waiting for its last finalizer.
            Outcome::Shown(_) | Outcome::Gone(_) => return Ok(success(201)),
        }
    }
    registry.delete(&site, name, &delete).await?;
    Ok(success(201))
}

/// Takes one from the budget that covers the pod; refuses when there is nothing left. Names the budget if that takes nothing for
/// this pod, because it is not ready.
async fn spend_budget(
    registry: &Arc<Registry>,
    namespace: &str,
    stored: &store::StoredObject,
    pod: &Value,
) -> Result<Option<String>, Failure> {
    let kind = table().kind("policy/v1", "PodDisruptionBudget").ok_or_else(Failure::no_such_path)?;
    let resource = Resource::of(kind).ok_or_else(Failure::no_such_path)?;
    let page = registry.glance(|store| {
        store.list(resource, Some(namespace), &Selection::default(), ListAt::Latest, None, None)
    })?;
    let budgets = page
        .items
        .iter()
        .filter_map(|(_, stored)| serde_json::from_value(stored.value(&kind.api_version, &kind.kind)).ok());
    let Some(budget) = eviction::budget_of(stored.labels(), budgets).map_err(|why| refused(&why))? else {
        return Ok(None);
    };
    let name = budget.metadata.name.clone();
    if eviction::is_free(pod, &budget) {
        return Ok(Some(name));
    }
    let target = Target { kind, namespace: namespace.to_owned(), name: None, subresource: None };
    let mut spend = |object: &mut Value| eviction::spend(object).map_err(|why| refused(&why));
    registry.adjust(&Site::of(&target)?, &name, &mut spend).await?;
    Ok(None)
}

fn refused(why: &Refused) -> Failure {
    match why {
        Refused::SeveralBudgets => Failure::internal(why.to_string()),
        Refused::NothingLeft { .. } => {
            let mut failure =
                Failure::too_busy("cannot evict the pod as it would violate the pod's disruption budget");
            let cause = json!({"reason": "DisruptionBudget", "message": why.to_string()});
            failure.details = json!({"causes": [cause]});
            failure
        }
    }
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
        Outcome::Stored(stored) => site.value(&stored),
        Outcome::Shown(object) | Outcome::Gone(object) => object,
    })
}
