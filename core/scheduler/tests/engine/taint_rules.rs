//! Rules that put taints on devices, as pods feel them.

use cluster::change::Change;
use cluster::taint_rules::TaintRule;
use decisions::settings::Settings;
use gates::{Gate, Gates};
use model::claim::{Claim, Toleration, TolerationValue, Wish};
use model::device::{Taint, TaintEffect};
use scheduler::engine::Engine;

use crate::world::{World, claim, pod, settings};
use crate::{two_gpus, with_gpus};

fn rule(pool: Option<&str>, effect: TaintEffect) -> Change {
    let taint = Taint { key: "broken".into(), value: "".into(), effect };
    let (name, pool) = ("rule".into(), pool.map(Into::into));
    Change::TaintRuleApplied(TaintRule { name, driver: None, pool, device: None, taint })
}

fn with_rule(pool: Option<&str>, effect: TaintEffect) -> World {
    let mut world = with_gpus();
    world.fact(rule(pool, effect));
    world
}

/// The devices of two pods that want one each.
fn given(world: &mut World) -> Vec<String> {
    for name in ["one", "two"] {
        world.add_claim(claim(name));
        world.add_pod(pod(name, 100, &[name]));
    }
    world.settle();
    [world.devices_of("one"), world.devices_of("two")].concat()
}

#[test]
fn a_device_that_a_rule_taints_is_not_given_until_the_rule_goes() {
    let mut world = with_rule(Some("a"), TaintEffect::NoSchedule);
    assert_eq!(given(&mut world), ["gpu-b"]);
    let why = world.told.iter().find(|line| line.starts_with("two: ")).expect("it was told");
    assert!(why.contains("taints that the request does not tolerate"), "{why}");
    world.fact(Change::TaintRuleGone("rule".into()));
    world.later(2);
    world.settle();
    assert_eq!(world.devices_of("two"), ["gpu-a"]);
}

#[test]
fn a_rule_that_changes_lets_go_of_what_it_was_for() {
    let mut world = with_rule(None, TaintEffect::NoExecute);
    assert!(given(&mut world).is_empty());
    world.fact(rule(Some("b"), TaintEffect::NoExecute));
    world.later(2);
    world.settle();
    let given = [world.devices_of("one"), world.devices_of("two")].concat();
    assert_eq!(given, ["gpu-a"]);
}

#[test]
fn what_is_only_told_keeps_nobody_off() {
    let mut world = with_rule(None, TaintEffect::Told("None".into()));
    assert_eq!(given(&mut world).len(), 2);
}

#[test]
fn who_bears_the_taint_gets_the_device() {
    let mut world = with_rule(None, TaintEffect::NoSchedule);
    let mut state = claim("one");
    let mut wish = Claim::clone(&state.wish);
    let Wish::Exactly(ask) = &mut wish.spec.requests[0].wish else { unreachable!("it asks for one device") };
    let (key, effect) = ("broken".into(), "".into());
    ask.tolerations.push(Toleration { key, value: TolerationValue::Any, effect, seconds: None });
    state.wish = wish.into();
    world.add_claim(state);
    world.add_pod(pod("p", 100, &["one"]));
    world.settle();
    assert_eq!(world.devices_of("one").len(), 1);
}

#[test]
fn rules_are_not_heeded_while_their_feature_is_off() {
    for gate in [Gate::DRADeviceTaintRules, Gate::DRADeviceTaints] {
        let mut world = with_gpus();
        world.engine = Engine::new(Settings { gates: Gates::default().with(gate, false), ..settings() });
        two_gpus().into_iter().for_each(|change| world.fact(change));
        world.fact(rule(None, TaintEffect::NoSchedule));
        assert_eq!(given(&mut world).len(), 2, "{gate:?}");
    }
}
