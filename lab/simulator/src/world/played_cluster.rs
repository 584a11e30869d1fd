//! A cluster that others have put together, in which controllers of the cluster and of drivers have their turns.
//!
//! Invariant: nothing is kept but objects. Whoever has its turn knows what they say and nothing else.

use controllers::claim_reservations::{self, Negotiation};
use controllers::contexts;
use gates::Gates;
use objects::Object;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::control;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use serde_json::{Value, json};

use super::START;
use super::api::{Api, Listed, Refused};
use super::keeper::Keeper;
use super::lender::{Deed, Lender, Mood, Seen};
use super::setup::Sabotage;

/// Kinds that mean something to controllers here.
const KINDS: [&str; 7] = [
    "Namespace",
    "DeviceClass",
    "Pod",
    "PodGroup",
    "PodSchedulingContext",
    "ResourceClaim",
    "ResourceClaimTemplate",
];

/// Far beyond the number of writes that anybody needs.
const WRITES_MAX: usize = 10_000;

/// Uids of what is made here are beyond those of others.
const FIRST: u64 = 1_000_000;

/// A controller of the cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Caretaker {
    /// It makes claims from templates, reserves and releases them, and tells drivers of pods that were bound by hand.
    Claims,
    /// It takes away negotiations that are over.
    Contexts,
}

/// What came of a turn.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Acted {
    /// How many writes were made.
    pub writes: usize,
    /// What kept somebody from more.
    pub troubles: Vec<String>,
}

/// A cluster.
#[derive(Debug)]
pub struct PlayedCluster {
    api: Api,
    gates: Gates,
}

