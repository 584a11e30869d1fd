//! Pods that were bound by hand: what is still to be done for their claims, since no scheduler did it.
//!
//! Invariant: a claim is reserved only if it has devices and is to stay. Devices for one that has none are found by a
//! scheduler, or by the driver's controller once it is told which node it is to be.

use gates::{Gate, Gates};
use objects::core::affinity::{NodeSelectorRequirement, NodeSelectorTerm};
use objects::core::pod::Pod;
use objects::resource::allocation::ResourceClaimConsumerReference;
use objects::resource::claim::ResourceClaim;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::control;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;

use crate::claimants::{Claimant, claim_of, consumer, group_of, is_controlled_by};
use crate::claims::is_done;

/// How many users a claim may have.
pub const USERS_MAX: usize = 256;

/// What is known of a pod's namespace.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// A claim by its name.
    pub claim: &'a dyn Fn(&str) -> Option<&'a ResourceClaim>,
    /// A group by its name.
    pub group: &'a dyn Fn(&str) -> Option<&'a PodGroup>,
    /// Whether devices of a class are given by a controller of the driver.
    pub is_controlled: &'a dyn Fn(&str) -> bool,
    /// Features of the cluster.
    pub gates: Gates,
}

/// What is to be done for a pod that has its node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reservations {
    /// Claims as they are to be, each with one user more.
    pub reserve: Vec<ResourceClaim>,
    /// Claims that a driver's controller is to give devices, which is to be told the node for that.
    pub lacking: Vec<String>,
    /// Claims that no more can use.
    pub full: Vec<String>,
}

/// What is to be done for a pod that has its node; nothing for others.
pub fn reservations(pod: &Pod, around: &Around<'_>) -> Reservations {
    let mut needs = Reservations::default();
    if pod.spec.node_name.is_empty() || pod.metadata.deletion_timestamp.is_some() || is_done(pod) {
        return needs;
    }
    let group = match group_of(pod).map(|name| (around.group)(name)) {
        // What it shares with its group cannot be told before the group is known.
        Some(None) => return needs,
        Some(group) => group,
        None => None,
    };
    for entry in pod.entries() {
        let Some(claim) = claim_of(pod, &entry).and_then(|name| (around.claim)(name)) else { continue };
        let user = consumer(pod, group, &entry);
        let is_groups = user.uid != pod.metadata.uid;
        let owner = if is_groups { &user.uid } else { &pod.metadata.uid };
        let is_foreign = entry.template.is_some() && !is_controlled_by(claim, owner);
        let is_off = is_groups && !around.gates.enabled(Gate::DRAWorkloadResourceClaims);
        if is_foreign || is_off || claim.metadata.deletion_timestamp.is_some() {
            continue;
        }
        if claim.status.allocation.is_none() {
            if around.gates.enabled(Gate::DRAControlPlaneController) && is_theirs(claim, around) {
                needs.lacking.push(claim.metadata.name.clone());
            }
        } else if claim.status.reserved_for.iter().any(|one| one.uid == user.uid) {
            // A group reserves it once for all its members.
        } else if claim.status.reserved_for.len() >= users_max(claim) {
            needs.full.push(claim.metadata.name.clone());
        } else if !control::is_leaving(claim)
            && !is_anothers(claim)
            && !is_elsewhere(claim, &pod.spec.node_name)
        {
            needs.reserve.push(reserved(claim, user));
        }
    }
    needs
}

/// How many may use the devices of a claim.
fn users_max(claim: &ResourceClaim) -> usize {
    if control::is_for_one(claim) { 1 } else { USERS_MAX }
}

/// Whether a controller of a driver is to give devices to the claim.
fn is_theirs(claim: &ResourceClaim, around: &Around<'_>) -> bool {
    let exact = claim.spec.devices.requests.iter().filter_map(|request| request.exactly.as_ref());
    exact.map(|exactly| exactly.device_class_name.as_str()).any(|class| (around.is_controlled)(class))
}

/// Whether a driver gave devices for one user, and there is one.
fn is_anothers(claim: &ResourceClaim) -> bool {
    let is_given = !control::controller(claim).is_empty();
    is_given && !control::is_shareable(claim) && !claim.status.reserved_for.is_empty()
}

/// Whether the devices of a claim are those of other nodes, by their names. Reserved for the pod they would be lost to everybody;
/// a scheduler takes them back if nobody uses them, and gives others.
fn is_elsewhere(claim: &ResourceClaim, node: &str) -> bool {
    let selector = claim.status.allocation.as_ref().and_then(|allocation| allocation.node_selector.as_ref());
    let names_others = |term: &NodeSelectorTerm| {
        let named = |field: &&NodeSelectorRequirement| field.key == "metadata.name" && field.operator == "In";
        term.match_fields.iter().filter(named).any(|field| !field.values.iter().any(|name| name == node))
    };
    selector.is_some_and(|selector| selector.node_selector_terms.iter().all(names_others))
}

