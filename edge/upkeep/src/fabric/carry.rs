//! Actions, carried out: each is one call of the API or of the fabric, or one of the fabric and the note of what came of it.

use std::sync::Arc;

use client::{Answer, Report, Resource};
use controllers::fabric::inventory::Place;
use controllers::fabric::ledger::{Origin, Phase};
use controllers::fabric::names::{ATTACH_FAILED, WITHHELD};
use controllers::fabric::{FabricAction, Warning, ledger};
use objects::Object;
use objects::core::event::ObjectReference;
use objects::core::node::Node;
use objects::meta::{Condition, DeleteOptions, Preconditions};
use objects::resource::claim::ResourceClaim;
use objects::supercargo::device_attachment::DeviceAttachment;
use parking_lot::Mutex;

use super::sight::Sight;
use super::{Site, whole};
use crate::controller::{Done, Tools, Undone, done};
use crate::kinds::{Followed, resource};

/// Reasons of events.
const ATTACHED: &str = "FabricDeviceAttached";
const FAILED: &str = "FabricDeviceFailed";
const DETACHED: &str = "FabricDeviceDetached";
const REFUSED: &str = "FabricHandOverRefused";

/// Takes an action.
pub(super) async fn carry(
    site: Site,
    sight: Arc<Mutex<Sight>>,
    tools: Tools,
    action: FabricAction,
) -> Result<Done, Undone> {
    match action {
        FabricAction::Publish(slice) => {
            if let Some(why) = slice.metadata.annotations.get(WITHHELD) {
                (site.tell)(&format!("cannot publish devices in {}: {why}", slice.spec.pool.name));
            }
            write(&tools, &*slice).await
        }
        FabricAction::Record(entry) => {
            let written = write(&tools, &*entry).await?;
            if entry.metadata.resource_version.is_empty() && ledger::origin(&entry) == Origin::Found {
                let (unit, node) = (&entry.spec.unit, &entry.spec.node);
                (site.tell)(&format!("{unit} is attached to node {node} by another client; ignoring it"));
            }
            Ok(written)
        }
        FabricAction::Assign(entry) => {
            let written = write(&tools, &*entry).await?;
            let (unit, node, claim) = (&entry.spec.unit, &entry.spec.node, claim_of(&entry));
            (site.tell)(&match ledger::phase(&entry) {
                Phase::Attached => {
                    format!("{claim} uses {unit}, which is already attached to node {node}")
                }
                _ => format!("{claim} waits until {unit} is attached to node {node}"),
            });
            Ok(written)
        }
        FabricAction::Guard(rule) => write(&tools, &*rule).await,
        FabricAction::Withdraw(slice) => delete(&tools, &*slice).await,
        FabricAction::Forget(entry) => delete(&tools, &*entry).await,
        FabricAction::Unguard(rule) => delete(&tools, &*rule).await,
        FabricAction::Report(claim) => {
            let claims = resource::<ResourceClaim>(&claim.metadata.namespace);
            let mut told = Done::default();
            told.learn(done(tools.connection.update_status(&claims, &claim).await)?);
            (site.tell)(&outcome(&claim));
            if let Some(failed) = failure(&claim) {
                let note =
                    format!("a device of the fabric cannot be used: {}: {}", failed.reason, failed.message);
                say(&tools, client::reference(&*claim), FAILED, note);
            }
            Ok(told)
        }
        FabricAction::Attach(entry) => attach(&site, &sight, &tools, *entry).await,
        FabricAction::Detach(entry) => detach(&site, &sight, &tools, *entry).await,
    }
}

async fn attach(
    site: &Site,
    sight: &Mutex<Sight>,
    tools: &Tools,
    entry: DeviceAttachment,
) -> Result<Done, Undone> {
    let place = Place { host: entry.spec.host.clone(), port: entry.spec.port.clone() };
    let came = site.fabric.attach(&entry.spec.unit, &place).await;
    sight.lock().act();
    let (unit, node) = (entry.spec.unit.clone(), entry.spec.node.clone());
    let now = tools.clock.now();
    let next = match came {
        Ok(()) => {
            (site.tell)(&format!("attached {unit} to node {node} for {}", claim_of(&entry)));
            if let Some(claim) = reference(&entry) {
                say(tools, claim, ATTACHED, format!("attached device {unit} of the fabric to node {node}"));
            }
            ledger::attached(entry, now)
        }
        Err(trouble) => {
            (site.tell)(&format!("cannot attach {unit} to node {node}: {trouble}"));
            let failed = if trouble.is_final() { ledger::refused } else { ledger::failed };
            failed(entry, &trouble.to_string(), now, &site.options)
        }
    };
    again(write(tools, &next).await)
}

