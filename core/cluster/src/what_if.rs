//! Facts as they would be told if something happened that did not: a pod ends, a node is added, there are more devices.
//!
//! Invariant: nothing is changed here. What is told is what an API server would tell, so an engine on a copy of the facts can hear it
//! like any other fact.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::claim::ClaimId;
use model::device::{Device, DeviceId, Reach, Slice};
use model::identity::NodeName;
use model::node::Node;
use model::pod::Pod;

use crate::claims::ClaimState;
use crate::facts::Facts;
use crate::published::Published;

/// The label that tells nodes apart.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// The claims of a pod, with that which was made for the resources that it asks for by name.
#[must_use]
pub fn claims_of(facts: &Facts, pod: &Pod) -> Vec<ClaimId> {
    pod.claim_ids().chain(facts.made_for(&pod.uid).cloned()).collect()
}

/// A claim that gave its devices back.
#[must_use]
pub fn without_devices(state: &ClaimState) -> ClaimState {
    ClaimState { allocation: None, preparation: None, reserved_for: Vec::new(), ..state.clone() }
}

/// The claims of a pod as they are once it ended: those that it alone uses give their devices back. `is_being_reserved` says of a claim
/// whether it is about to be reserved for another pod.
pub fn claims_after(
    facts: &Facts,
    pod: &Pod,
    is_being_reserved: &dyn Fn(&ClaimId) -> bool,
) -> Vec<ClaimState> {
    let after = |id: ClaimId| {
        let known = facts.claims.get(&id)?;
        if facts.has_other_users(&id, &pod.uid) || is_being_reserved(&id) {
            let mut state = ClaimState::clone(known);
            state.reserved_for.retain(|user| !user.is(&pod.uid));
            Some(state)
        } else {
            Some(without_devices(known))
        }
    };
    claims_of(facts, pod).into_iter().filter_map(after).collect()
}

/// The name of a node that is like another and not there yet.
#[must_use]
pub fn free_name(facts: &Facts, like: &NodeName) -> NodeName {
    let free = (1..).map(|number| NodeName::from(format!("{like}-new-{number}")));
    let mut free = free.filter(|name| facts.nodes.find(name).is_none());
    free.next().expect("there are more numbers than nodes")
}

/// A node like one that is there, with devices like those of that one. Nothing if it is not there.
#[must_use]
pub fn node_like(facts: &Facts, like: &NodeName, name: &NodeName) -> Option<(Node, Vec<Arc<Published>>)> {
    let known = facts.nodes.find(like).and_then(|at| facts.nodes.get(at).node.clone())?;
    let mut node = Arc::unwrap_or_clone(known);
    node.name = name.clone();
    if node.labels.contains_key(HOSTNAME) {
        node.labels.insert(HOSTNAME.into(), (**name).into());
    }
    let mut pools = BTreeMap::new();
    let own = facts.slices.of_node(like).map(|published| {
        let mut slice = published.slice.clone();
        slice.reach = Reach::Node(name.clone());
        slice.name = format!("{}-of-{name}", slice.name).into();
        let of_pool = || -> Arc<str> { format!("{}-of-{name}", slice.pool.pool).into() };
        slice.pool.pool = pools.entry(slice.pool.clone()).or_insert_with(of_pool).clone();
        renewed(published, slice)
    });
    Some((node, own.collect()))
}

/// The slice of a device with more devices like it. Nothing if the device is not there.
#[must_use]
pub fn more_devices(facts: &Facts, like: &DeviceId, count: usize) -> Option<Arc<Published>> {
    let pool = like.pool_id();
    let has_it =
        |published: &&Arc<Published>| published.slice.devices.iter().any(|device| device.name == like.device);
    let published = facts.slices.of_pool(&pool).find(has_it)?;
    let mut slice = published.slice.clone();
    let device = slice.devices.iter().find(|one| one.name == like.device).cloned()?;
    slice.devices.extend((1..=count).map(|number| fresh(&device, number)));
    Some(renewed(published, slice))
}

/// Another device of the kind of one. What is wrong with that one is not wrong with another.
#[must_use]
pub fn fresh(device: &Device, number: usize) -> Device {
    Device { name: fresh_name(&device.name, number), taints: Vec::new(), ..device.clone() }
}

/// The name of another thing of the kind of one.
#[must_use]
pub fn fresh_name(name: &str, number: usize) -> Arc<str> {
    format!("{name}-new-{number}").into()
}

/// A slice with other content than the one that it is made of.
#[must_use]
pub fn renewed(published: &Published, slice: Slice) -> Arc<Published> {
    let mut revision = published.revision;
    // Names of slices tell their states apart where one is made of another; nothing else has odd high bits like these.
    let names = slice.devices.last().into_iter().flat_map(|device| device.name.bytes());
    let salt =
        slice.name.bytes().chain(names).fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    revision.slice ^= salt;
    revision.revision = revision.revision.wrapping_add(slice.devices.len() as u64) | 1 << 63;
    Arc::new(Published::new(slice, revision))
}
