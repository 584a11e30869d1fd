//! Seats for gangs of several sizes that nearly fill their cluster: how long a turn takes, and whether it is done with a small part of the
//! work that a turn may be.
//!
//! Nodes are filled by chance with members of all sizes, and of several tries that is kept which leaves the least. So there are seats for
//! all members, which take more than 99 percent of the processors.

use std::sync::Arc;

use cluster::change::{Change, GroupChange};
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::{Gate, Gates};
use model::group::{Group, GroupId};
use model::pod::{Pod, Resources, Shape};
use scheduler::engine::{Effect, Engine, Input};
use scheduler::write::Write;

use crate::clock::worked;
use crate::considering;
use crate::gang::{goal, room};
use crate::random::Random;
use crate::schedule::{NOW, node, pod};

/// How long a turn may take.
const MS_MAX: f64 = 500.0;

/// Processor in thousandths and memory in Gi of the sizes that members have.
const SIZES: [(i64, i64); 8] = [
    (41_000, 96),
    (23_000, 160),
    (29_500, 88),
    (17_000, 44),
    (19_500, 112),
    (13_500, 60),
    (31_000, 140),
    (11_000, 24),
];

/// A gang that nearly fills a cluster.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    nodes: usize,
    sizes: usize,
    /// How many members more there are, of the largest size.
    more: usize,
    seed: u64,
    /// How much work the turn may be, in nominal nanoseconds.
    work_max: u64,
}

const CASES: [Case; 4] = {
    let case = Case { name: "six sizes", nodes: 128, sizes: 6, more: 0, seed: 1, work_max: 5_000_000 };
    [
        case,
        Case { name: "eight sizes", sizes: 8, seed: 2, ..case },
        Case { name: "six sizes, one too many", more: 1, ..case },
        Case { name: "eight, one too many", sizes: 8, seed: 2, more: 1, ..case },
    ]
};

/// Takes one turn for each case, and says how long it took.
pub(crate) fn run() -> anyhow::Result<()> {
    println!("mixed sizes, near full   nodes  load  members  seated        ms  room");
    let mut slowest = 0.0_f64;
    for case in CASES {
        let sizes = members(case);
        let (seated, told, ms) = turn(cluster(case.nodes, case.work_max, &sizes));
        let cpu: i64 = sizes.iter().map(|(cpu, _)| cpu).sum();
        let load = cpu / (case.nodes as i64 * 640);
        let Case { name, nodes, more, .. } = case;
        println!(
            "{name:23}  {nodes:5}  {load:3}%  {:7}  {:6}  {ms:8.2}  {}",
            sizes.len(),
            seated.unwrap_or(0),
            room(&told).unwrap_or("-")
        );
        let wanted = if more > 0 { Some(0) } else { Some(sizes.len()) };
        anyhow::ensure!(seated == wanted, "{name}: it should be decided with less work");
        slowest = slowest.max(ms);
    }
    goal(&format!("each gang of many sizes in under {MS_MAX} ms"), slowest, MS_MAX)
}

/// What members need, one by one.
fn members(case: Case) -> Vec<(i64, i64)> {
    let mut random = Random::new(case.seed);
    let mut members = Vec::new();
    for _ in 0..case.nodes {
        let tries = (0..20).map(|_| fill(&mut random, case.sizes as u64));
        let (_, fullest) = tries.min_by_key(|(left, _)| *left).expect("there are tries");
        members.extend(fullest);
    }
    members.extend(std::iter::repeat_n(SIZES[0], case.more));
    members
}

/// What is left of a node's processors, and who takes the rest.
fn fill(random: &mut Random, sizes: u64) -> (i64, Vec<(i64, i64)>) {
    let (mut cpu, mut memory, mut misses) = (64_000, 256, 0);
    let mut members = Vec::new();
    while misses < 12 {
        let size = SIZES[random.below(sizes) as usize];
        if size.0 > cpu || size.1 > memory {
            misses += 1;
            continue;
        }
        (cpu, memory) = (cpu - size.0, memory - size.1);
        members.push(size);
    }
    (cpu, members)
}

