//! The way of a write: which call comes next, what was answered, and when it may be called done or failed.
//!
//! Invariant: a write is called failed only when it is certain that it was not carried out and will not be. An answer that
//! leaves this open is followed by reading the object and asking again: the server refuses a second writing of the same
//! version, so one of the two is carried out at most.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::pod::PodId;
use model::timestamp::Timestamp;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use scheduler::write::{About, Consumer, Write, WriteId, WriteOutcome};
use scheduling::request::{self, ApiCall, Next, RequestError, Seen};
use serde::Deserialize;
use serde_json::Value;

use super::api::Refused;

/// How often a write is made anew from the object as it is, since somebody else changed the object first.
const CONFLICTS_MAX: u32 = 31;

/// What was heard of a call.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// It is done, and this is the object now.
    Done(Arc<Value>),
    /// It was not done.
    Refused(Refused),
    /// Nothing: it may have been done, or may be yet.
    Unclear,
}

/// What to do about an answer.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    /// Make the next call from the object as it was answered.
    GoOn,
    /// Read the object, and make the call again after so many milliseconds.
    Repeat(i64),
    /// It is over.
    Settle(WriteOutcome),
}

/// How far an object that was read can be relied on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    /// It has to be read before the next call.
    Due,
    /// It is as a scheduler was told of it some time ago.
    Old,
    /// It is as the API has it, or as it answered.
    Fresh,
}

/// A write on its way.
#[derive(Clone, Debug)]
pub(crate) struct Errand {
    pub replica: usize,
    pub id: WriteId,
    pub write: Write,
    /// The object that the write names, as far as it was read.
    pub object: Option<Arc<Value>>,
    /// The claim that was made for the pod that the write names.
    pub made: Option<Arc<Value>>,
    /// The pods that use the claim of the write, as they were when the write was sent.
    pub users: Vec<Arc<Value>>,
    /// Why the write cannot be done, while what was made is taken back.
    pub undone: Option<String>,
    /// How far the objects can be relied on.
    pub reading: Reading,
    /// A call had no answer: it may have been carried out, or may be yet.
    pub unclear: bool,
    pub tries: u32,
    pub tries_max: u32,
    /// How often somebody else was faster.
    pub conflicts: u32,
}

impl Errand {
    /// Where the object is that the write names: kind, namespace and name.
    pub fn target(&self) -> (&'static str, String, String) {
        match self.write.about() {
            About::Claim(claim) => ("ResourceClaim", claim.namespace.to_string(), claim.name.to_string()),
            About::Context { id, .. } => {
                ("PodSchedulingContext", id.namespace.to_string(), id.name.to_string())
            }
            About::Pod { id, .. } => ("Pod", id.namespace.to_string(), id.name.to_string()),
            About::Group(id) => ("PodGroup", id.namespace.to_string(), id.name.to_string()),
        }
    }

    /// The pods that have to be read before the next call.
    pub fn users(&self) -> Vec<PodId> {
        let claim = self.object.as_deref().and_then(|claim| ResourceClaim::deserialize(claim).ok());
        claim.map(|claim| request::users(&self.write, &claim)).unwrap_or_default()
    }

    /// The next call.
    pub fn next(
        &self,
        classes: &BTreeMap<String, DeviceClass>,
        now: Timestamp,
    ) -> Result<Next, RequestError> {
        let object = self.object.as_deref();
        let is_claim = matches!(self.write.about(), About::Claim(_));
        let claim = object.filter(|_| is_claim).or(self.made.as_deref());
        let claim = claim.and_then(|claim| ResourceClaim::deserialize(claim).ok());
        let is_pod = matches!(self.write.about(), About::Pod { .. });
        let pod = object.filter(|_| is_pod).and_then(|pod| Pod::deserialize(pod).ok());
        let users = self.users.iter().filter_map(|pod| Pod::deserialize(&**pod).ok());
        let users: Vec<Arc<Pod>> = users.map(Arc::new).collect();
        let is_group = matches!(self.write.about(), About::Group(_));
        let group = object.filter(|_| is_group).and_then(|group| PodGroup::deserialize(group).ok());
        let is_context = matches!(self.write.about(), About::Context { .. });
        let context = object.filter(|_| is_context);
        let context = context.and_then(|context| PodSchedulingContext::deserialize(context).ok());
        let seen = Seen {
            claim: claim.as_ref(),
            pod: pod.as_ref(),
            users: &users,
            group: group.as_ref(),
            context: context.as_ref(),
            class: &|name| classes.get(name),
            now,
            allocation_times: false,
        };
        if self.undone.is_some() {
            Ok(request::undo(&self.write, &seen))
        } else {
            request::next(&self.write, &seen)
        }
    }

    /// Takes an answer in.
    pub fn answered(&mut self, answer: Answer, is_last: bool) -> Step {
        let failed = |why: &Refused| Step::Settle(WriteOutcome::Failed(why.to_string()));
        match answer {
            Answer::Done(_) if is_last => Step::Settle(WriteOutcome::Done),
            Answer::Done(object) => {
                let is_made =
                    matches!(self.write.about(), About::Pod { .. }) && object["kind"] == "ResourceClaim";
                *(if is_made { &mut self.made } else { &mut self.object }) = Some(object);
                self.reading = Reading::Fresh;
                Step::GoOn
            }
            Answer::Unclear => {
                self.unclear = true;
                self.again()
            }
            // Only the object can tell what became of a call that had no answer.
            Answer::Refused(Refused::Conflict(_)) if self.unclear || self.conflicts < CONFLICTS_MAX => {
                self.conflicts += 1;
                self.reading = Reading::Due;
                Step::Repeat(5 << self.conflicts.min(7))
            }
            Answer::Refused(Refused::Busy) if self.unclear || self.tries < self.tries_max => self.again(),
            Answer::Refused(why @ (Refused::Conflict(_) | Refused::Busy)) => failed(&why),
            Answer::Refused(why @ (Refused::NotFound | Refused::Invalid(_))) => failed(&why),
        }
    }

    fn again(&mut self) -> Step {
        self.tries += 1;
        self.reading = Reading::Due;
        Step::Repeat(200 * i64::from(self.tries.min(10)))
    }
}

/// A call in a few words.
pub(crate) fn told(call: &ApiCall) -> String {
    let part = call.subresource.map(|part| format!("/{part}")).unwrap_or_default();
    format!("{:?} {}{part} {}", call.verb, call.kind, call.name)
}

fn names(consumers: &[Consumer]) -> String {
    consumers.iter().map(|consumer| &*consumer.name).collect::<Vec<_>>().join(", ")
}

/// A write in a few words.
pub(crate) fn shown(write: &Write) -> String {
    match write {
        Write::Allocate { claim, allocation, consumers, .. } => {
            let devices: Vec<String> =
                allocation.grants.iter().map(|grant| grant.device.to_string()).collect();
            format!("allocate {claim} for {}: {}", names(consumers), devices.join(", "))
        }
        Write::Reserve { claim, consumers, .. } => format!("reserve {claim} for {}", names(consumers)),
        Write::Release { claim, consumers, .. } => format!("release {claim} from {}", names(consumers)),
        Write::Bind { pod, node, .. } => format!("bind {pod} to {node}"),
        other => format!("{other:?}"),
    }
}