fn reserved(claim: &ResourceClaim, user: ResourceClaimConsumerReference) -> ResourceClaim {
    let mut claim = claim.clone();
    claim.status.reserved_for.push(user);
    claim
}

/// What to do about the context that tells a pod's node to drivers' controllers.
#[derive(Clone, Debug, PartialEq)]
pub enum Negotiation {
    /// It says what it should.
    Leave,
    /// Make it.
    Make(Box<PodSchedulingContext>),
    /// Write it so.
    Correct(Box<PodSchedulingContext>),
    /// It is that of another pod of this name, and will go with it.
    Wait,
}

/// What to do so that drivers' controllers know the node of a pod.
pub fn negotiation(pod: &Pod, known: Option<&PodSchedulingContext>) -> Negotiation {
    let metadata = &pod.metadata;
    let Some(known) = known else {
        let mut context = PodSchedulingContext::owned_by(&metadata.namespace, &metadata.name, &metadata.uid);
        context.spec.selected_node = pod.spec.node_name.clone();
        return Negotiation::Make(Box::new(context));
    };
    let mut owners = known.metadata.owner_references.iter();
    if !owners.any(|owner| owner.uid == metadata.uid) || known.metadata.deletion_timestamp.is_some() {
        return Negotiation::Wait;
    }
    if known.spec.selected_node == pod.spec.node_name {
        return Negotiation::Leave;
    }
    let mut corrected = known.clone();
    corrected.spec.selected_node = pod.spec.node_name.clone();
    Negotiation::Correct(Box::new(corrected))
}

#[cfg(test)]
mod tests {
    use objects::Object;
    use serde_json::{Value, json};

    use super::*;

    fn read<K: Object>(value: &Value) -> K {
        K::read_value(value).expect("a good object")
    }

    fn pod(node: &str) -> Pod {
        read(&json!({
            "metadata": { "name": "p", "namespace": "ns", "uid": "u" },
            "spec": { "nodeName": node, "resourceClaims": [
                { "name": "a", "resourceClaimName": "shared" }, { "name": "b", "resourceClaimTemplateName": "t" },
            ] },
            "status": { "resourceClaimStatuses": [{ "name": "b", "resourceClaimName": "made" }] },
        }))
    }

    fn claim(name: &str, owner: &str, status: &Value) -> ResourceClaim {
        let owners = json!([{ "uid": owner, "controller": true }]);
        let request = json!({ "name": "r", "exactly": { "deviceClassName": "classic" } });
        read(&json!({
            "metadata": { "name": name, "ownerReferences": owners },
            "spec": { "devices": { "requests": [request] } }, "status": status,
        }))
    }

    fn allocated() -> Value {
        json!({ "allocation": { "devices": {} } })
    }

    fn needs(pod: &Pod, claims: &[ResourceClaim], gates: Gates) -> Reservations {
        let group: PodGroup = read(&json!({
            "metadata": { "name": "g", "uid": "gu" },
            "spec": { "resourceClaims": [{ "name": "b", "resourceClaimTemplateName": "t" }] },
        }));
        reservations(
            pod,
            &Around {
                claim: &|name| claims.iter().find(|claim| claim.metadata.name == name),
                group: &|name| (name == "g").then_some(&group),
                is_controlled: &|class| class == "classic",
                gates,
            },
        )
    }

    /// Which claim is reserved for whom.
    fn users(needs: &Reservations) -> Vec<String> {
        let last = |claim: &ResourceClaim| {
            let user = claim.status.reserved_for.last().expect("it has one more");
            format!("{} for {}/{}", claim.metadata.name, user.resource, user.uid)
        };
        needs.reserve.iter().map(last).collect()
    }

    #[test]
    fn what_is_allocated_is_reserved_once_its_pod_has_a_node() {
        let claims = [claim("shared", "nobody", &allocated()), claim("made", "u", &allocated())];
        let found = needs(&pod("n"), &claims, Gates::default());
        assert_eq!(users(&found), ["shared for pods/u", "made for pods/u"]);
        assert_eq!(needs(&pod(""), &claims, Gates::default()), Reservations::default());
        let mut done = pod("n");
        done.status.phase = "Succeeded".to_owned();
        assert_eq!(needs(&done, &claims, Gates::default()), Reservations::default());
    }

