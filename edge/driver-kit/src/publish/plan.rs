//! What to write so that the server has a pool as it is wanted.
//!
//! Invariant: the writes of one plan can be carried out in any order, all at once or only some of them, and a reader of the
//! API never sees a whole pool that nobody asked for. A reader takes a pool as whole when it sees as many slices of the
//! newest generation as they themselves say. So the generation stays the same only if every state on the way is the old
//! pool, the new one, or visibly not whole; otherwise it is raised, and every slice is written.

use std::collections::BTreeMap;

use objects::meta::OwnerReference;
use objects::resource::slice::{Device, ResourcePool, ResourceSlice, ResourceSliceSpec};
use objects::supercargo::annotations::BINDING_TIMEOUTS;

use crate::publish::difference::{Added, Difference, between};
use crate::publish::layout::{Part, Present, cut};
use crate::publish::naming::slice_name;
use crate::publish::pool::{Pool, Reach, Scope};

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SliceWrite {
    /// Make this slice.
    Create(ResourceSlice),
    /// Replace the slice of this name if it is still of this version.
    Update(ResourceSlice),
    /// Delete this slice if it is still of this version.
    Delete(ResourceSlice),
}

/// Who publishes.
#[derive(Clone, Debug)]
pub(crate) struct Publication {
    pub(crate) driver: String,
    pub(crate) scope: Scope,
    /// The object that slices go with.
    pub(crate) owner: Option<OwnerReference>,
}

/// A slice that the server keeps in another form than it was sent, because a feature is off there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Altered {
    pub(crate) sent: ResourceSliceSpec,
    pub(crate) kept: ResourceSliceSpec,
}

/// Slices that were altered, by name.
pub(crate) type Alterations = BTreeMap<String, Altered>;

impl SliceWrite {
    /// The slice that it is about.
    pub(crate) fn slice(&self) -> &ResourceSlice {
        match self {
            Self::Create(slice) | Self::Update(slice) | Self::Delete(slice) => slice,
        }
    }
}

/// The writes that lead to a pool as it is wanted, or to none, from the slices of that pool that are there.
pub(crate) fn plan(
    publication: &Publication,
    wanted: Option<&Pool>,
    there: &[&ResourceSlice],
    alterations: &Alterations,
) -> Vec<SliceWrite> {
    let newest = there.iter().map(|slice| slice.spec.pool.generation).max();
    let goal = wanted.map_or_else(Vec::new, |pool| slices(publication, pool, there, newest.unwrap_or(1)));
    let there: BTreeMap<&str, &ResourceSlice> =
        there.iter().map(|slice| (&*slice.metadata.name, *slice)).collect();
    let goal = settle_generation(goal, &there, alterations);
    let mut writes = Vec::new();
    for slice in &goal {
        match there.get(&*slice.metadata.name) {
            None => writes.push(SliceWrite::Create(slice.clone())),
            Some(old) => writes.extend(update(slice, old, alterations).map(SliceWrite::Update)),
        }
    }
    let is_goal = |name: &str| goal.iter().any(|slice| slice.metadata.name == name);
    for (name, old) in there {
        // One that is on its way out already only waits for a finalizer.
        if !is_goal(name) && old.metadata.deletion_timestamp.is_none() {
            writes.push(SliceWrite::Delete(old.clone()));
        }
    }
    writes
}

/// The slices of a pool at a generation.
fn slices(
    publication: &Publication,
    pool: &Pool,
    there: &[&ResourceSlice],
    generation: i64,
) -> Vec<ResourceSlice> {
    let Publication { driver, scope, owner } = publication;
    let mut current: Vec<&ResourceSlice> =
        there.iter().copied().filter(|slice| slice.spec.pool.generation == generation).collect();
    current.sort_by_key(|slice| &slice.metadata.name);
    let mut present = Present { count: current.len(), ..Present::default() };
    for (at, slice) in current.iter().enumerate() {
        let names = slice.spec.devices.iter().flatten().map(|device| &*device.name);
        present.homes.extend(names.map(|name| (name, at)));
    }
    let added = Added::of(there.iter().copied());
    let parts = cut(pool, &present);
    let resource_slice_count = i64::try_from(parts.len()).expect("a pool in memory has fewer slices");
    let with_content = |(position, part): (usize, Part)| {
        let mut slice = ResourceSlice::default();
        slice.metadata.name = slice_name(position, driver, &pool.name, scope);
        slice.metadata.owner_references.extend(owner.clone());
        let name = pool.name.clone();
        slice.spec.pool = ResourcePool { generation, name, resource_slice_count, ..ResourcePool::default() };
        slice.spec.driver.clone_from(driver);
        fill(&mut slice.spec, pool, scope, part);
        added.keep(slice.spec.devices.as_deref_mut().unwrap_or_default());
        slice.metadata.annotations.extend(binding_timeouts(&slice.spec));
        slice
    };
    parts.into_iter().enumerate().map(with_content).collect()
}

