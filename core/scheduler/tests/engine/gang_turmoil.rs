//! Random stories of gangs in which writes fail, or succeed and are told to have failed, and members come and go meanwhile.

use std::collections::BTreeSet;

use cluster::change::Change;
use model::group::Disruption;
use model::pod::Pod;

use crate::gangs::{applied, gang, gang_world, node_in};
use crate::turmoil::{Dice, carry_out, collect};
use crate::world::{World, claim, gpu_class, gpus, pod};

const GANGS: [&str; 3] = ["g0", "g1", "g2"];
const AT_LEAST: usize = 2;

fn racks() -> World {
    let mut world = gang_world();
    world.fact(gpu_class());
    for (rack, name) in [("r0", "a"), ("r0", "b"), ("r1", "c"), ("r1", "d")] {
        world.fact(node_in(rack, name, 4_000));
        world.fact(gpus(name, &["gpu-0", "gpu-1"]));
    }
    for name in GANGS {
        world.fact(applied(gang(name, AT_LEAST as u32, 0, Disruption::Single)));
    }
    world
}

/// A pod of a gang, with a claim of its own, or one that it shares with others of the gang.
fn add_member(world: &mut World, dice: &mut Dice, number: u64) {
    let gang = GANGS[dice.below(3) as usize];
    let claimed = if dice.below(4) == 0 { format!("shared-{gang}") } else { format!("c{number}") };
    if !world.claims.keys().any(|id| *id.name == *claimed) {
        world.add_claim(claim(&claimed));
    }
    let claims: &[&str] = if dice.below(5) == 0 { &[] } else { &[&claimed] };
    let member = pod(&format!("m{number}"), 500 + 500 * dice.below(3) as i64, claims);
    world.add_pod(Pod { group: Some(gang.into()), ..member });
}

/// Where the bound members of a gang are.
fn racks_of(world: &World, gang: &str) -> Vec<&'static str> {
    let members = world.pods.values().filter(|pod| pod.group == Some(gang.into()));
    let nodes = members.filter_map(|pod| pod.node.as_deref());
    nodes.map(|node| if ["a", "b"].contains(&node) { "r0" } else { "r1" }).collect()
}

fn play(seed: u64) {
    let (mut world, mut dice) = (racks(), Dice(seed));
    let mut members = 0;
    for _ in 0..40 {
        if dice.below(4) == 0 && members > 0 {
            let number = dice.below(members);
            world.remove_pod(&format!("m{number}"));
            collect(&mut world);
        } else {
            add_member(&mut world, &mut dice, members);
            members += 1;
        }
        world.turn();
        if dice.below(3) > 0 {
            carry_out(&mut world, &mut dice);
        }
        world.later(dice.below(8) as i64);
        for gang in GANGS {
            let racks: BTreeSet<&str> = racks_of(&world, gang).into_iter().collect();
            assert!(racks.len() <= 1, "seed {seed}: {gang} straddles racks");
        }
    }
    // All pods leave, and then a gang that needs all of a rack can have it.
    for number in 0..members {
        world.remove_pod(&format!("m{number}"));
    }
    (0..4).for_each(|_| world.carry_out());
    for id in world.claims.keys().cloned().collect::<Vec<_>>() {
        world.claims.remove(&id);
        world.fact(Change::ClaimGone(id));
    }
    for name in ["w", "x", "y", "z"] {
        world.add_claim(claim(name));
        world.add_pod(Pod { group: Some("g0".into()), ..pod(name, 1_000, &[name]) });
    }
    for _ in 0..3 {
        world.settle();
        world.later(30);
    }
    assert_eq!(racks_of(&world, "g0").len(), 4, "seed {seed}: {:?}", world.told.last());
}

#[test]
fn whatever_fails_no_gang_straddles_racks_and_nothing_is_lost() {
    (0..60).for_each(play);
}
