//! Seats for trees of thousands of groups in one turn, without any API: how long it takes to find them all, or to say what is missing, and
//! to have all members bound.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::change::{Change, GroupChange};
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::{Gate, Gates};
use model::claim::Class;
use model::group::{Composite, Group, GroupId};
use model::pod::{Pod, Resources, Shape};
use scheduler::engine::{Effect, Engine, Input};
use scheduler::write::{Write, WriteOutcome};

use crate::clock::worked;
use crate::considering;
use crate::gang::goal;
use crate::schedule::{NOW, Run, claim, node, pod, slice, written};

/// How long a turn may take.
const MS_MAX: f64 = 1_000.0;

/// How much work a turn may be, in nominal nanoseconds for each group and node.
#[cfg(test)]
const WORK_MAX: u64 = 40_000;

/// Members of each group.
const MEMBERS: usize = 2;

/// Pods by name.
type Pods = BTreeMap<Arc<str>, Pod>;

/// A cluster of racks, and a tree of groups that are alike.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    groups: usize,
    nodes: usize,
    /// Groups of the root, which have the others in them; none if all groups are right below the root.
    inner: usize,
    /// The level of which each group has to be in one domain.
    level: Option<&'static str>,
    /// Devices of each node; members want one each if there are some.
    devices: usize,
    /// What each member needs, in thousandths of a processor, by the number of its group.
    cpu_milli: fn(usize) -> i64,
    fits: bool,
}

const CASES: [Case; 9] = {
    let case = Case {
        name: "anywhere",
        groups: 2_000,
        nodes: 2_000,
        inner: 0,
        level: None,
        devices: 0,
        cpu_milli: |_| 30_000,
        fits: true,
    };
    let racks = Case { name: "in racks", level: Some("rack"), ..case };
    [
        case,
        racks,
        Case { name: "on a node each", level: Some("host"), ..case },
        Case { name: "in racks and rows", inner: 100, ..racks },
        Case { name: "in racks, of many sizes", cpu_milli: |group| 10_000 + 10 * group as i64, ..racks },
        Case { name: "in racks, with devices", devices: 2, ..racks },
        Case { name: "twice as many", groups: 4_000, cpu_milli: |_| 15_000, ..racks },
        Case { name: "in racks, too few nodes", nodes: 1_960, fits: false, ..racks },
        Case { name: "501, too few nodes", groups: 501, nodes: 480, fits: false, ..racks },
    ]
};

/// What came of a turn.
#[derive(Debug)]
struct Outcome {
    seated: usize,
    told: String,
    ms: f64,
    /// Until all writes are answered, and what they changed is told.
    all_ms: f64,
    bound: usize,
    work: u64,
}

/// Takes one turn for each case, and says how long it took.
pub(crate) fn run() -> anyhow::Result<()> {
    println!("trees                    groups  nodes  seated        ms  nominal ms  ms with all writes");
    let mut slowest = 0.0_f64;
    for case in CASES {
        let Outcome { seated, told, ms, all_ms, bound, work } = turn(cluster(case));
        let nominal = work as f64 / 1e6;
        println!(
            "{:23}  {:6}  {:5}  {seated:6}  {ms:8.2}  {nominal:10.2}  {all_ms:18.2}",
            case.name, case.groups, case.nodes
        );
        let wanted = if case.fits { case.groups * MEMBERS } else { 0 };
        anyhow::ensure!(seated == wanted, "{wanted} members should have been seated: {told}");
        anyhow::ensure!(bound == wanted, "{wanted} members should have been bound, and {bound} are");
        slowest = slowest.max(all_ms);
    }
    let what = format!("a tree of thousands of groups, with all its writes, in under {MS_MAX} ms");
    goal(&what, slowest, MS_MAX)
}

/// One turn, and what came of it.
fn turn((mut engine, pods): (Engine, Pods)) -> Outcome {
    let began = worked();
    let (effects, work) = considering::turn(&mut engine, NOW, 1);
    let ms = (worked() - began).as_secs_f64() * 1e3;
    let is_seat =
        |effect: &&Effect| matches!(effect, Effect::Submit(_, Write::Allocate { .. } | Write::Bind { .. }));
    let told = effects.iter().find_map(|effect| match effect {
        Effect::Submit(_, Write::Note { message, .. }) => Some(message.clone()),
        _ => None,
    });
    let seated = effects.iter().filter(is_seat).count();
    let bound = carry_out(&mut engine, &pods, effects);
    let all_ms = (worked() - began).as_secs_f64() * 1e3;
    Outcome { seated, told: told.unwrap_or_default(), ms, all_ms, bound, work }
}