async fn detach(
    site: &Site,
    sight: &Mutex<Sight>,
    tools: &Tools,
    entry: DeviceAttachment,
) -> Result<Done, Undone> {
    let came = site.fabric.detach(&entry.spec.unit, &entry.spec.host).await;
    sight.lock().act();
    let (unit, node) = (entry.spec.unit.clone(), entry.spec.node.clone());
    match came {
        Ok(()) => {
            (site.tell)(&format!("detached unused {unit} from node {node}"));
            // The claims that used it are gone or have others by now, so the node tells it.
            say(tools, node_of(&node), DETACHED, format!("detached unused device {unit} of the fabric"));
            again(delete(tools, &entry).await)
        }
        Err(trouble) => {
            (site.tell)(&format!("cannot detach {unit} from node {node}: {trouble}"));
            again(
                write(tools, &ledger::failed(entry, &trouble.to_string(), tools.clock.now(), &site.options))
                    .await,
            )
        }
    }
}

/// Says what keeps a node from having devices.
pub(super) fn warn(site: &Site, tools: &Tools, warning: &Warning) {
    (site.tell)(&warning.why);
    say(tools, node_of(&warning.node), REFUSED, warning.why.clone());
}

/// A node, as events name it.
fn node_of(name: &str) -> ObjectReference {
    ObjectReference {
        api_version: Node::API_VERSION.to_owned(),
        kind: Node::KIND.to_owned(),
        // As those of kubelets, so that they are found by the name.
        uid: name.to_owned(),
        name: name.to_owned(),
        ..ObjectReference::default()
    }
}

/// Has an event written. What went wrong is a warning.
fn say(tools: &Tools, regarding: ObjectReference, reason: &'static str, note: String) {
    tools.recorder.record(Report {
        controller: "fabric-controller".to_owned(),
        regarding,
        related: None,
        reason,
        action: reason,
        is_warning: reason == FAILED || reason == REFUSED,
        is_once: false,
        note,
    });
}

/// The claim that a device is attached for, as events name it.
fn reference(entry: &DeviceAttachment) -> Option<ObjectReference> {
    let claim = entry.spec.claim.as_ref()?;
    Some(ObjectReference {
        api_version: ResourceClaim::API_VERSION.to_owned(),
        kind: ResourceClaim::KIND.to_owned(),
        namespace: claim.namespace.clone(),
        name: claim.name.clone(),
        uid: claim.uid.clone(),
        ..ObjectReference::default()
    })
}

/// The claim that a device is attached for, in words.
fn claim_of(entry: &DeviceAttachment) -> String {
    let claim = entry.spec.claim.as_ref();
    claim.map_or_else(|| "nobody".to_owned(), |claim| format!("claim {}/{}", claim.namespace, claim.name))
}

/// What a claim was told, in words.
fn outcome(claim: &ResourceClaim) -> String {
    let name = format!("claim {}/{}", claim.metadata.namespace, claim.metadata.name);
    match failure(claim) {
        Some(failed) => format!("{name} is rescheduled: {}: {}", failed.reason, failed.message),
        None => format!("{name} is ready to be used"),
    }
}

/// The failure that a claim is told of, if it is.
fn failure(claim: &ResourceClaim) -> Option<&Condition> {
    let mut conditions = claim.status.devices.iter().flat_map(|device| &device.conditions);
    conditions.find(|one| one.type_ == ATTACH_FAILED && one.status == "True")
}

/// Whatever came of it, the fabric is looked at at once.
fn again(came: Result<Done, Undone>) -> Result<Done, Undone> {
    let mut done = came.unwrap_or_else(|undone| Done { trouble: Some(undone), ..Done::default() });
    done.besides.push(whole());
    Ok(done)
}

/// Creates an object, or replaces it if it has a version.
async fn write<K: Followed>(tools: &Tools, object: &K) -> Result<Done, Undone> {
    let kind: Resource<K> = resource::<K>(&object.metadata().namespace);
    let answer = if object.metadata().resource_version.is_empty() {
        tools.connection.create(&kind, object).await
    } else {
        tools.connection.update(&kind, object).await
    };
    let mut written = Done::default();
    written.learn(done(answer)?);
    Ok(written)
}

/// Deletes an object, if it is still what it was.
async fn delete<K: Followed>(tools: &Tools, object: &K) -> Result<Done, Undone> {
    let metadata = object.metadata();
    let preconditions = Preconditions {
        uid: Some(metadata.uid.clone()),
        resource_version: Some(metadata.resource_version.clone()),
        ..Preconditions::default()
    };
    let options = DeleteOptions { preconditions: Some(preconditions), ..DeleteOptions::default() };
    match tools.connection.delete(&resource::<K>(&metadata.namespace), &metadata.name, &options).await {
        Answer::NotFound(_) => Ok(Done::default()),
        answer => done(answer).map(|_| Done::default()),
    }
}