impl PlayedCluster {
    /// The cluster of these objects, of which those that concern nobody here are left out. `number` is that of the last
    /// write. The API serves everything; controllers have these features.
    ///
    /// # Errors
    /// An object is there twice.
    pub fn new<'o>(
        objects: impl IntoIterator<Item = &'o Value>,
        number: u64,
        gates: Gates,
    ) -> Result<PlayedCluster, String> {
        let mut api = Api::new(Gates::all_on(), START);
        let default = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "default" } });
        let is_known = |object: &&Value| KINDS.iter().any(|kind| object["kind"] == *kind);
        let mut has_default = false;
        for object in objects.into_iter().filter(is_known) {
            has_default |= object["kind"] == "Namespace" && object["metadata"]["name"] == "default";
            api.adopt(object).map_err(|why| why.to_string())?;
        }
        if !has_default {
            api.adopt(&default).map_err(|why| why.to_string())?;
        }
        api.count_from(FIRST + number);
        Ok(PlayedCluster { api, gates })
    }

    /// The objects that may have changed, as they are now.
    pub fn objects(&mut self) -> Vec<Value> {
        let kinds = ["Pod", "PodGroup", "PodSchedulingContext", "ResourceClaim"];
        let lists: Vec<Listed> = kinds.iter().map(|kind| self.api.list(kind)).collect();
        lists.iter().flat_map(|list| list.iter()).map(|(_, object)| Value::clone(object)).collect()
    }

    /// A controller of the cluster does what there is to do.
    pub fn take_care(&mut self, who: Caretaker) -> Acted {
        let before = self.api.revision();
        let done = match who {
            Caretaker::Claims => {
                self.keep_claims();
                self.tell_of_bound_pods()
            }
            Caretaker::Contexts => self.clean_contexts(),
        };
        let troubles = done.err().map(|why| why.to_string()).into_iter().collect();
        Acted { writes: usize::try_from(self.api.revision() - before).unwrap_or(usize::MAX), troubles }
    }

    fn keep_claims(&mut self) {
        let mut keeper = Keeper::new(&self.api);
        for _ in 0..WRITES_MAX {
            keeper.follow(&self.api, [usize::MAX; 3]);
            if !keeper.has_work(&mut self.api, Sabotage::None) {
                return;
            }
            keeper.work(&mut self.api, Sabotage::None);
        }
    }

    fn tell_of_bound_pods(&mut self) -> Result<(), Refused> {
        let (claims, classes) = (self.all::<ResourceClaim>(), self.all::<DeviceClass>());
        let (groups, contexts) = (self.all::<PodGroup>(), self.all::<PodSchedulingContext>());
        for pod in self.all::<Pod>() {
            let namespace = &pod.metadata.namespace;
            let around = claim_reservations::Around {
                claim: &|name| claims.iter().find(|one| is_at(*one, namespace, name)),
                group: &|name| groups.iter().find(|one| is_at(*one, namespace, name)),
                is_controlled: &|name| {
                    classes.iter().any(|class| class.metadata.name == name && control::is_controlled(class))
                },
                gates: self.gates,
            };
            if claim_reservations::reservations(&pod, &around).lacking.is_empty() {
                continue;
            }
            let known = contexts.iter().find(|one| is_at(*one, namespace, &pod.metadata.name));
            match claim_reservations::negotiation(&pod, known) {
                Negotiation::Leave | Negotiation::Wait => {}
                Negotiation::Make(context) => drop(self.api.create(&value(&*context))?),
                Negotiation::Correct(context) => {
                    self.api.update(PodSchedulingContext::KIND, value(&*context), false)?;
                }
            }
        }
        Ok(())
    }

    fn clean_contexts(&mut self) -> Result<(), Refused> {
        let (claims, pods) = (self.all::<ResourceClaim>(), self.all::<Pod>());
        for context in self.all::<PodSchedulingContext>() {
            let (namespace, name) = (&context.metadata.namespace, &context.metadata.name);
            let is_allocated = |claim: &str| {
                let claim = claims.iter().find(|one| is_at(*one, namespace, claim));
                claim.is_some_and(|claim| claim.status.allocation.is_some())
            };
            let pod = pods.iter().find(|pod| is_at(*pod, namespace, name));
            if contexts::is_over(&context, pod, is_allocated) {
                let uid = Some(context.metadata.uid.as_str());
                self.api.delete(PodSchedulingContext::KIND, (namespace, name), None, uid)?;
            }
        }
        Ok(())
    }

    /// A driver's controller does what there is to do, or as much as can be done with so many writes.
    pub fn lend(&mut self, lender: &Lender, mood: &Mood, writes_max: Option<usize>) -> Acted {
        let mut acted = Acted::default();
        let mut then = None;
        while acted.writes < writes_max.unwrap_or(WRITES_MAX) {
            let deed = then.take().or_else(|| {
                let (deed, troubles) = lender.next(&self.seen(), mood);
                acted.troubles = troubles;
                deed
            });
            let Some(deed) = deed else { break };
            let done = match &deed {
                Deed::Claim(claim) => self.api.update(ResourceClaim::KIND, value(&**claim), false),
                Deed::Give(claim) | Deed::TakeBack(claim) => {
                    self.api.update(ResourceClaim::KIND, value(&**claim), true)
                }
                Deed::Answer(context) => self.api.update(PodSchedulingContext::KIND, value(&**context), true),
            };
            match done {
                Ok(written) if matches!(deed, Deed::TakeBack(_)) => then = lender.let_go(&read(&written)),
                Ok(_) => {}
                Err(why) => {
                    acted.troubles.push(why.to_string());
                    break;
                }
            }
            acted.writes += 1;
        }
        acted
    }

    fn seen(&mut self) -> Seen {
        Seen { classes: self.all(), claims: self.all(), contexts: self.all(), pods: self.all() }
    }

    fn all<K: Object>(&mut self) -> Vec<K> {
        self.api.list(K::KIND).iter().map(|(_, object)| read(object)).collect()
    }
}

fn read<K: Object>(object: &Value) -> K {
    K::read_value(object).expect("what was admitted is of its kind")
}

fn is_at<K: Object>(object: &K, namespace: &str, name: &str) -> bool {
    let meta = object.metadata();
    meta.namespace == namespace && meta.name == name
}

fn value<K: Object>(object: &K) -> Value {
    let mut value = object.write_value();
    (value["apiVersion"], value["kind"]) = (json!(K::API_VERSION), json!(K::KIND));
    value
}
