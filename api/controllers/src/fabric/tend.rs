//! Entries of the ledger, one by one: what is written down is carried out, what nobody needs is given up.
//!
//! Invariant: a device that we did not attach, that somebody uses or may use, or that was attached for somebody who may still come for
//! it, is not detached.

use std::collections::{BTreeMap, BTreeSet};

use objects::resource::class::{DeviceTaintRule, DeviceTaintSelector};
use objects::resource::slice::DeviceTaint;
use objects::supercargo::device_attachment::DeviceAttachment;

use super::ledger::{self, Origin, Phase, origin, phase};
use super::names::{FABRIC_LABEL, GUARDED};
use super::report::{Reason, Reports, no_identity};
use super::scene::{Reported, Scene, Seen, Want};
use super::{FabricAction, FabricDecision, HandOver};

/// Looks after what is written down, and writes down what is found.
pub(super) fn tend(scene: &Scene<'_>, decision: &mut FabricDecision, reports: &mut Reports) {
    for entry in scene.entries.values() {
        match phase(entry) {
            Phase::Attaching => attaching(scene, entry, decision),
            Phase::Attached => attached(scene, entry, decision, reports),
            Phase::Detaching => detaching(scene, entry, decision),
            Phase::Resting => resting(scene, entry, decision, reports),
        }
    }
    find(scene, decision);
    unguard(scene, decision);
}

fn record(decision: &mut FabricDecision, entry: DeviceAttachment) {
    decision.actions.push(FabricAction::Record(Box::new(entry)));
}

/// Records an entry if it is another than the one that is written.
fn change(decision: &mut FabricDecision, old: &DeviceAttachment, new: DeviceAttachment) {
    if new != *old {
        record(decision, new);
    }
}

fn attaching(scene: &Scene<'_>, entry: &DeviceAttachment, decision: &mut FabricDecision) {
    let (now, own) = (scene.now, entry.clone());
    let why = match scene.place_of(entry) {
        Seen::There => return record(decision, ledger::attached(own, now)),
        // Nobody had begun, or it would be there: then it is not begun for nobody, or in vain, either.
        Seen::Free if is_deserted(scene, entry) || is_refused(scene, entry) => {
            return decision.actions.push(FabricAction::Forget(Box::new(own)));
        }
        Seen::Free | Seen::NotYet => return decision.actions.push(FabricAction::Attach(Box::new(own))),
        Seen::Elsewhere(place) => format!("it is attached to host {}", place.host),
        Seen::Broken => "the device is not healthy".to_owned(),
        Seen::Gone => "the fabric no longer has the device".to_owned(),
    };
    record(decision, ledger::failed(own, &why, now, scene.options));
}

/// The device would not be handed over where it is to be attached.
fn is_refused(scene: &Scene<'_>, entry: &DeviceAttachment) -> bool {
    let is_in_place = |want: &Want<'_>| want.hand_over == HandOver::InPlace;
    scene.lacks_identity(&entry.spec.node) && scene.want_of(entry).is_some_and(is_in_place)
}

/// Nobody waits for the device any more, and nobody will come back for it.
fn is_deserted(scene: &Scene<'_>, entry: &DeviceAttachment) -> bool {
    let Some(claim) = &entry.spec.claim else { return true };
    let is_there = scene.claims.contains_key(claim.uid.as_str());
    scene.want_of(entry).is_none() && !(is_there && is_re_picked(scene, entry))
}

/// Whether the pod takes the device from its node's driver.
fn is_re_picked(scene: &Scene<'_>, entry: &DeviceAttachment) -> bool {
    let hand_over = scene.want_of(entry).map(|want| want.hand_over);
    let hand_over = hand_over.unwrap_or_else(|| scene.options.hand_over_of(&entry.spec.model));
    let is_reserved = phase(entry) == Phase::Attached && entry.status.retry_at.is_some();
    hand_over == HandOver::RePick || is_reserved
}