    #[test]
    fn what_is_reserved_missing_foreign_or_about_to_go_is_left_alone() {
        let mut used = claim("shared", "nobody", &allocated());
        used.status.reserved_for.push(consumer(
            &pod("n"),
            None,
            &pod("n").entries().next().expect("an entry"),
        ));
        let mut asked = claim("shared", "nobody", &allocated());
        asked.status.deallocation_requested = true;
        let mut going = claim("shared", "nobody", &allocated());
        going.metadata.deletion_timestamp =
            serde_json::from_value(json!("2026-01-02T03:04:05Z")).expect("a time");
        for claim in [used, asked, going, claim("made", "another", &allocated())] {
            let found = needs(&pod("n"), std::slice::from_ref(&claim), Gates::default());
            assert_eq!(found, Reservations::default(), "{claim:?}");
        }
    }

    #[test]
    fn what_a_driver_gave_for_one_user_is_not_reserved_for_a_second() {
        let given = |shareable: bool, users: Value| {
            let allocation = json!({ "devices": {}, "shareable": shareable });
            let status = json!({ "controllerName": "d", "allocation": allocation, "reservedFor": users });
            claim("shared", "nobody", &status)
        };
        let other = json!([{ "resource": "pods", "name": "other", "uid": "o" }]);
        let table = [(false, json!([]), 1), (false, other.clone(), 0), (true, other, 1)];
        for (shareable, users, expected) in table {
            let found = needs(&pod("n"), &[given(shareable, users)], Gates::default());
            assert_eq!(found.reserve.len(), expected, "{shareable}");
        }
    }

    #[test]
    fn devices_of_other_nodes_are_left_to_a_scheduler() {
        let on = |name: &str| {
            let field = json!({ "key": "metadata.name", "operator": "In", "values": [name] });
            let selector = json!({ "nodeSelectorTerms": [{ "matchFields": [field] }] });
            claim("shared", "nobody", &json!({ "allocation": { "devices": {}, "nodeSelector": selector } }))
        };
        assert_eq!(users(&needs(&pod("n"), &[on("n")], Gates::default())), ["shared for pods/u"]);
        assert_eq!(needs(&pod("n"), &[on("m")], Gates::default()), Reservations::default());
    }

    #[test]
    fn a_claim_that_all_can_use_who_may_is_full() {
        let mut full = claim("shared", "nobody", &allocated());
        full.status.reserved_for = vec![ResourceClaimConsumerReference::default(); USERS_MAX];
        assert_eq!(needs(&pod("n"), &[full], Gates::default()).full, ["shared"]);
        let used = |shareable: bool| {
            let allocation = json!({ "devices": {}, "shareable": shareable });
            let mut claim = claim("shared", "nobody", &json!({ "allocation": allocation }));
            claim.status.controller_name = "d.example.com".to_owned();
            claim.status.reserved_for = vec![ResourceClaimConsumerReference::default()];
            needs(&pod("n"), &[claim], Gates::default())
        };
        assert_eq!(used(false).full, ["shared"], "its driver gave it to one");
        assert_eq!(users(&used(true)), ["shared for pods/u"]);
    }

    #[test]
    fn a_claim_of_the_group_is_reserved_for_the_group_if_that_is_on() {
        let mut member = pod("n");
        member.spec.scheduling_group =
            serde_json::from_value(json!({ "podGroupName": "g" })).expect("a group");
        let claims = [claim("shared", "nobody", &allocated()), claim("made", "gu", &allocated())];
        let on = Gates::default().with(Gate::DRAWorkloadResourceClaims, true);
        assert_eq!(users(&needs(&member, &claims, on)), ["shared for pods/u", "made for podgroups/gu"]);
        assert_eq!(users(&needs(&member, &claims, Gates::default())), ["shared for pods/u"]);
        member.spec.scheduling_group =
            serde_json::from_value(json!({ "podGroupName": "none" })).expect("a group");
        assert_eq!(needs(&member, &claims, on), Reservations::default());
    }

    #[test]
    fn a_drivers_controller_is_told_the_node_if_there_is_one() {
        let claims = [claim("shared", "nobody", &json!({}))];
        let on = Gates::default().with(Gate::DRAControlPlaneController, true);
        assert_eq!(needs(&pod("n"), &claims, on).lacking, ["shared"]);
        assert!(needs(&pod("n"), &claims, Gates::default()).lacking.is_empty());
        let Negotiation::Make(made) = negotiation(&pod("n"), None) else { panic!("there is none yet") };
        assert_eq!((made.metadata.name.as_str(), made.spec.selected_node.as_str()), ("p", "n"));
        assert!(made.spec.potential_nodes.is_empty());
        assert_eq!(negotiation(&pod("n"), Some(&made)), Negotiation::Leave);
        let moved = negotiation(&pod("m"), Some(&made));
        assert!(matches!(moved, Negotiation::Correct(context) if context.spec.selected_node == "m"));
        let mut theirs = made.clone();
        theirs.metadata.owner_references[0].uid = "another".to_owned();
        assert_eq!(negotiation(&pod("n"), Some(&theirs)), Negotiation::Wait);
    }
}
