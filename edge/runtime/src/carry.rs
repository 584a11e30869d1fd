//! Carries out one write of the engine on an API server: makes the calls, the readings and the pauses that its protocol asks for.
//!
//! Invariant: nothing is decided here. What an answer means for the write is said in [`protocol`] alone.

use std::sync::Arc;

use client::{Answer, Clock, Connection, Patch, Request, Resource, Verb};
use objects::Object as _;
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use scheduler::write::Write;
use scheduling::protocol::{CallOutcome, Delivery, DeliveryAction, Heard, Object, ObjectRef, Settled};
use scheduling::request::{self, ApiCall};
use tokio::time::sleep;

/// Carries a write out, until it is done or cannot be done.
pub(crate) async fn carry_out(
    connection: Connection,
    mut delivery: Delivery,
    clock: Clock,
) -> (Write, Settled) {
    let mut heard = Heard::Begun;
    loop {
        heard = match delivery.step(heard, clock.now()) {
            DeliveryAction::Call(call) => Heard::Answer(perform(&connection, &call).await),
            DeliveryAction::Read(which) => Heard::Answer(read(&connection, &which).await),
            DeliveryAction::Pause(time) => {
                sleep(time).await;
                Heard::Rested
            }
            DeliveryAction::Settled(settled) => return (delivery.into_write(), *settled),
        };
    }
}

async fn perform(connection: &Connection, call: &ApiCall) -> CallOutcome {
    let answer = match call.kind {
        ResourceClaim::KIND => send::<ResourceClaim>(connection, "resourceclaims", call).await,
        Pod::KIND => send::<Pod>(connection, "pods", call).await,
        PodGroup::KIND => send::<PodGroup>(connection, "podgroups", call).await,
        PodSchedulingContext::KIND => {
            send::<PodSchedulingContext>(connection, "podschedulingcontexts", call).await
        }
        PersistentVolume::KIND => send::<PersistentVolume>(connection, "persistentvolumes", call).await,
        PersistentVolumeClaim::KIND => {
            send::<PersistentVolumeClaim>(connection, "persistentvolumeclaims", call).await
        }
        other => return CallOutcome::Refused(format!("objects of kind {other} cannot be written")),
    };
    match answer {
        Answer::Done(_) if !call.gives_object() => CallOutcome::Done(None),
        Answer::Done(body) => match Object::decode(call.kind, &body) {
            Ok(object) => CallOutcome::Done(Some(object)),
            Err(why) => CallOutcome::Unreadable(why),
        },
        other => trouble(&other),
    }
}

async fn read(connection: &Connection, which: &ObjectRef) -> CallOutcome {
    let (_, namespace, name) = which.named();
    match which {
        ObjectRef::Claim(_) => get(connection, "resourceclaims", namespace, &name, Object::Claim).await,
        ObjectRef::Pod(_) => get(connection, "pods", namespace, &name, Object::Pod).await,
        ObjectRef::Group(_) => get(connection, "podgroups", namespace, &name, Object::Group).await,
        ObjectRef::Context(_) => {
            get(connection, "podschedulingcontexts", namespace, &name, Object::Context).await
        }
        ObjectRef::Volume(_) => get(connection, "persistentvolumes", namespace, &name, Object::Volume).await,
        ObjectRef::VolumeClaim(_) => {
            get(connection, "persistentvolumeclaims", namespace, &name, Object::VolumeClaim).await
        }
    }
}

async fn get<K: objects::Object>(
    connection: &Connection,
    plural: &'static str,
    namespace: &str,
    name: &str,
    object: fn(Arc<K>) -> Object,
) -> CallOutcome {
    match connection.get(&Resource::<K>::named(plural).within(namespace), name).await {
        Answer::Done(found) => CallOutcome::Done(Some(object(Arc::new(found)))),
        other => trouble(&other),
    }
}

/// What an answer that is no success means for whoever asked.
fn trouble<T>(answer: &Answer<T>) -> CallOutcome {
    let (why, retry_after) = (answer.trouble().unwrap_or_default(), answer.retry_after());
    match answer {
        Answer::Conflict(_) | Answer::AlreadyExists(_) => CallOutcome::Conflict(why),
        Answer::NotFound(_) => CallOutcome::NotFound(why),
        Answer::Unavailable(unavailable) if unavailable.may_have_happened() => {
            CallOutcome::Lost { why, retry_after }
        }
        Answer::TooManyRequests { .. } | Answer::Unavailable(_) => CallOutcome::Busy { why, retry_after },
        Answer::Done(_) | Answer::Gone(_) | Answer::Invalid(_) | Answer::Forbidden(_) => {
            CallOutcome::Refused(why)
        }
    }
}

async fn send<K: objects::Object>(
    connection: &Connection,
    plural: &'static str,
    call: &ApiCall,
) -> Answer<bytes::Bytes> {
    let verb = match call.verb {
        request::Verb::Create => Verb::Create,
        request::Verb::Update => Verb::Update,
        request::Verb::Patch => Verb::Patch(Patch::Strategic),
        request::Verb::Delete => Verb::Delete,
    };
    let request = Request { verb, name: &call.name, subresource: call.subresource };
    connection.request(&Resource::<K>::named(plural).within(&call.namespace), &request, &call.body).await
}