fn attached(
    scene: &Scene<'_>,
    entry: &DeviceAttachment,
    decision: &mut FabricDecision,
    reports: &mut Reports,
) {
    match scene.place_of(entry) {
        Seen::There | Seen::NotYet => {}
        seen => return lost(scene, entry, seen, decision, reports),
    }
    if origin(entry) == Origin::Found {
        return found(scene, entry, decision);
    }
    if let Some(want) = scene.want_of(entry).filter(|want| want.hand_over == HandOver::InPlace) {
        if want.is_pending() {
            // Drivers publish what they find, and this one began only after the device was chosen.
            if scene.lacks_identity(&entry.spec.node) {
                let why = no_identity(scene, &entry.spec.node);
                return reports.failed(scene, want, Reason::NoIdentity, why);
            }
            reports.ready(scene, want, &entry.spec.unit);
        }
        // A driver that publishes it all the same would have it given away twice.
        return decision.actions.extend(guard(scene, entry));
    }
    if scene.user_of_local(&entry.spec.unit).is_some() {
        // Whoever it was attached for has it now, or somebody was faster; either way it waits for nobody.
        if entry.spec.claim.is_some() || entry.status.idle_since.is_some() {
            record(decision, ledger::taken(entry.clone(), scene.now));
        }
        return;
    }
    match &entry.spec.claim {
        None => idle(scene, entry, decision),
        Some(claim) if !scene.claims.contains_key(claim.uid.as_str()) => {
            record(decision, ledger::released(entry.clone(), scene.now));
        }
        Some(_) if is_re_picked(scene, entry) => reserved(scene, entry, decision, reports),
        Some(_) => record(decision, ledger::released(entry.clone(), scene.now)),
    }
}

/// Another attached it. Nothing is done about it, but a claim that we told that it has the device is kept in mind as long as it does.
fn found(scene: &Scene<'_>, entry: &DeviceAttachment, decision: &mut FabricDecision) {
    let has_it = |want: &&Want<'_>| {
        want.reported == Reported::Attached && want.unit.as_deref() == Some(entry.spec.unit.as_str())
    };
    if scene.want_of(entry).filter(has_it).is_some() {
        return decision.actions.extend(guard(scene, entry));
    }
    if scene.hosts.get(entry.spec.node.as_str()) != Some(&entry.spec.host.as_str()) {
        return decision.actions.push(FabricAction::Forget(Box::new(entry.clone())));
    }
    change(decision, entry, ledger::observed(entry.clone(), scene.now));
}

/// A device that was attached is where it was no more; somebody else did that.
fn lost(
    scene: &Scene<'_>,
    entry: &DeviceAttachment,
    seen: Seen<'_>,
    decision: &mut FabricDecision,
    reports: &mut Reports,
) {
    match scene.want_of(entry) {
        Some(want) if want.is_pending() && seen == Seen::Free => {
            record(decision, ledger::attaching(entry.clone(), scene.now));
        }
        Some(want) if want.reported != Reported::Failed => {
            let message = "another client detached the device from the node".to_owned();
            reports.failed(scene, want, Reason::DeviceLost, message);
        }
        Some(_) => {}
        None => decision.actions.push(FabricAction::Forget(Box::new(entry.clone()))),
    }
}

/// Nobody uses it, as far as one can tell.
fn idle(scene: &Scene<'_>, entry: &DeviceAttachment, decision: &mut FabricDecision) {
    if let Some(why) = doubt(scene, entry) {
        return change(decision, entry, ledger::withheld(entry.clone(), &why, scene.now));
    }
    let Some(since) = entry.status.idle_since else {
        return record(decision, ledger::released(entry.clone(), scene.now));
    };
    let until = since.0.plus_millis(scene.options.idle_after_ms);
    if scene.now < until {
        return decision.at(until);
    }
    let is_published = scene.local.contains_key(entry.spec.unit.as_str());
    let guard_ms = if is_published { scene.options.guard_ms } else { 0 };
    record(decision, ledger::detaching(entry.clone(), scene.now.plus_millis(guard_ms), scene.now));
}

/// Why it cannot be told whether a device is in use, if so.
fn doubt(scene: &Scene<'_>, entry: &DeviceAttachment) -> Option<String> {
    let node = entry.spec.node.as_str();
    scene.lacks_identity(node).then(|| {
        format!(
            "{}, so the device may be in use and is neither offered nor detached; hint: have the driver publish the \
             attribute, or name the one that it publishes with --unit-attribute",
            scene.namelessness(node)
        )
    })
}