/// How many members one turn seats, unless it left open whether there are seats, what it tells, and how long it takes.
fn turn(mut engine: Engine) -> (Option<usize>, String, f64) {
    let began = worked();
    let (effects, _) = considering::turn(&mut engine, NOW, 1);
    let ms = (worked() - began).as_secs_f64() * 1e3;
    let is_seat = |effect: &&Effect| matches!(effect, Effect::Submit(_, Write::Bind { .. }));
    let told = effects.iter().find_map(|effect| match effect {
        Effect::Submit(_, Write::Note { message, .. }) => Some(message.clone()),
        _ => None,
    });
    let told = told.unwrap_or_default();
    let seated = effects.iter().filter(is_seat).count();
    ((!told.contains("search limit")).then_some(seated), told, ms)
}

/// An engine that knows nodes, and a gang whose members need so much each.
fn cluster(nodes: usize, work_max: u64, members: &[(i64, i64)]) -> Engine {
    let mut engine = Engine::new(Settings {
        profiles: vec![Arc::new(Profile::named("supercargo"))],
        gates: Gates::default().with(Gate::GenericWorkload, true),
        patience: Patience::default(),
        search_steps_max: 100_000,
    })
    .with_work_max(work_max);
    let mut fact = |change: Change| drop(engine.handle(NOW, Input::Changed(change)));
    (0..nodes).for_each(|number| fact(Change::NodeApplied(Box::new(node(number)))));
    fact(Change::Group(GroupChange::Applied(Box::new(Group {
        id: GroupId { namespace: "default".into(), name: "gang".into() },
        uid: "gang-uid".into(),
        at_least: members.len() as u32,
        ..Group::default()
    }))));
    for (number, (cpu_milli, memory)) in members.iter().copied().enumerate() {
        let pod = pod(number);
        let requests = Resources { cpu_milli, memory: memory << 30, ..Resources::default() };
        let shape = Arc::new(Shape { scored: requests.clone(), requests, ..Shape::clone(&pod.shape) });
        fact(Change::PodApplied(Arc::new(Pod {
            group: Some("gang".into()),
            claims: Vec::new(),
            shape,
            ..pod
        })));
    }
    engine
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(case: Case) -> (Option<usize>, String, f64) {
        turn(cluster(case.nodes, case.work_max, &members(case)))
    }

    #[test]
    fn all_of_147_members_of_six_sizes_have_seats_on_128_nodes_of_which_they_take_95_percent() {
        // The smallest come first, so that who takes the first node with room leaves too little for the largest.
        let sizes = [(14, 9_500), (13, 23_000), (9, 41_500), (34, 61_500), (26, 63_000), (51, 63_500)];
        let members: Vec<(i64, i64)> =
            sizes.into_iter().flat_map(|(count, cpu)| std::iter::repeat_n((cpu, 1), count)).collect();
        let load = members.iter().map(|(cpu, _)| cpu).sum::<i64>() as f64 / (128.0 * 64_000.0);
        assert!(members.len() == 147 && (load - 0.95).abs() < 0.005, "{load}");
        let (seated, told, _) = turn(cluster(128, CASES[0].work_max, &members));
        assert_eq!(seated, Some(147), "{told}");
    }

    #[test]
    fn gangs_of_many_sizes_are_decided_within_the_steps_of_each_case() {
        for case in CASES {
            let wanted = if case.more > 0 { 0 } else { members(case).len() };
            let (seated, told, _) = decide(case);
            assert_eq!(seated, Some(wanted), "{}: {told}", case.name);
            // All but one of them fit, and nearly as many are found.
            let told = room(&told).and_then(|room| room.split(' ').next()?.parse::<usize>().ok());
            let fitting = members(case).len() - 1;
            assert!(
                case.more == 0 || told.is_some_and(|room| room * 100 >= fitting * 97 && room <= fitting),
                "{}: there is room for {fitting}, and {told:?} are told",
                case.name
            );
        }
        let too_little = Case { work_max: 1_000_000, ..CASES[0] };
        assert_eq!(decide(too_little).0, None, "with less work it is left open");
    }
}
