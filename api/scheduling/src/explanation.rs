//! Explanations as JSON, for `-o json` and for programs.
//!
//! Codes stay the same in all versions, and so do the names of fields. Sentences, in fields called `message`, may change.

use decisions::driver_wait::Wait;
use decisions::event_reasons::{BINDING_CONDITIONS_PENDING, WAITING_FOR_RESOURCE_DRIVER};
use decisions::node_refusal::{NodeRefusal, Shortage};
use decisions::pod::Nearest;
use decisions::reason::{Reason, Rule};
use explain::{
    ClaimExplanation, ClaimStanding, Conflict, DeviceHolder, DeviceLack, Explanation, Extent, FoundClaim,
    GroupExplanation, HolderName, LeadsTo, NodeGroup, NowPlaced, PlacedPod, PodExplanation, RefusedGroup,
    RefusedPod, Remedies, Shown, WaitingPod,
};
use model::identity::NodeName;
use model::pod::PodId;
use serde_json::{Value, json};

/// An explanation as JSON.
#[must_use]
pub fn to_json(explanation: &Explanation) -> Value {
    match explanation {
        Explanation::Pod(pod) => of_pod(pod),
        Explanation::Claim(claim) => of_claim(claim),
        Explanation::Group(group) => of_group(group),
        Explanation::Workload(id, groups) => json!({
            "kind": "Workload",
            "namespace": &*id.namespace,
            "name": &*id.name,
            "groups": groups.iter().map(of_group).collect::<Vec<_>>(),
        }),
    }
}

fn of_pod(pod: &PodExplanation) -> Value {
    let standing = |pod: &PodId, state: &str| json!({"kind": "Pod", "namespace": &*pod.namespace, "name": &*pod.name, "state": state});
    match pod {
        PodExplanation::NotFound(pod) => standing(pod, "NotFound"),
        PodExplanation::Gated { pod, gates } => with(
            standing(pod, "Gated"),
            "gates",
            gates.iter().map(|gate| Value::from(&**gate)).collect::<Vec<_>>(),
        ),
        PodExplanation::HeldBack { pod, lack } => {
            let object = with(standing(pod, "Waiting"), "message", lack.with_hint());
            with(object, "reasons", vec![lack.code()])
        }
        PodExplanation::Waiting(WaitingPod::Fits { pod, node }) => {
            with(standing(pod, "Fits"), "node", &**node)
        }
        PodExplanation::Waiting(WaitingPod::AwaitsDrivers { pod, wait }) => {
            let object = with(standing(pod, "Waiting"), "message", wait.to_string());
            let object = with(object, "reasons", vec![WAITING_FOR_RESOURCE_DRIVER.name]);
            let drivers: Vec<Value> = wait.drivers().iter().map(|driver| (&**driver).into()).collect();
            let node = wait.node.as_ref().map(|node| Value::from(&**node));
            with(with(object, "node", node), "drivers", drivers)
        }
        PodExplanation::Waiting(WaitingPod::Undecided { pod }) => standing(pod, "Undecided"),
        PodExplanation::Waiting(WaitingPod::Refused(refused)) => {
            of_refused_pod(standing(&refused.pod, "Waiting"), refused)
        }
        PodExplanation::WaitingInGroup { pod, group } => {
            with(standing(pod, "WaitingInGroup"), "group", of_group(group))
        }
        PodExplanation::Placed(placed) => of_placed(standing(&placed.pod, "Placed"), placed),
    }
}

/// The same object with another field.
fn with(mut object: Value, field: &str, value: impl Into<Value>) -> Value {
    object[field] = value.into();
    object
}

fn of_refused_pod(object: Value, refused: &RefusedPod) -> Value {
    let nearest = refused.nearest.as_ref().map(|nearest| {
        json!({
            "node": &*nearest.node,
            "rules": nearest.rules.iter().flat_map(|rule| rule.reasons()).map(|one| one.code()).collect::<Vec<_>>(),
            "devices": of_devices(&nearest.devices),
            "pods": pods(&nearest.pods),
        })
    });
    let object = with(object, "message", refused.message());
    let object = with(object, "reasons", refused.codes());
    let object = with(object, "preempted", pods(&refused.victims));
    let object = with(object, "nodes", refused.groups.iter().map(of_nodes).collect::<Vec<_>>());
    let object = with(object, "nearest", nearest);
    with(with(object, "conflict", of_conflict(&refused.conflict)), "remedies", of_remedies(&refused.remedies))
}

fn of_nodes(group: &NodeGroup) -> Value {
    json!({
        "count": group.count,
        "reasons": group.reasons.iter().map(Reason::code).collect::<Vec<_>>(),
        "examples": group.examples.iter().map(|node| &**node).collect::<Vec<&str>>(),
        "shortages": group.rules.iter().flat_map(of_shortages).collect::<Vec<_>>(),
        "devices": of_devices(&group.devices),
    })
}