/// It waits for the pod that it was attached for.
fn reserved(
    scene: &Scene<'_>,
    entry: &DeviceAttachment,
    decision: &mut FabricDecision,
    reports: &mut Reports,
) {
    let want = scene.want_of(entry);
    let is_published = scene.local.contains_key(entry.spec.unit.as_str());
    let Some(until) = entry.status.retry_at else {
        // A pod that is sent round before its node publishes the device would only be given another one.
        if is_published || want.is_none() {
            let until = scene.now.plus_millis(scene.options.reserved_ms);
            record(decision, ledger::reserved(entry.clone(), until));
        }
        return;
    };
    match want {
        Some(want) if want.is_pending() => {
            if is_published && all_wait_for_their_pod(scene, want) {
                let node = &entry.spec.node;
                let message = format!(
                    "attached to node {node}; allocate it from the driver of the node, which publishes it"
                );
                reports.failed(scene, want, Reason::AttachedToNode, message);
            }
        }
        Some(_) => {}
        None => {
            let claim = entry.spec.claim.as_ref().map_or("", |claim| claim.uid.as_str());
            let has_devices = scene.claims.get(claim).copied().unwrap_or(false);
            let wants_more = scene.wants_of(claim).next().is_some();
            if scene.now >= until.0 || (has_devices && !wants_more) {
                record(decision, ledger::released(entry.clone(), scene.now));
            } else {
                decision.at(until.0);
            }
        }
    }
}

/// All devices of a claim are sent round at once: a pod that comes for the first would be given others for the rest.
fn all_wait_for_their_pod(scene: &Scene<'_>, want: &Want<'_>) -> bool {
    let mut others = scene.wants_of(&want.claim.metadata.uid).filter(|other| other.is_pending());
    others.all(|other| {
        let entry = scene.entry_of(other);
        entry.is_some_and(|entry| {
            let is_published = scene.local.contains_key(entry.spec.unit.as_str());
            phase(entry) == Phase::Attached && (other.hand_over == HandOver::InPlace || is_published)
        })
    })
}

fn detaching(scene: &Scene<'_>, entry: &DeviceAttachment, decision: &mut FabricDecision) {
    if !matches!(scene.place_of(entry), Seen::There | Seen::NotYet) {
        return decision.actions.push(FabricAction::Forget(Box::new(entry.clone())));
    }
    if scene.user_of_local(&entry.spec.unit).is_some() {
        return record(decision, ledger::taken(entry.clone(), scene.now));
    }
    if origin(entry) == Origin::Found {
        return record(decision, ledger::observed(entry.clone(), scene.now));
    }
    if let Some(why) = doubt(scene, entry) {
        return record(decision, ledger::withheld(entry.clone(), &why, scene.now));
    }
    if let Some(action) = guard(scene, entry) {
        return decision.actions.push(action);
    }
    match entry.status.retry_at {
        Some(from) if scene.now < from.0 => decision.at(from.0),
        _ => decision.actions.push(FabricAction::Detach(Box::new(entry.clone()))),
    }
}

/// Keeps everybody from a device that its node publishes, if nothing does so already.
fn guard(scene: &Scene<'_>, entry: &DeviceAttachment) -> Option<FabricAction> {
    let local = scene.local.get(entry.spec.unit.as_str())?;
    if !scene.serves_guards() {
        return None;
    }
    if scene.guards.contains(entry.metadata.name.as_str()) {
        return None;
    }
    let mut rule = DeviceTaintRule::default();
    rule.metadata.name.clone_from(&entry.metadata.name);
    rule.metadata.labels.insert(FABRIC_LABEL.to_owned(), scene.options.fabric.clone());
    rule.spec.device_selector = Some(DeviceTaintSelector {
        device: Some(local.device.to_owned()),
        driver: Some(scene.options.driver.clone()),
        pool: Some(local.pool.to_owned()),
        ..DeviceTaintSelector::default()
    });
    let (effect, key) = ("NoSchedule".to_owned(), GUARDED.to_owned());
    rule.spec.taint = DeviceTaint { effect, key, ..DeviceTaint::default() };
    Some(FabricAction::Guard(Box::new(rule)))
}