fn fill(spec: &mut ResourceSliceSpec, pool: &Pool, scope: &Scope, part: Part) {
    match &pool.reach {
        Reach::OwnNode => spec.node_name = scope.node().map(str::to_owned),
        Reach::Nodes(selector) => spec.node_selector = Some(selector.clone()),
        Reach::AllNodes => spec.all_nodes = Some(true),
        Reach::PerDevice => spec.per_device_node_selection = Some(true),
    }
    match part {
        Part::Counters(sets) => spec.shared_counters = Some(sets),
        Part::Devices(devices) => {
            spec.skip_node_operations.clone_from(&pool.skip_node_operations);
            // Only slices with partitions may name the attribute.
            if devices.iter().any(|device| !device.consumes_counters.is_empty()) {
                spec.partition_type_attribute.clone_from(&pool.partition_type_attribute);
            }
            spec.devices = Some(devices);
        }
    }
}

/// The annotation for a field of ours that a real API server does not know.
fn binding_timeouts(spec: &ResourceSliceSpec) -> Option<(String, String)> {
    let timeout = |device: &Device| Some((device.name.clone(), device.binding_timeout.clone()?));
    let timeouts: BTreeMap<String, String> = spec.devices.iter().flatten().filter_map(timeout).collect();
    let text = serde_json::to_string(&timeouts).expect("text can be written as JSON");
    (!timeouts.is_empty()).then(|| (BINDING_TIMEOUTS.to_owned(), text))
}

/// Raises the generation of the goal unless nobody could see half of it.
fn settle_generation(
    mut goal: Vec<ResourceSlice>,
    there: &BTreeMap<&str, &ResourceSlice>,
    alterations: &Alterations,
) -> Vec<ResourceSlice> {
    let Some(generation) = goal.first().map(|slice| slice.spec.pool.generation) else { return goal };
    let (mut missing, mut changed) = (0, 0);
    for slice in &goal {
        match there.get(&*slice.metadata.name) {
            Some(old) if old.spec.pool.generation == generation => {
                changed += usize::from(difference(slice, old, alterations) == Difference::Content);
            }
            _ => missing += 1,
        }
    }
    let is_stranger = |old: &&&ResourceSlice| {
        old.spec.pool.generation == generation
            && goal.iter().all(|slice| slice.metadata.name != old.metadata.name)
    };
    let strangers = there.values().filter(is_stranger).count();
    // While slices are missing the pool is not whole, and when the last one comes everything must be as it is wanted.
    let nobody_sees_half = strangers == 0 && (changed == 0 || (changed == 1 && missing == 0));
    if !nobody_sees_half {
        goal.iter_mut().for_each(|slice| slice.spec.pool.generation = generation.saturating_add(1));
    }
    goal
}

fn difference(slice: &ResourceSlice, old: &ResourceSlice, alterations: &Alterations) -> Difference {
    match alterations.get(&slice.metadata.name) {
        // It was sent as it is wanted, and this is what the server makes of it.
        Some(altered) if altered.sent == slice.spec && altered.kept == old.spec => Difference::None,
        _ => between(&slice.spec, &old.spec),
    }
}

/// The old slice with what must change about it, if anything.
fn update(slice: &ResourceSlice, old: &ResourceSlice, alterations: &Alterations) -> Option<ResourceSlice> {
    let owners = &old.metadata.owner_references;
    let is_owned = slice.metadata.owner_references.iter().all(|owner| owners.contains(owner));
    let is_same = difference(slice, old, alterations) == Difference::None
        && slice.spec.pool.generation == old.spec.pool.generation;
    let (old_timeouts, timeouts) =
        (old.metadata.annotations.get(BINDING_TIMEOUTS), slice.metadata.annotations.get(BINDING_TIMEOUTS));
    if is_same && is_owned && old_timeouts == timeouts {
        return None;
    }
    let mut metadata = old.metadata.clone();
    if !is_owned {
        // A node that came back has another uid, and the old one would have the slice collected as garbage.
        metadata.owner_references.clone_from(&slice.metadata.owner_references);
    }
    metadata.annotations.remove(BINDING_TIMEOUTS);
    metadata.annotations.extend(slice.metadata.annotations.clone());
    Some(ResourceSlice { metadata, spec: slice.spec.clone(), ..ResourceSlice::default() })
}