/// What the first of some nodes has too little of, in thousandths of a processor, in bytes, or in whole units.
fn of_shortages(rule: &NodeRefusal) -> Vec<Value> {
    let NodeRefusal::Short(shortages) = rule else { return Vec::new() };
    let told = |short: &Shortage| {
        json!({
            "reason": Reason::Rule(Rule::Short(short.of.clone())).code(),
            "message": short.of.to_string(),
            "requested": short.requested,
            "free": (short.capacity - short.used).max(0),
            "capacity": short.capacity,
        })
    };
    shortages.iter().map(told).collect()
}

fn of_devices(devices: &DeviceLack) -> Value {
    let (reason, nearest, holders, more) = match devices {
        DeviceLack::None => return Value::Null,
        DeviceLack::NotAsked => return json!({"reason": "NotAsked"}),
        DeviceLack::Lacking { reason, nearest, holders, more_holders } => {
            (reason, nearest, holders, more_holders)
        }
    };
    let mut object = json!({"reason": reason.code(), "message": reason.to_string()});
    if let Some(Nearest::Refused { refusal, .. }) = nearest.as_deref()
        && let Some(miss) = &refusal.nearest
    {
        let stages =
            miss.stages.iter().map(|one| json!({"left": one.left, "message": one.stage.to_string()}));
        object["request"] = miss.request.to_string().into();
        object["class"] = (&*miss.class).into();
        object["wanted"] = miss.wanted.into();
        object["found"] = miss.found.into();
        object["stages"] = stages.collect::<Vec<_>>().into();
        object["holders"] = holders.iter().map(of_holder).collect::<Vec<_>>().into();
        object["moreHolders"] = (*more).into();
    }
    object
}

fn of_holder(one: &DeviceHolder) -> Value {
    let DeviceHolder { device, holder } = one;
    let device = device.to_string();
    match holder {
        HolderName::Claim(claim, users) => json!({
            "device": device,
            "claim": claim.named().map(ToString::to_string),
            "pods": pods(users),
        }),
        HolderName::Pod(pod) => json!({"device": device, "pods": pods(std::slice::from_ref(pod))}),
        HolderName::Failed => json!({"device": device, "failed": true}),
    }
}

/// Pods by name; null for each that may not be named.
fn pods(all: &[Shown<PodId>]) -> Vec<Value> {
    all.iter().map(|pod| pod.named().map_or(Value::Null, |id| id.to_string().into())).collect()
}

fn of_conflict(conflict: &Conflict) -> Value {
    let told = conflict.constraints.iter();
    json!({
        "minimal": conflict.extent == Extent::Whole,
        "constraints":
            told.map(|one| json!({"code": one.code(), "message": one.to_string()})).collect::<Vec<_>>(),
    })
}

fn of_remedies(remedies: &Remedies) -> Value {
    let told = remedies.remedies.iter().map(|remedy| {
        let edits = remedy.edits.iter().map(|one| json!({"code": one.code(), "message": one.to_string()}));
        let edits = edits.collect::<Vec<_>>();
        match &remedy.leads_to {
            LeadsTo::Place(node) => json!({"changes": edits, "node": &**node}),
            LeadsTo::Preemption { node, count, victims } => json!({
                "changes": edits,
                "node": &**node,
                "preempts": count,
                "preempted": pods(victims),
            }),
        }
    });
    json!({"complete": remedies.extent == Extent::Whole, "items": told.collect::<Vec<_>>()})
}

fn of_placed(object: Value, placed: &PlacedPod) -> Value {
    let scores = |node: &decisions::comparison::NodeScores| {
        let by_plugin: serde_json::Map<String, Value> =
            node.scores.iter().map(|(kind, score)| (kind.name().to_owned(), (*score).into())).collect();
        json!({"node": &*node.node, "total": node.total, "scores": by_plugin})
    };
    let now = match &placed.now {
        NowPlaced::Here => Some(&placed.node),
        NowPlaced::There(node) => Some(node),
        NowPlaced::Nowhere | NowPlaced::Unknown => None,
    };
    let object = with(object, "node", &*placed.node);
    let object = with(object, "onItsWay", placed.on_its_way);
    let object = match &placed.pending {
        None => object,
        Some(pending) => {
            let object = with(object, "message", pending.to_string());
            with(object, "reasons", vec![BINDING_CONDITIONS_PENDING.name])
        }
    };
    let object = with(object, "candidates", placed.candidates);
    let object = with(object, "own", placed.scores.as_ref().map(scores));
    let object = with(object, "others", placed.others.iter().map(scores).collect::<Vec<_>>());
    with(object, "nodeNow", now.map(|node| Value::from(&**node)))
}