/// Answers all writes, tells what they changed, and counts who is bound in the end.
fn carry_out(engine: &mut Engine, pods: &Pods, mut effects: Vec<Effect>) -> usize {
    let mut bound = 0;
    while !effects.is_empty() {
        let mut next = Vec::new();
        for effect in effects {
            let Effect::Submit(id, write) = effect else { continue };
            let change = match &write {
                Write::Bind { pod, node, .. } => {
                    bound += 1;
                    let pod = Pod { node: Some(node.clone()), ..pods[&pod.name].clone() };
                    Some(Change::PodApplied(Arc::new(pod)))
                }
                Write::Allocate { .. } => written(&write, &mut Run::default()),
                _ => None,
            };
            next.extend(change.into_iter().flat_map(|change| engine.handle(NOW, Input::Changed(change))));
            next.extend(engine.handle(NOW, Input::Settled(id, WriteOutcome::Done)));
        }
        effects = next;
    }
    bound
}

fn id(name: &str) -> GroupId {
    GroupId { namespace: "default".into(), name: name.into() }
}

/// A group of groups of which all have to be placed.
fn composite(name: &str, groups: usize, level: Option<&str>, parent: Option<&str>) -> Change {
    Change::Group(GroupChange::CompositeApplied(Box::new(Composite {
        id: id(name),
        at_least: groups as u32,
        levels: level.into_iter().map(Into::into).collect(),
        parent: parent.map(Into::into),
        ..Composite::default()
    })))
}

/// An engine that knows racks of 40 nodes, rows of five racks, and a tree that waits.
fn cluster(case: Case) -> (Engine, Pods) {
    let mut pods = Pods::new();
    let gates = [Gate::GenericWorkload, Gate::TopologyAwareWorkloadScheduling, Gate::CompositePodGroup];
    let mut engine = Engine::new(Settings {
        profiles: vec![Arc::new(Profile::named("supercargo"))],
        gates: gates.into_iter().fold(Gates::default(), |gates, gate| gates.with(gate, true)),
        patience: Patience::default(),
        search_steps_max: 100_000,
    });
    let mut fact = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
    let selector = "device.driver == \"gpu.example.com\"".into();
    fact(Change::ClassApplied(Class {
        name: "gpu".into(),
        selectors: vec![Some(selector)],
        ..Class::default()
    }));
    for number in 0..case.nodes {
        let mut node = node(number);
        for (key, place) in [("host", number), ("rack", number / 40), ("row", number / 200)] {
            node.labels.insert(key.into(), format!("{key}-{place}").into());
        }
        fact(Change::NodeApplied(Box::new(node)));
        if case.devices > 0 {
            fact(Change::SliceApplied(Arc::new(slice(number, case.devices))));
        }
    }
    fact(composite("root", if case.inner > 0 { case.inner } else { case.groups }, None, None));
    for number in 0..case.inner {
        fact(composite(&format!("inner-{number}"), case.groups / case.inner, Some("row"), Some("root")));
    }
    for group in 0..case.groups {
        let name = format!("group-{group}");
        let parent = if case.inner > 0 { format!("inner-{}", group % case.inner) } else { "root".to_owned() };
        fact(Change::Group(GroupChange::Applied(Box::new(Group {
            id: id(&name),
            uid: name.as_str().into(),
            at_least: MEMBERS as u32,
            levels: case.level.into_iter().map(Into::into).collect(),
            parent: Some(parent.as_str().into()),
            ..Group::default()
        }))));
        for number in group * MEMBERS..(group + 1) * MEMBERS {
            let mut pod = pod(number);
            if case.devices > 0 {
                fact(Change::ClaimApplied(Box::new(claim(number))));
            } else {
                pod.claims.clear();
            }
            let requests = Resources { cpu_milli: (case.cpu_milli)(group), ..Resources::default() };
            let shape = Shape { scored: requests.clone(), requests, ..Shape::clone(&pod.shape) };
            let group = Some(name.as_str().into());
            let pod = Pod { group, shape: Arc::new(shape), ..pod };
            pods.insert(pod.id.name.clone(), pod.clone());
            fact(Change::PodApplied(Arc::new(pod)));
        }
    }
    (engine, pods)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_many_groups_is_placed_with_as_much_work_as_groups_and_nodes() {
        for case in CASES {
            // A twentieth of it: nothing here may grow faster than groups and nodes do.
            let small =
                Case { groups: case.groups / 20, nodes: case.nodes / 20, inner: case.inner / 20, ..case };
            for case in [small, Case { groups: small.groups * 2, nodes: small.nodes * 2, ..small }] {
                let Outcome { seated, told, bound, work, .. } = turn(cluster(case));
                let wanted = if case.fits { case.groups * MEMBERS } else { 0 };
                assert_eq!((seated, bound), (wanted, wanted), "{}: {told}", case.name);
                assert!(case.fits || !told.contains("search limit"), "{}: {told}", case.name);
                let most = WORK_MAX * (case.groups + case.nodes) as u64;
                assert!(work < most, "{}: {work} and {most}", case.name);
            }
        }
    }
}
