//! A node with eight GPUs that can be cut into partitions, all of which are published.
//!
//! The amounts are those of a GPU with 40 GB: seven compute slices and eight memory slices. A partition draws on the
//! memory slices at its place, so that two partitions that overlap exclude each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::device::{Attribute, Capacity, CounterSet, Device, Draw};
use model::quantity::Quantity;

use super::world::{World, count, mebibytes};

const GPUS: usize = 8;

/// How many GPUs are in a slice, which can hold 64 devices that draw on counters.
const GPUS_IN_SLICE: usize = 3;

/// A way to cut a GPU.
struct Profile {
    name: &'static str,
    /// The memory slices at which it can begin.
    places: &'static [usize],
    memory_slices: usize,
    memory_mib: i64,
    /// Of seven; a seventh has 14 multiprocessors and one copy engine.
    sevenths: i64,
    decoders: i64,
}

#[rustfmt::skip]
const PROFILES: [Profile; 7] = [
    Profile { name: "full",    places: &[0],                   memory_slices: 8, memory_mib: 40_320, sevenths: 7, decoders: 5 },
    Profile { name: "1g.5gb",  places: &[0, 1, 2, 3, 4, 5, 6], memory_slices: 1, memory_mib: 4_864,  sevenths: 1, decoders: 0 },
    Profile { name: "1g.10gb", places: &[0, 2, 4, 6],          memory_slices: 2, memory_mib: 9_856,  sevenths: 1, decoders: 1 },
    Profile { name: "2g.10gb", places: &[0, 2, 4],             memory_slices: 2, memory_mib: 9_856,  sevenths: 2, decoders: 1 },
    Profile { name: "3g.20gb", places: &[0, 4],                memory_slices: 4, memory_mib: 19_968, sevenths: 3, decoders: 2 },
    Profile { name: "4g.20gb", places: &[0],                   memory_slices: 4, memory_mib: 19_968, sevenths: 4, decoders: 2 },
    Profile { name: "7g.40gb", places: &[0],                   memory_slices: 8, memory_mib: 40_192, sevenths: 7, decoders: 5 },
];

/// Nothing is taken.
pub(super) fn empty() -> anyhow::Result<World> {
    let gpus: Vec<usize> = (0..GPUS).collect();
    let slice = |gpus: &[usize]| gpus.iter().flat_map(|gpu| devices(*gpu)).collect();
    World::new(
        gpus.chunks(GPUS_IN_SLICE).map(slice).collect(),
        gpus.iter().map(|gpu| counters(*gpu)).collect(),
    )
}

/// The smallest partition of one GPU is taken.
pub(super) fn one_taken() -> anyhow::Result<World> {
    Ok(empty()?.with_taken(&["gpu-3-1g.5gb-2"]))
}

/// The smallest partition in the middle of every GPU is taken, which leaves one place for a half.
pub(super) fn middles_taken() -> anyhow::Result<World> {
    let names: Vec<String> = (0..GPUS).map(|gpu| format!("gpu-{gpu}-1g.5gb-3")).collect();
    Ok(empty()?.with_taken(&names.iter().map(String::as_str).collect::<Vec<_>>()))
}

fn counters(gpu: usize) -> CounterSet {
    let [full, ..] = &PROFILES;
    CounterSet { name: set_name(gpu), counters: amounts(full, 0) }
}

fn set_name(gpu: usize) -> Arc<str> {
    format!("gpu-{gpu}-counters").into()
}

/// What a partition at a place draws.
fn amounts(profile: &Profile, place: usize) -> BTreeMap<Arc<str>, Quantity> {
    let mut amounts: BTreeMap<Arc<str>, Quantity> = BTreeMap::from([
        ("copy-engines".into(), count(profile.sevenths)),
        ("decoders".into(), count(profile.decoders)),
        ("memory".into(), mebibytes(profile.memory_mib)),
        ("multiprocessors".into(), count(14 * profile.sevenths)),
    ]);
    for slice in place..place + profile.memory_slices {
        amounts.insert(format!("memory-slice-{slice}").into(), count(1));
    }
    amounts
}

fn devices(gpu: usize) -> Vec<Device> {
    let device = |profile: &Profile, place: usize| {
        let name = if profile.name == "full" {
            format!("gpu-{gpu}")
        } else {
            format!("gpu-{gpu}-{}-{place}", profile.name)
        };
        let memory = Capacity { value: mebibytes(profile.memory_mib), policy: None };
        Device {
            name: name.into(),
            attributes: BTreeMap::from([
                ("profile".into(), Attribute::String(profile.name.into())),
                ("parentIndex".into(), Attribute::Int(gpu as i64)),
                ("productName".into(), Attribute::String("A100-SXM4-40GB".into())),
                ("driverVersion".into(), Attribute::Version("570.124.6".into())),
            ]),
            capacity: BTreeMap::from([("memory".into(), memory)]),
            draws: vec![Draw {
                counter_set: set_name(gpu),
                counters: amounts(profile, place),
                groups: Vec::new(),
            }],
            ..Device::default()
        }
    };
    PROFILES
        .iter()
        .flat_map(|profile| profile.places.iter().map(move |place| device(profile, *place)))
        .collect()
}
