//! Seats for a large gang in one of many racks, without any API: how long one turn takes that finds them all, or that proves
//! that there are none.

use std::sync::Arc;

use clap::Args;
use cluster::change::{Change, GroupChange};
use cluster::published::Published;
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::{Gate, Gates};
use model::claim::{Amount, Claim, Class, Wish};
use model::device::Attribute;
use model::group::{Group, GroupId};
use model::pod::Pod;
use scheduler::engine::{Effect, Engine, Input};
use scheduler::write::Write;

use crate::clock::worked;
use crate::considering;
use crate::schedule::{NOW, claim, node, pod, slice};
use crate::{gang_rules, gang_sizes, gang_trees};

/// How often a case is run, a small one more often. The clock goes on in steps of milliseconds, so that one run tells little.
const RUNS: usize = 10;
/// How long it may take to seat everybody.
const PLACED_MS_MAX: f64 = 1_000.0;
/// How long it may take to prove that nobody can be seated.
const IMPOSSIBLE_MS_MAX: f64 = 100.0;
/// How much more a member may cost in a cluster ten times as large.
const GROWTH_MAX: f64 = 2.0;

/// Seat a gang whose members have a claim each in one rack
#[derive(Debug, Args)]
pub(crate) struct GangBench {
    /// How many nodes
    #[arg(long, default_value_t = 5_000)]
    nodes: usize,
    /// How many racks
    #[arg(long, default_value_t = 50)]
    racks: usize,
    /// How many members
    #[arg(long, default_value_t = 1_000)]
    members: usize,
}

/// A cluster and a gang.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    nodes: usize,
    racks: usize,
    /// Devices of each node.
    devices: usize,
    members: usize,
    /// Devices that each member claims.
    each: i64,
}

impl GangBench {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let GangBench { nodes, racks, members } = *self;
        anyhow::ensure!(nodes > 0 && racks > 0 && members > 0, "there has to be one of each at least");
        let cases = self.cases();
        println!("case               nodes  racks  members  seated        ms  room");
        let mut times = Vec::new();
        for case in cases {
            let runs = (RUNS * nodes / case.nodes.max(1)).max(1);
            let runs: Vec<Turned> = (0..runs).map(|_| turn(cluster(case))).collect();
            let ms = runs.iter().map(|turned| turned.ms).sum::<f64>() / runs.len() as f64;
            let Turned { seated, told, .. } = &runs[0];
            println!(
                "{:17}  {:5}  {:5}  {:7}  {seated:6}  {ms:8.2}  {}",
                case.name,
                case.nodes,
                case.racks,
                case.members,
                room(told).unwrap_or("-")
            );
            let wanted = if case.name.starts_with("fits") { case.members } else { 0 };
            anyhow::ensure!(*seated == wanted, "{wanted} members should have been seated: {told}");
            if wanted == 0 {
                let fitting = case.fitting();
                anyhow::ensure!(
                    fitting >= case.members || told.contains(&format!(" {fitting} of ")),
                    "there is room for {fitting}: {told}"
                );
            }
            times.push((case, ms));
        }
        let slowest = times[2].1.max(times[3].1);
        let cost = |(case, ms): &(Case, f64)| ms / (case.members + case.nodes) as f64;
        let growth = cost(&times[1]) / cost(&times[0]);
        let outcomes = [
            goal(&format!("seated in under {PLACED_MS_MAX} ms"), times[1].1, PLACED_MS_MAX),
            goal(&format!("impossible in under {IMPOSSIBLE_MS_MAX} ms"), slowest, IMPOSSIBLE_MS_MAX),
            goal(
                &format!("a member costs at most {GROWTH_MAX} times as much in a cluster ten times as large"),
                growth,
                GROWTH_MAX,
            ),
            gang_sizes::run(),
            gang_trees::run(),
            gang_rules::run(),
        ];
        let failed: Vec<String> =
            outcomes.into_iter().filter_map(Result::err).map(|error| error.to_string()).collect();
        anyhow::ensure!(failed.is_empty(), "{}", failed.join("; "));
        Ok(())
    }
}

impl GangBench {
    /// A tenth of the cluster, the whole, and two in which there are no seats.
    fn cases(&self) -> [Case; 4] {
        let GangBench { nodes, racks, members } = *self;
        // Racks have as many nodes, but for the last, which has fewer if they do not come out even.
        let in_rack = nodes.div_ceil(racks);
        let case =
            |name: &'static str, devices: usize| Case { name, nodes, racks, devices, members, each: 1 };
        let devices = |members: usize| members.div_ceil(in_rack) + 2;
        let fits = case("fits", devices(members));
        // Racks stay as large as they are.
        let (racks, few) = (racks.div_ceil(10), members.div_ceil(10));
        let small = Case {
            name: "fits, a tenth",
            nodes: (racks * in_rack).min(nodes),
            racks,
            members: few,
            devices: devices(few),
            ..fits
        };
        let too_few = case("too few devices", members.div_ceil(in_rack) - 1);
        // A node is left with some that are too few for one more, so that sums see enough.
        let all_but = (in_rack * 5 / 3).max(in_rack + 1);
        let left_over = Case { members: all_but, each: 3, ..case("devices left over", 5) };
        [small, fits, too_few, left_over]
    }
}

