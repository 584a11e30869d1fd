//! Random stories in which writes fail, or succeed and are told to have failed, and pods and claims come and go meanwhile.

use cluster::change::Change;
use scheduler::engine::Input;
use scheduler::write::WriteOutcome;

use crate::GPUS_BY_CLASS;
use crate::world::{World, alternatives, claim, gpu_class, gpus, named_pod, node, pod, world};

/// Numbers that look random.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// What a cluster does by itself: pods that are gone use nothing, and what was made for them goes.
pub fn collect(world: &mut World) {
    for (id, before) in world.claims.clone() {
        let mut state = before.clone();
        state.reserved_for.retain(|uid| world.pods.contains_key(&**uid));
        let is_orphan = state.owner.as_ref().is_some_and(|owner| !world.pods.contains_key(&**owner));
        if is_orphan {
            world.claims.remove(&id);
            world.fact(Change::ClaimGone(id));
        } else if state != before {
            world.add_claim(state);
        }
    }
}

/// Carries out what is open; some of it fails, and some of it is done and told to have failed.
pub fn carry_out(world: &mut World, dice: &mut Dice) {
    for (id, write) in std::mem::take(&mut world.open) {
        let failed = || WriteOutcome::Failed("turmoil".to_owned());
        let outcome = match dice.below(6) {
            0 => failed(),
            1 => {
                world.apply(&write);
                failed()
            }
            _ => world.apply(&write),
        };
        world.tell(Input::Settled(id, outcome));
    }
    world.check();
}

fn play(seed: u64) {
    let (mut world, mut dice) = (world(), Dice(seed));
    world.fact(gpu_class());
    for name in ["a", "b"] {
        world.fact(node(name, 4_000));
        world.fact(gpus(name, &["g0", "g1"]));
    }
    let mut pods = 0;
    for _ in 0..40 {
        match dice.below(6) {
            0 if pods > 0 => {
                let name = format!("p{}", dice.below(pods));
                world.remove_pod(&name);
                collect(&mut world);
            }
            1 => world.fact(node("a", [50, 4_000][dice.below(2) as usize])),
            _ => {
                let name = format!("p{pods}");
                pods += 1;
                let shared = format!("c{}", dice.below(3));
                for claim_name in [&shared, &name] {
                    if !world.claims.keys().any(|id| *id.name == **claim_name) {
                        let counts = [2, 1];
                        let is_list = dice.below(3) == 0;
                        world.add_claim(if is_list {
                            alternatives(claim_name, &counts)
                        } else {
                            claim(claim_name)
                        });
                    }
                }
                world.add_pod(match dice.below(4) {
                    0 => named_pod(&name, GPUS_BY_CLASS, 1 + dice.below(2) as i64, &[]),
                    1 => named_pod(&name, GPUS_BY_CLASS, 1, &[&name]),
                    2 => pod(&name, 100, &[&shared]),
                    _ => pod(&name, 100, &[&name]),
                });
            }
        }
        world.turn();
        if dice.below(3) > 0 {
            carry_out(&mut world, &mut dice);
        }
        world.later(dice.below(8) as i64);
    }
    // All pods leave, and then all devices can be had.
    for name in 0..pods {
        world.remove_pod(&format!("p{name}"));
    }
    (0..4).for_each(|_| world.carry_out());
    for id in world.claims.keys().cloned().collect::<Vec<_>>() {
        world.claims.remove(&id);
        world.fact(Change::ClaimGone(id));
    }
    world.fact(node("a", 4_000));
    for name in ["w", "x", "y", "z"] {
        world.add_claim(claim(name));
        world.add_pod(pod(name, 100, &[name]));
    }
    for _ in 0..3 {
        world.settle();
        world.later(30);
    }
    let waiting: Vec<_> =
        ["w", "x", "y", "z"].into_iter().filter(|pod| world.node_of(pod).is_none()).collect();
    assert!(waiting.is_empty(), "seed {seed}: {waiting:?} wait: {:?}", world.told.last());
}

#[test]
fn whatever_fails_no_device_is_given_twice_and_none_is_lost() {
    (0..60).for_each(play);
}