fn of_group(group: &GroupExplanation) -> Value {
    let standing = |id: &model::group::GroupId, state: &str| json!({"kind": "PodGroup", "namespace": &*id.namespace, "name": id.name.to_string(), "state": state});
    match group {
        GroupExplanation::NotFound(id) => standing(id, "NotFound"),
        GroupExplanation::NoneWait { group, placed } => with(standing(group, "Placed"), "placed", *placed),
        GroupExplanation::HeldBack { group, waiting, lack } => {
            let object = with(standing(group, "Waiting"), "message", lack.with_hint());
            with(with(object, "reasons", vec![lack.code()]), "waiting", *waiting)
        }
        GroupExplanation::AwaitsDrivers { group, places } => {
            let wait = places.iter().find_map(|(_, _, wait)| wait.as_ref());
            let object = with(standing(group, "Waiting"), "message", wait.map(ToString::to_string));
            let object = with(object, "reasons", vec![WAITING_FOR_RESOURCE_DRIVER.name]);
            let place = |(pod, node, wait): &(std::sync::Arc<str>, NodeName, Option<Wait>)| {
                let drivers = wait.iter().flat_map(Wait::drivers);
                let drivers: Vec<Value> = drivers.map(|driver| (&*driver).into()).collect();
                json!({"pod": &**pod, "node": &**node, "drivers": drivers})
            };
            with(object, "places", places.iter().map(place).collect::<Vec<_>>())
        }
        GroupExplanation::Fits { group, places } => {
            with(standing(group, "Fits"), "places", of_places(places))
        }
        GroupExplanation::Undecided(group) => standing(group, "Undecided"),
        GroupExplanation::Refused(refused) => of_refused_group(standing(&refused.group, "Waiting"), refused),
    }
}

fn of_places(places: &[(std::sync::Arc<str>, NodeName)]) -> Vec<Value> {
    places.iter().map(|(pod, node)| json!({"pod": &**pod, "node": &**node})).collect()
}

fn of_refused_group(object: Value, refused: &RefusedGroup) -> Value {
    let domains = refused
        .domains
        .iter()
        .map(|room| json!({"domain": room.domain.part(), "roomFor": room.room_for, "wanted": room.wanted}));
    let object = with(object, "message", refused.message());
    let object = with(object, "reasons", vec![refused.refusal.miss.why.code()]);
    let object = with(object, "waiting", refused.waiting);
    let object = with(object, "domainCount", refused.domain_count);
    let object = with(object, "domains", domains.collect::<Vec<_>>());
    let object = with(object, "bestAttempt", of_places(&refused.seated));
    let object = with(object, "next", refused.next.as_ref().map(|pod| Value::from(&**pod)));
    let object = with(object, "nodes", refused.groups.iter().map(of_nodes).collect::<Vec<_>>());
    with(with(object, "conflict", of_conflict(&refused.conflict)), "remedies", of_remedies(&refused.remedies))
}

fn of_claim(claim: &ClaimExplanation) -> Value {
    let (id, found) = match claim {
        ClaimExplanation::NotFound(id) => (id, None),
        ClaimExplanation::Found(found) => (&found.claim, Some(found)),
    };
    let object = json!({"kind": "ResourceClaim", "namespace": &*id.namespace, "name": &*id.name});
    let Some(found) = found else { return with(object, "state", "NotFound") };
    let FoundClaim { standing, devices, since, users, other_users, waiting, deleting, .. } = &**found;
    let object = match standing {
        ClaimStanding::AwaitsPod => with(object, "state", "AwaitsPod"),
        ClaimStanding::AwaitsClasses(classes) => {
            let classes: Vec<Value> = classes.iter().map(|class| (&**class).into()).collect();
            with(with(object, "state", "AwaitsClasses"), "classes", classes)
        }
        ClaimStanding::AwaitsDrivers(controllers) => {
            let controllers: Vec<Value> = controllers.iter().map(|one| (&**one).into()).collect();
            with(with(object, "state", "AwaitsDrivers"), "controllers", controllers)
        }
        ClaimStanding::BeingAllocated => with(object, "state", "BeingAllocated"),
        ClaimStanding::BeingDeallocated => with(object, "state", "BeingDeallocated"),
        ClaimStanding::Preparing { awaited, until } => {
            let missing: Vec<Value> = awaited.device.missing.iter().map(|one| (&**one).into()).collect();
            let object = with(with(object, "state", "Preparing"), "until", until.to_string());
            with(with(object, "device", awaited.device.device.to_string()), "missingConditions", missing)
        }
        ClaimStanding::Broken(broken) => {
            let broken: Vec<Value> = broken.iter().map(|one| one.to_string().into()).collect();
            with(with(object, "state", "Broken"), "message", broken)
        }
        ClaimStanding::Allocated => with(object, "state", "Allocated"),
    };
    let object = with(object, "devices", devices.iter().map(ToString::to_string).collect::<Vec<_>>());
    let object = with(object, "since", since.map(|since| Value::from(since.to_string())));
    let object = with(object, "pods", pods(users));
    let object = with(object, "otherConsumers", *other_users);
    with(with(object, "waiting", pods(waiting)), "deleting", *deleting)
}