/// Says whether a goal is met: that something is at most so much.
///
/// # Errors
/// It is not met.
pub(crate) fn goal(what: &str, value: f64, most: f64) -> anyhow::Result<()> {
    anyhow::ensure!(value <= most, "goal not met, {value:.2}: {what}");
    println!("goal: {what}: met, {value:.2}");
    Ok(())
}

impl Case {
    /// How many members fit into a rack.
    fn fitting(&self) -> usize {
        self.nodes.div_ceil(self.racks) * (self.devices / self.each as usize)
    }
}

/// What came of a turn.
pub(crate) struct Turned {
    pub(crate) seated: usize,
    pub(crate) told: String,
    pub(crate) ms: f64,
}

/// How many members one turn seats or what it tells, and how long it takes.
pub(crate) fn turn(mut engine: Engine) -> Turned {
    let began = worked();
    let (effects, _) = considering::turn(&mut engine, NOW, 1);
    let ms = (worked() - began).as_secs_f64() * 1e3;
    let is_seat = |effect: &&Effect| matches!(effect, Effect::Submit(_, Write::Allocate { .. }));
    let told = effects.iter().find_map(|effect| match effect {
        Effect::Submit(_, Write::Note { message, .. }) => Some(message.clone()),
        _ => None,
    });
    Turned { seated: effects.iter().filter(is_seat).count(), told: told.unwrap_or_default(), ms }
}

/// For how many there is room, as it is told: `4 of 5 fit`.
pub(crate) fn room(told: &str) -> Option<&str> {
    let is_room =
        |part: &&str| part.starts_with(|char: char| char.is_ascii_digit()) && part.ends_with(" fit");
    told.split([',', ';', ':', '.']).map(str::trim).find(is_room)
}

/// An engine that knows racks of nodes with devices, and a gang that waits.
fn cluster(case: Case) -> Engine {
    let gates = [Gate::GenericWorkload, Gate::TopologyAwareWorkloadScheduling];
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
    let per_rack = case.nodes.div_ceil(case.racks);
    for number in 0..case.nodes {
        let mut node = node(number);
        node.labels.insert("rack".into(), format!("rack-{}", number / per_rack).into());
        fact(Change::NodeApplied(Box::new(node)));
        fact(Change::SliceApplied(Arc::new(distinct(slice(number, case.devices)))));
    }
    fact(Change::Group(GroupChange::Applied(Box::new(Group {
        id: GroupId { namespace: "default".into(), name: "gang".into() },
        uid: "gang-uid".into(),
        at_least: case.members as u32,
        levels: vec!["rack".into()],
        preempts: true,
        ..Group::default()
    }))));
    for number in 0..case.members {
        let mut state = claim(number);
        let mut wish = Claim::clone(&state.wish);
        if let Wish::Exactly(ask) = &mut wish.spec.requests[0].wish {
            ask.amount = Amount::Exactly(case.each);
        }
        state.wish = Arc::new(wish);
        fact(Change::ClaimApplied(Box::new(state)));
        fact(Change::PodApplied(Arc::new(Pod { group: Some("gang".into()), ..pod(number) })));
    }
    engine
}

/// A slice whose devices have numbers of their own, as real ones do.
fn distinct(published: Published) -> Published {
    let Published { mut slice, revision, .. } = published;
    for device in &mut slice.devices {
        let number = format!("{}-{}", slice.name, device.name);
        device.attributes.insert("uuid".into(), Attribute::String(number.into()));
    }
    Published::new(slice, revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_what_they_are_called_with_few_racks_too() {
        let many = [(1, 1, 1), (50, 5, 20), (50, 3, 17), (5, 9, 3), (7, 9, 30), (90, 9, 30), (120, 12, 40)];
        for (nodes, racks, members) in many {
            for case in (GangBench { nodes, racks, members }).cases() {
                let wanted = if case.name.starts_with("fits") { case.members } else { 0 };
                let Turned { seated, told, .. } = turn(cluster(case));
                assert_eq!(seated, wanted, "{} of {members} on {nodes} in {racks}: {told}", case.name);
            }
        }
    }

    #[test]
    fn a_gang_is_seated_or_refused_as_the_case_says() {
        let case = Case { name: "fits", nodes: 40, racks: 4, devices: 4, members: 35, each: 1 };
        assert_eq!(turn(cluster(case)).seated, 35);
        for short in [Case { devices: 3, ..case }, Case { devices: 5, members: 12, each: 3, ..case }] {
            let Turned { seated, told, .. } = turn(cluster(short));
            assert_eq!(seated, 0);
            let fitting = format!("{} of {} fit", short.fitting(), short.members);
            assert_eq!(room(&told), Some(&*fitting), "{told}");
        }
    }
}
