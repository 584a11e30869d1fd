//! A driver that lends so many of something, and what its controller writes next.
//!
//! Invariant: nothing is remembered. What is left follows from the claims of the API, and so does what is to be written next,
//! so that it goes on in the same way wherever it was stopped. What is the same for all drivers is decided by
//! `controllers::classic`.

use std::collections::{BTreeMap, BTreeSet};

use controllers::classic::{self, Duty, Grant, Wanted};
use objects::core::pod::Pod;
use objects::resource::allocation::ResourceHandle;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::control::{self, Form};
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use serde_json::json;

/// A driver and what it has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lender {
    /// Its name, which its classes have as the name of their controller.
    pub name: String,
    /// How many there are by node, or under the empty name if every node reaches all of them.
    pub room: BTreeMap<String, usize>,
    /// More than one pod may use what a claim has.
    pub shareable: bool,
    /// How many bytes it leaves for those who prepare the devices, if more than the name of the node.
    pub handle_bytes: usize,
}

/// What is wrong with a driver for a while.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mood {
    /// It says that every node will do, and finds out when it is to give something.
    pub is_blind: bool,
    /// It gives something for this node, whichever is chosen.
    pub elsewhere: Option<String>,
}

/// What the API has, as far as it concerns a driver.
pub(super) struct Seen {
    pub classes: Vec<DeviceClass>,
    pub claims: Vec<ResourceClaim>,
    pub contexts: Vec<PodSchedulingContext>,
    pub pods: Vec<Pod>,
}

/// Something that a controller writes.
#[derive(Debug)]
pub(super) enum Deed {
    /// A claim.
    Claim(Box<ResourceClaim>),
    /// The status of a claim that is given something.
    Give(Box<ResourceClaim>),
    /// The status of a claim that something was taken back from. What protects it goes after that.
    TakeBack(Box<ResourceClaim>),
    /// An answer about nodes.
    Answer(Box<PodSchedulingContext>),
}

impl Lender {
    /// How many are left for a node.
    fn left(&self, node: &str, claims: &[ResourceClaim]) -> usize {
        let place = if self.is_local() { node } else { "" };
        let given = claims.iter().filter(|claim| control::controller(claim) == self.name);
        let here = given.filter(|claim| !self.is_local() || place_of(claim) == place).count();
        self.room.get(place).copied().unwrap_or_default().saturating_sub(here)
    }

    fn is_local(&self) -> bool {
        !self.room.contains_key("")
    }

    fn grant(&self, node: &str) -> Grant {
        let data = format!("{node:<bytes$}", bytes = self.handle_bytes);
        let handle = ResourceHandle { driver_name: self.name.clone(), data, ..ResourceHandle::default() };
        let nodes = self.is_local().then(|| {
            let field = json!({ "key": "metadata.name", "operator": "In", "values": [node] });
            serde_json::from_value(json!({ "nodeSelectorTerms": [{ "matchFields": [field] }] }))
                .expect("a good selector")
        });
        Grant { nodes, shareable: self.shareable, handles: vec![handle], ..Grant::default() }
    }

    /// What its controller writes next, and what keeps it from more.
    pub(super) fn next(&self, seen: &Seen, mood: &Mood) -> (Option<Deed>, Vec<String>) {
        let mut troubles = Vec::new();
        for claim in &seen.claims {
            let form = self.form_of(claim, seen);
            let deed = match (classic::duty(claim, &self.name, form), form) {
                (Duty::Deallocate, _) => self.take_back(claim),
                (Duty::Allocate, Some(form)) => {
                    let place = self.room.keys().find(|node| self.left(node, &seen.claims) > 0);
                    if place.is_none() {
                        troubles.push(format!("claim {}: nothing is left", claim.metadata.name));
                    }
                    place.map(|place| {
                        let grant = self.grant(place);
                        self.protect(claim, &grant, form)
                            .unwrap_or_else(|| self.give(claim, grant, form, None))
                    })
                }
                (Duty::None | Duty::Allocate, _) => None,
            };
            if deed.is_some() {
                return (deed, troubles);
            }
        }
        for context in &seen.contexts {
            let deed = self.negotiate(context, seen, mood, &mut troubles);
            if deed.is_some() {
                return (deed, troubles);
            }
        }
        (None, troubles)
    }