fn resting(
    scene: &Scene<'_>,
    entry: &DeviceAttachment,
    decision: &mut FabricDecision,
    reports: &mut Reports,
) {
    let want = scene.want_of(entry).filter(|want| want.is_pending());
    let until = entry.status.retry_at.map_or(scene.now, |until| until.0);
    let seen = scene.place_of(entry);
    match (seen, want) {
        (Seen::There, _) if origin(entry) == Origin::Found => {
            record(decision, ledger::observed(entry.clone(), scene.now));
        }
        // It came late, but it came.
        (Seen::There, Some(_)) => record(decision, ledger::attached(entry.clone(), scene.now)),
        (Seen::There, None) => {
            record(decision, ledger::released(ledger::attached(entry.clone(), scene.now), scene.now));
        }
        (_, Some(want)) => {
            let message =
                format!("cannot attach a device to node {}: {}", entry.spec.node, entry.status.message);
            reports.failed(scene, want, Reason::AttachFailed, message);
        }
        (Seen::Free | Seen::NotYet, None) => {
            // How often it failed is remembered for a while, because the next time it rests longer.
            let forget_at = until.plus_millis(scene.options.rest_max_ms);
            if scene.now >= forget_at {
                decision.actions.push(FabricAction::Forget(Box::new(entry.clone())));
            } else {
                decision.at(if scene.now < until { until } else { forget_at });
            }
        }
        (Seen::Elsewhere(_) | Seen::Broken | Seen::Gone, None) => {
            decision.actions.push(FabricAction::Forget(Box::new(entry.clone())));
        }
    }
}

/// Devices that are attached to our nodes and that nobody wrote down. We did not attach them, or the ledger was lost; then claims that
/// were told that they have one have it still.
fn find(scene: &Scene<'_>, decision: &mut FabricDecision) {
    let nodes: BTreeMap<&str, &str> = scene.hosts.iter().map(|(node, host)| (*host, *node)).rev().collect();
    let has = scene.wants.iter().filter(|want| want.reported == Reported::Attached);
    let told: BTreeMap<&str, &Want<'_>> =
        has.filter_map(|want| Some((want.unit.as_deref()?, want))).rev().collect();
    for (name, unit) in &scene.inventory.units {
        let Some(place) = unit.attached.as_ref().filter(|_| !scene.entries.contains_key(name.as_str()))
        else {
            continue;
        };
        let Some(node) = nodes.get(place.host.as_str()) else { continue };
        let told = told.get(name.as_str()).filter(|want| want.node == Some(node));
        let claim = told.map(|want| want.noted());
        let entry = ledger::entered(scene.options, name, &unit.model, node, place.clone(), claim);
        record(decision, ledger::found(entry, scene.now));
    }
}

/// Rules go when what they guard is detached and published no more, or is to stay after all.
fn unguard(scene: &Scene<'_>, decision: &mut FabricDecision) {
    let entries: BTreeMap<&str, &DeviceAttachment> =
        scene.entries.values().map(|entry| (entry.metadata.name.as_str(), *entry)).collect();
    let published: BTreeSet<(&str, &str)> =
        scene.local.values().map(|local| (local.pool, local.device)).collect();
    for rule in scene.view.guards.into_iter().flatten() {
        if rule.metadata.labels.get(FABRIC_LABEL) != Some(&scene.options.fabric) {
            continue;
        }
        let entry = entries.get(rule.metadata.name.as_str());
        let selector = rule.spec.device_selector.as_ref();
        let named = selector.and_then(|one| Some((one.pool.as_deref()?, one.device.as_deref()?)));
        let is_published = named.is_some_and(|named| published.contains(&named));
        let is_in_place = |entry: &DeviceAttachment| {
            scene.want_of(entry).is_some_and(|want| want.hand_over == HandOver::InPlace)
        };
        let is_needed =
            entry.map_or(is_published, |entry| phase(entry) == Phase::Detaching || is_in_place(entry));
        if !is_needed {
            decision.actions.push(FabricAction::Unguard(Box::new((*rule).clone())));
        }
    }
}
