//! Seats for gangs whose members are in each other's way across nodes: who must be apart, near or spread, and devices that
//! all nodes of a rack reach.

use std::sync::Arc;

use cluster::change::{Change, GroupChange};
use cluster::published::Published;
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::{Gate, Gates};
use model::claim::{Amount, Claim, Class, Wish};
use model::device::Reach;
use model::group::{Group, GroupId};
use model::node::{NodeSelector, NodeTerm, Operator, Requirement};
use model::pod::{LabelSelector, Pod, PodTerm, Shape, Spread};
use scheduler::engine::{Engine, Input};

use crate::gang::{Turned, goal, room, turn};
use crate::schedule::{NOW, claim, node, pod, slice};

/// How long a turn may take.
const MS_MAX: f64 = 1_000.0;

/// What members must keep to.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// One in each place by this label.
    Apart(&'static str),
    /// Places by this label differ by one at the most.
    Spread(&'static str),
    /// All in one place by this label.
    Near(&'static str),
    /// Devices are reached from all nodes of a rack.
    Links,
}

/// A cluster of racks, and a gang that may be anywhere.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    nodes: usize,
    racks: usize,
    /// Devices of each node, or of each rack.
    devices: usize,
    /// Racks that have none.
    bare: usize,
    members: usize,
    /// Devices that a member claims, by its number.
    each: fn(usize) -> i64,
    rule: Rule,
    fits: bool,
}

const CASES: [Case; 13] = {
    let case = Case {
        name: "one on each node",
        nodes: 1_000,
        racks: 10,
        devices: 4,
        bare: 0,
        members: 200,
        each: |_| 1,
        rule: Rule::Apart("host"),
        fits: true,
    };
    [
        case,
        Case { name: "too many for nodes", members: 1_001, fits: false, ..case },
        Case { name: "one too many for racks", members: 11, rule: Rule::Apart("rack"), fits: false, ..case },
        Case { name: "spread over racks", rule: Rule::Spread("rack"), ..case },
        Case { name: "spread, a rack is full", rule: Rule::Spread("rack"), bare: 1, fits: false, ..case },
        Case { name: "near, in one rack", rule: Rule::Near("rack"), ..case },
        Case { name: "near, too many", members: 401, rule: Rule::Near("rack"), fits: false, ..case },
        Case { name: "devices of racks", devices: 20, rule: Rule::Links, ..case },
        Case {
            name: "one device too few",
            devices: 20,
            members: 201,
            rule: Rule::Links,
            fits: false,
            ..case
        },
        // Three devices are for one member, and two are left over in each rack.
        Case {
            name: "three of a rack each",
            devices: 20,
            each: |_| 3,
            members: 60,
            rule: Rule::Links,
            ..case
        },
        Case {
            name: "racks, devices left over",
            devices: 20,
            each: |_| 3,
            members: 61,
            rule: Rule::Links,
            fits: false,
            ..case
        },
        // One that wants three and two that want two are for a rack, or two that want three and nobody else.
        Case {
            name: "racks, two sizes",
            devices: 7,
            each: |number| if number < 10 { 3 } else { 2 },
            members: 30,
            rule: Rule::Links,
            ..case
        },
        Case {
            name: "racks, two sizes, no seats",
            devices: 7,
            each: |number| if number < 20 { 3 } else { 2 },
            members: 25,
            rule: Rule::Links,
            fits: false,
            ..case
        },
    ]
};

/// Takes one turn for each case, and says how long it took.
pub(crate) fn run() -> anyhow::Result<()> {
    println!("rules                   nodes  racks  members  seated        ms  room");
    let mut slowest = 0.0_f64;
    for case in CASES {
        let Turned { seated, told, ms } = turn(cluster(case));
        let Case { name, nodes, racks, members, fits, .. } = case;
        let room = room(&told).unwrap_or("-");
        println!("{name:22}  {nodes:5}  {racks:5}  {members:7}  {seated:6}  {ms:8.2}  {room}");
        let wanted = if fits { members } else { 0 };
        anyhow::ensure!(seated == wanted && is_decided(&told), "{name}: {wanted} should be seated: {told}");
        slowest = slowest.max(ms);
    }
    goal(&format!("each gang with rules in under {MS_MAX} ms"), slowest, MS_MAX)
}

fn is_decided(told: &str) -> bool {
    !told.contains("search limit")
}

fn cluster(case: Case) -> Engine {
    let mut engine = Engine::new(Settings {
        profiles: vec![Arc::new(Profile::named("supercargo"))],
        gates: Gates::default().with(Gate::GenericWorkload, true),
        patience: Patience::default(),
        search_steps_max: 100_000,
    });
    let mut fact = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
    let selector = "device.driver == \"gpu.example.com\"".into();
    let class = Class { name: "gpu".into(), selectors: vec![Some(selector)], ..Class::default() };
    fact(Change::ClassApplied(class));
    let per_rack = case.nodes.div_ceil(case.racks);
    for number in 0..case.nodes {
        let mut node = node(number);
        let rack = number / per_rack;
        node.labels.insert("rack".into(), format!("rack-{rack}").into());
        node.labels.insert("host".into(), (*node.name).into());
        fact(Change::NodeApplied(Box::new(node)));
        if case.rule != Rule::Links && rack >= case.bare {
            fact(Change::SliceApplied(Arc::new(slice(number, case.devices))));
        }
    }
    if case.rule == Rule::Links {
        (0..case.racks).for_each(|rack| fact(Change::SliceApplied(Arc::new(of_rack(rack, case.devices)))));
    }
    fact(Change::Group(GroupChange::Applied(Box::new(Group {
        id: GroupId { namespace: "default".into(), name: "gang".into() },
        uid: "gang-uid".into(),
        at_least: case.members as u32,
        ..Group::default()
    }))));
    for number in 0..case.members {
        let mut state = claim(number);
        let mut wish = Claim::clone(&state.wish);
        if let Wish::Exactly(ask) = &mut wish.spec.requests[0].wish {
            ask.amount = Amount::Exactly((case.each)(number));
        }
        state.wish = Arc::new(wish);
        fact(Change::ClaimApplied(Box::new(state)));
        let pod = pod(number);
        let shape = Arc::new(shape(&pod.shape, number, case.rule));
        fact(Change::PodApplied(Arc::new(Pod { group: Some("gang".into()), shape, ..pod })));
    }
    engine
}

/// Devices that all nodes of a rack reach.
fn of_rack(rack: usize, devices: usize) -> Published {
    let Published { mut slice, revision, .. } = slice(rack, devices);
    let values = vec![format!("rack-{rack}").into()];
    let labels = vec![Requirement { key: "rack".into(), operator: Operator::In, values }];
    slice.reach = Reach::Matching(NodeSelector { terms: vec![NodeTerm { fields: Vec::new(), labels }] });
    Published::new(slice, revision)
}

fn shape(shape: &Shape, number: usize, rule: Rule) -> Shape {
    let requirement = Requirement { key: "app".into(), operator: Operator::In, values: vec!["gang".into()] };
    let selector = LabelSelector::All(vec![requirement]);
    let term = |key: &str| PodTerm {
        selector: selector.clone(),
        namespaces: vec!["default".into()],
        namespace_selector: None,
        key: key.into(),
    };
    // Members of a job are told apart by their indexes.
    let labels = [("app".into(), "gang".into()), ("index".into(), format!("{number}").into())].into();
    let shape = Shape { labels, ..shape.clone() };
    match rule {
        Rule::Apart(key) => Shape { apart: vec![term(key)], ..shape },
        Rule::Near(key) => Shape { near: vec![term(key)], ..shape },
        Rule::Spread(key) => {
            let rule = Spread {
                max_skew: 1,
                key: key.into(),
                required: true,
                selector,
                min_domains: 1,
                honor_affinity: true,
                honor_taints: false,
            };
            Shape { spread: vec![rule], ..shape }
        }
        Rule::Links => shape,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gangs_with_rules_are_seated_or_refused_as_the_case_says() {
        for case in CASES {
            let small = Case { nodes: 40, racks: 4, ..case };
            let members = match case.rule {
                Rule::Apart("rack") => 5,
                _ if !case.fits => 41,
                _ => 20,
            };
            let small = match case.rule {
                Rule::Links => Case { nodes: 40, ..case },
                _ => Case { members, devices: small.devices.min(5), ..small },
            };
            let members = small.members;
            let wanted = if case.fits { members } else { 0 };
            let Turned { seated, told, .. } = turn(cluster(small));
            assert!(seated == wanted && is_decided(&told), "{}: {seated} are seated: {told}", case.name);
        }
    }
}