    /// How a claim is written, if this driver is to give it something.
    fn form_of(&self, claim: &ResourceClaim, seen: &Seen) -> Option<Form> {
        let class = |name: &str| seen.classes.iter().find(|class| class.metadata.name == name);
        let (said, _) = classic::classes_of(claim, &class)?;
        (said.controller == self.name).then_some(said.form)
    }

    fn negotiate(
        &self,
        context: &PodSchedulingContext,
        seen: &Seen,
        mood: &Mood,
        troubles: &mut Vec<String>,
    ) -> Option<Deed> {
        let (namespace, name) = (&context.metadata.namespace, &context.metadata.name);
        let is_its = |pod: &&Pod| pod.metadata.namespace == *namespace && pod.metadata.name == *name;
        let pod = seen.pods.iter().find(is_its).filter(|pod| classic::is_open(context, pod))?;
        let own = |name: &str| {
            let is_it = |claim: &&ResourceClaim| {
                claim.metadata.namespace == *namespace && claim.metadata.name == name
            };
            seen.claims.iter().find(is_it)
        };
        let wanted = classic::wanted(pod, &own).into_iter();
        let wanted: Vec<(Wanted, Form)> =
            wanted.filter_map(|one| self.form_of(&one.claim, seen).map(|form| (one, form))).collect();
        if wanted.is_empty() {
            return None;
        }
        let entries: BTreeSet<&str> = wanted.iter().map(|(one, _)| one.entry.as_str()).collect();
        let nodes = classic::nodes_to_judge(context, &entries).into_iter();
        let will_not_do = |node: &String| !mood.is_blind && self.left(node, &seen.claims) < wanted.len();
        let unsuitable: BTreeSet<String> = nodes.filter(will_not_do).collect();
        let selected = &context.spec.selected_node;
        if !selected.is_empty() && !unsuitable.contains(selected) {
            let node = mood.elsewhere.as_ref().unwrap_or(selected);
            let grant = self.grant(node);
            let protected = wanted.iter().find_map(|(one, form)| self.protect(&one.claim, &grant, *form));
            if protected.is_some() {
                return protected;
            }
            let (Wanted { claim, .. }, form) = &wanted[0];
            if self.left(node, &seen.claims) > 0 {
                return Some(self.give(claim, grant, *form, Some(pod)));
            }
            troubles.push(format!("claim {}: nothing is left on {node}", claim.metadata.name));
        }
        let said = wanted.iter().map(|(one, _)| (one.entry.clone(), unsuitable.clone())).collect();
        classic::answer(context, &said).map(|answered| Deed::Answer(Box::new(answered)))
    }

    fn protect(&self, claim: &ResourceClaim, grant: &Grant, form: Form) -> Option<Deed> {
        classic::described(claim, &self.name, grant, form).map(|claim| Deed::Claim(Box::new(claim)))
    }

    fn give(&self, claim: &ResourceClaim, grant: Grant, form: Form, pod: Option<&Pod>) -> Deed {
        Deed::Give(Box::new(classic::given(claim, &self.name, grant, form, pod)))
    }

    fn take_back(&self, claim: &ResourceClaim) -> Option<Deed> {
        let freed = classic::freed(claim).map(|freed| Deed::TakeBack(Box::new(freed)));
        freed.or_else(|| self.let_go(claim))
    }

    /// What is written about a claim that nothing was given to.
    pub(super) fn let_go(&self, claim: &ResourceClaim) -> Option<Deed> {
        classic::unprotected(claim, &self.name).map(|free| Deed::Claim(Box::new(free)))
    }
}

/// The node that a claim was given something for.
fn place_of(claim: &ResourceClaim) -> String {
    let handles = control::handles(claim).unwrap_or_default();
    handles.first().map(|handle| handle.data.trim_end().to_owned()).unwrap_or_default()
}
