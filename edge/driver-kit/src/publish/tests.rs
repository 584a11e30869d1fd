//! Publishing against a server made of values, in every order that a seed can think of.
//!
//! The server is a map with versions. Answers are delayed and lost, events come late, others delete and change slices. In the
//! end the server must have what was wanted last; and as long as nobody interferes, nobody who reads the slices ever sees a
//! whole pool that was not wanted at some time.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use objects::Time;
use objects::meta::OwnerReference;
use objects::resource::slice::{CounterSet, Device, DeviceTaint, ResourceSlice};

use crate::describe::{Describe, counter_set};
use crate::publish::desk::{Desk, Doubt, Job, Outcome, Verdict};
use crate::publish::plan::{Alterations, Publication, SliceWrite, plan};
use crate::publish::pool::{Pool, Reach, Scope};
use crate::publish::trouble::PublishTrouble;
use crate::publish::validate::check;
use model::timestamp::Timestamp;

const DRIVER: &str = "gpu.example.com";

/// How many stories are played in each test run.
const SEEDS: u64 = 60;

/// Decisions from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        // SplitMix64: every seed gives another sequence, and the same seed the same one.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % count as u64).expect("below a small number")
    }

    fn one_in(&mut self, odds: usize) -> bool {
        self.below(odds) == 0
    }
}

/// An API server that knows only slices.
#[derive(Default)]
struct Server {
    version: u64,
    slices: BTreeMap<String, ResourceSlice>,
    events: VecDeque<Seen>,
    /// Writes that were carried out.
    writes: usize,
    /// The server drops compatibility groups.
    drops_groups: bool,
}

enum Seen {
    Applied(Box<ResourceSlice>),
    Deleted(String, String),
}

impl Server {
    fn store(&mut self, mut slice: ResourceSlice) -> ResourceSlice {
        self.version += 1;
        self.writes += 1;
        slice.metadata.resource_version = self.version.to_string();
        for device in slice.spec.devices.iter_mut().flatten() {
            for taint in &mut device.taints {
                let now = Timestamp::from_micros(i64::try_from(self.version).expect("small") * 1_000_000);
                taint.time_added.get_or_insert(Time(now));
            }
            if self.drops_groups {
                device.consumes_counters.iter_mut().for_each(|draw| draw.compatibility_groups.clear());
            }
        }
        self.slices.insert(slice.metadata.name.clone(), slice.clone());
        self.events.push_back(Seen::Applied(Box::new(slice.clone())));
        slice
    }

    fn create(&mut self, mut slice: ResourceSlice) -> Outcome {
        if self.slices.contains_key(&slice.metadata.name) {
            return Outcome::Unclear(Doubt::Overtaken);
        }
        slice.metadata.uid = format!("uid-{}", self.version + 1);
        Outcome::Clear(Verdict::Stored(Box::new(self.store(slice))))
    }

    fn update(&mut self, slice: ResourceSlice) -> Outcome {
        match self.slices.get(&slice.metadata.name) {
            None => Outcome::Clear(Verdict::Missing),
            Some(old) if old.metadata.resource_version != slice.metadata.resource_version => {
                Outcome::Unclear(Doubt::Overtaken)
            }
            Some(_) => Outcome::Clear(Verdict::Stored(Box::new(self.store(slice)))),
        }
    }

    fn remove(&mut self, name: &str) {
        if let Some(old) = self.slices.remove(name) {
            self.version += 1;
            self.writes += 1;
            self.events.push_back(Seen::Deleted(name.to_owned(), old.metadata.uid));
        }
    }

    fn delete(&mut self, slice: &ResourceSlice) -> Outcome {
        match self.slices.get(&slice.metadata.name) {
            None => Outcome::Clear(Verdict::Missing),
            Some(old) if old.metadata != slice.metadata => Outcome::Unclear(Doubt::Overtaken),
            Some(_) => {
                self.remove(&slice.metadata.name);
                Outcome::Unclear(Doubt::Deleting)
            }
        }
    }

    fn carry_out(&mut self, job: Job) -> Outcome {
        match job {
            Job::Write(write) => match *write {
                SliceWrite::Create(slice) => self.create(slice),
                SliceWrite::Update(slice) => self.update(slice),
                SliceWrite::Delete(slice) => self.delete(&slice),
            },
            Job::Read(name) => Outcome::Clear(match self.slices.get(&name) {
                None => Verdict::Missing,
                Some(slice) => Verdict::Stored(Box::new(slice.clone())),
            }),
        }
    }

    /// The devices of a pool as a reader has them, if it is whole. Taints are facts for themselves and are left out.
    fn whole(&self, pool: &str) -> Option<Vec<Device>> {
        let slices = self.slices.values().filter(|slice| slice.spec.pool.name == pool);
        let newest = slices.clone().map(|slice| slice.spec.pool.generation).max()?;
        let current: Vec<_> = slices.filter(|slice| slice.spec.pool.generation == newest).collect();
        let expected = current[0].spec.pool.resource_slice_count;
        let is_whole = usize::try_from(expected) == Ok(current.len());
        let devices = current.iter().flat_map(|slice| slice.spec.devices.iter().flatten()).cloned();
        is_whole.then(|| devices.map(untainted).collect())
    }

    fn tell(&mut self, desk: &mut Desk) {
        match self.events.pop_front() {
            Some(Seen::Applied(slice)) => desk.applied(*slice),
            Some(Seen::Deleted(name, uid)) => drop(desk.vanished(&name, &uid)),
            None => {}
        }
    }
}

fn untainted(mut device: Device) -> Device {
    device.taints.clear();
    device
}

fn node() -> Scope {
    Scope::Node("n1".to_owned())
}

fn owner() -> OwnerReference {
    let text = str::to_owned;
    let (api_version, kind, name, uid) = (text("v1"), text("Node"), text("n1"), text("uid-of-n1"));
    OwnerReference { api_version, kind, name, uid, ..OwnerReference::default() }
}

fn new_desk() -> Desk {
    let mut desk = Desk::new(DRIVER, node());
    desk.owned_by(owner());
    desk
}

/// A pool that depends on the seed: some devices, some of them changed, some tainted.
fn random_pool(dice: &mut Dice, name: &str) -> Pool {
    let mut pool = Pool { name: name.to_owned(), ..Pool::default() };
    let count = [0, 1, 60, 64, 65, 129, 200, 300][dice.below(8)];
    let revision = dice.below(3);
    for at in 0..count {
        // Most devices stay as they are from one wish to the next.
        let changed = if dice.one_in(100) { revision } else { 0 };
        let mut device = Device::named(format!("d{at}")).attribute("revision", changed as i64);
        if dice.one_in(150) {
            device = device.taint("broken", "", "NoSchedule");
        }
        if !dice.one_in(200) {
            pool.devices.push(device);
        }
    }
    pool
}

fn step(
    desk: &mut Desk,
    server: &mut Server,
    dice: &mut Dice,
    open: &mut Vec<(String, Outcome)>,
    now: Duration,
) {
    let mut jobs = desk.jobs(now, 4 - open.len().min(4));
    // What goes out at the same time arrives in any order.
    while !jobs.is_empty() {
        let job = jobs.swap_remove(dice.below(jobs.len()));
        let name = job_name(&job);
        assert!(open.iter().all(|(busy, _)| *busy != name), "two jobs about {name} at the same time");
        let outcome = match dice.below(10) {
            0 if matches!(job, Job::Write(_)) => {
                Outcome::Unclear(Doubt::Lost { why: "never sent".to_owned() })
            }
            1 if matches!(job, Job::Write(_)) => {
                server.carry_out(job);
                Outcome::Unclear(Doubt::Lost { why: "no answer".to_owned() })
            }
            2 => Outcome::Clear(Verdict::Failed { why: "busy".to_owned(), retry_after: None }),
            _ => server.carry_out(job),
        };
        open.push((name, outcome));
    }
    if !open.is_empty() && dice.one_in(2) {
        let (name, outcome) = open.swap_remove(dice.below(open.len()));
        if let (Some(next), _) = desk.settle(&name, outcome, now) {
            let outcome = server.carry_out(next);
            open.push((name, outcome));
        }
    }
    if dice.one_in(2) {
        server.tell(desk);
    }
}

fn job_name(job: &Job) -> String {
    match job {
        Job::Write(write) => write.slice().metadata.name.clone(),
        Job::Read(name) => name.clone(),
    }
}

/// Lets everything come to rest.
fn come_to_rest(desk: &mut Desk, server: &mut Server, mut now: Duration) {
    for _ in 0..10_000 {
        while !server.events.is_empty() {
            server.tell(desk);
        }
        if desk.is_settled() {
            return;
        }
        now = desk.wake_at(now).unwrap_or(now);
        for job in desk.jobs(now, 8) {
            let mut job = Some(job);
            while let Some(next) = job.take() {
                let name = job_name(&next);
                job = desk.settle(&name, server.carry_out(next), now).0;
            }
        }
    }
    panic!("it never comes to rest");
}

fn assert_as_wanted(server: &Server, wanted: &[Pool]) {
    for pool in wanted {
        let slices = server.slices.values().filter(|slice| slice.spec.pool.name == pool.name);
        let devices: Vec<Device> = slices.flat_map(|slice| slice.spec.devices.clone()).flatten().collect();
        let timeless = |mut device: Device| {
            device.taints.iter_mut().for_each(|taint| taint.time_added = None);
            device
        };
        let devices: Vec<Device> = devices.into_iter().map(timeless).collect();
        assert_eq!(devices, pool.devices, "pool {}", pool.name);
        let expected: Vec<Device> = pool.devices.iter().cloned().map(untainted).collect();
        assert_eq!(server.whole(&pool.name).unwrap_or_default(), expected);
    }
    let count: usize = server.slices.values().map(|slice| slice.spec.devices.iter().flatten().count()).sum();
    assert_eq!(count, wanted.iter().map(|pool| pool.devices.len()).sum::<usize>(), "nothing else is there");
    for slice in server.slices.values() {
        assert!(slice.metadata.owner_references.contains(&owner()));
        let devices = slice.spec.devices.iter().flatten();
        let limit = if devices.clone().any(|device| !device.taints.is_empty()) { 64 } else { 128 };
        assert!(devices.count() <= limit);
    }
}

fn story(seed: u64, others_interfere: bool) {
    let mut dice = Dice(seed);
    let (mut server, mut desk) = (Server::default(), new_desk());
    let mut open = Vec::new();
    let mut ever_wanted: BTreeMap<&str, Vec<Vec<Device>>> = BTreeMap::new();
    let mut wanted = Vec::new();
    let mut now = Duration::ZERO;
    for turn in 0..300 {
        now += Duration::from_millis(100);
        if turn % 40 == 0 {
            wanted = ["p", "q"].into_iter().map(|name| random_pool(&mut dice, name)).collect::<Vec<_>>();
            if dice.one_in(3) {
                wanted.pop();
            }
            for (name, pool) in ["p", "q"].into_iter().zip(&wanted) {
                let devices = pool.devices.iter().cloned().map(untainted).collect();
                ever_wanted.entry(name).or_default().push(devices);
            }
            desk.want(wanted.clone());
        }
        if turn == 10 {
            desk.synced();
        }
        if dice.one_in(60) {
            // The driver starts anew and knows nothing; what it sent may still arrive, and here has arrived already.
            desk = new_desk();
            open.clear();
            server.slices.values().for_each(|slice| desk.applied(slice.clone()));
            server.events.clear();
            desk.synced();
            desk.want(wanted.clone());
        }
        step(&mut desk, &mut server, &mut dice, &mut open, now);
        if others_interfere && dice.one_in(20) {
            interfere(&mut server, &mut dice);
        }
        for name in ["p", "q"].into_iter().filter(|_| !others_interfere) {
            let Some(seen) = server.whole(name) else { continue };
            assert!(ever_wanted[name].contains(&seen), "seed {seed}: a pool that nobody wanted, turn {turn}");
        }
    }
    for (name, outcome) in open {
        let mut outcome = Some(outcome);
        while let Some(settled) = outcome.take() {
            outcome = desk.settle(&name, settled, now).0.map(|next| server.carry_out(next));
        }
    }
    desk.synced();
    come_to_rest(&mut desk, &mut server, now);
    assert_as_wanted(&server, &wanted);
    let writes = server.writes;
    come_to_rest(&mut desk, &mut server, now);
    assert_eq!(server.writes, writes, "seed {seed}: what is right is not written again");
}

/// Somebody deletes a slice, changes one, or makes one with the driver's name.
fn interfere(server: &mut Server, dice: &mut Dice) {
    let names: Vec<String> = server.slices.keys().cloned().collect();
    let name = (!names.is_empty()).then(|| names[dice.below(names.len())].clone());
    match (dice.below(3), name) {
        (0, Some(name)) => server.remove(&name),
        (1, Some(name)) => {
            let mut slice = server.slices[&name].clone();
            slice.spec.devices.get_or_insert_default().truncate(1);
            server.store(slice);
        }
        _ => {
            let mut slice = ResourceSlice::default();
            slice.metadata.name = format!("stranger-{}", dice.below(3));
            slice.spec.driver = DRIVER.to_owned();
            slice.spec.node_name = Some("n1".to_owned());
            slice.spec.pool.name = "p".to_owned();
            slice.spec.pool.generation = dice.below(5) as i64;
            server.create(slice);
        }
    }
}

#[test]
fn nobody_ever_sees_a_pool_that_was_not_wanted() {
    (0..SEEDS).for_each(|seed| story(seed, false));
}

#[test]
fn whatever_others_do_the_server_has_what_was_wanted_last() {
    (0..SEEDS).for_each(|seed| story(seed, true));
    // The answer to a write came after the news that somebody had deleted the slice.
    story(2_127_933_115_566_920_277, true);
}

fn publication() -> Publication {
    Publication { driver: DRIVER.to_owned(), scope: node(), owner: Some(owner()) }
}

fn devices(count: usize) -> Pool {
    let devices = (0..count).map(|at| Device::named(format!("d{at}")).attribute("at", at as i64)).collect();
    Pool { name: "p".to_owned(), devices, ..Pool::default() }
}

/// A server that has the pool, and its slices.
fn having(pool: &Pool) -> Server {
    let (mut server, mut desk) = (Server::default(), new_desk());
    desk.want(vec![pool.clone()]);
    desk.synced();
    come_to_rest(&mut desk, &mut server, Duration::ZERO);
    server
}

fn writes(server: &Server, pool: &Pool) -> Vec<String> {
    let there: Vec<&ResourceSlice> = server.slices.values().collect();
    let shown = |write: SliceWrite| {
        let verb = match write {
            SliceWrite::Create(_) => "create",
            SliceWrite::Update(_) => "update",
            SliceWrite::Delete(_) => "delete",
        };
        let slice = write.slice();
        format!("{verb} {} at {}", &slice.metadata.name[..5], slice.spec.pool.generation)
    };
    plan(&publication(), Some(pool), &there, &Alterations::default()).into_iter().map(shown).collect()
}

#[test]
fn the_fewest_slices_are_written() {
    let pool = devices(300);
    let server = having(&pool);
    assert_eq!(server.writes, 3);
    assert!(writes(&server, &pool).is_empty(), "nothing changed");

    let mut changed = pool.clone();
    changed.devices[200] = Device::named("d200").attribute("at", -1);
    assert_eq!(writes(&server, &changed), ["update 00001 at 1"], "one slice can change for itself");
    changed.devices.remove(0);
    let all = ["update 00000 at 2", "update 00001 at 2", "update 00002 at 2"];
    assert_eq!(writes(&server, &changed), all, "two can be seen half done");
    let fewer = devices(128);
    assert_eq!(writes(&server, &fewer), ["update 00000 at 2", "delete 00001 at 1", "delete 00002 at 1"]);
}

#[test]
fn taints_are_written_where_they_are_and_keep_their_time() {
    let mut pool = devices(0);
    pool.devices =
        (0..120).map(|at| Device::named(format!("d{at}")).taint("old", "", "NoSchedule")).collect();
    let server = having(&pool);
    let time = |server: &Server, at: usize| {
        server.slices.values().nth(at).expect("it is there").spec.devices.as_ref().expect("devices")[0].taints
            [0]
        .time_added
    };
    assert!(time(&server, 1).is_some() && writes(&server, &pool).is_empty());
    for at in [0, 100] {
        pool.devices[at] = pool.devices[at].clone().taint("new", "", "NoExecute");
    }
    assert_eq!(writes(&server, &pool), ["update 00000 at 1", "update 00001 at 1"]);
    let there: Vec<&ResourceSlice> = server.slices.values().collect();
    let Some(SliceWrite::Update(slice)) =
        plan(&publication(), Some(&pool), &there, &Alterations::default()).pop()
    else {
        panic!("an update");
    };
    let taints: &[DeviceTaint] = &slice.spec.devices.as_ref().expect("devices")[36].taints;
    assert_eq!(taints[0].time_added, time(&server, 1));
    assert_eq!(taints[1].time_added, None, "the server says when");
}

#[test]
fn a_slice_that_was_lost_is_made_again_without_touching_the_others() {
    let pool = devices(300);
    let mut server = having(&pool);
    let name = server.slices.keys().nth(1).expect("three").clone();
    server.remove(&name);
    assert_eq!(writes(&server, &pool), ["create 00001 at 1"]);
}

#[test]
fn after_a_failure_there_is_a_pause_and_then_only_the_answer_is_waited_for() {
    let mut desk = new_desk();
    desk.want(vec![devices(1)]);
    desk.synced();
    let job = desk.jobs(Duration::ZERO, 8).remove(0);
    let failed = Verdict::Failed { why: "busy".to_owned(), retry_after: Some(Duration::from_secs(3)) };
    desk.settle(&job_name(&job), Outcome::Clear(failed), Duration::ZERO);
    assert!(desk.jobs(Duration::from_secs(2), 8).is_empty(), "the server wanted three seconds");
    assert_eq!(desk.wake_at(Duration::from_secs(2)), Some(Duration::from_secs(3)));
    assert_eq!(desk.jobs(Duration::from_secs(3), 8).len(), 1);
    assert_eq!(desk.wake_at(Duration::from_secs(3)), None, "a job is under way");
}

#[test]
fn fields_that_the_server_drops_are_said_once_and_not_sent_for_ever() {
    let partition = |name: &str| {
        let mut device = Device::named(name).draws("gpu-0", &[("memory", "10Gi")]).expect("an amount");
        device.consumes_counters[0].compatibility_groups = vec!["mig".to_owned()];
        device.taint("t", "", "NoSchedule")
    };
    let sets: Vec<CounterSet> = vec![counter_set("gpu-0", &[("memory", "80Gi")]).expect("an amount")];
    let mut pool = Pool { name: "p".to_owned(), counter_sets: sets, ..Pool::default() };
    pool.devices = vec![partition("a"), partition("b")];
    check(&publication(), std::slice::from_ref(&pool)).expect("a good pool");
    let mut server = Server { drops_groups: true, ..Server::default() };
    let mut desk = new_desk();
    desk.want(vec![pool.clone()]);
    desk.synced();
    let mut said = Vec::new();
    for _ in 0..5 {
        for job in desk.jobs(Duration::ZERO, 8) {
            let name = job_name(&job);
            said.extend(desk.settle(&name, server.carry_out(job), Duration::ZERO).1);
        }
        while !server.events.is_empty() {
            server.tell(&mut desk);
        }
    }
    assert!(desk.is_settled());
    assert_eq!(server.writes, 2, "counters and devices");
    let fields = vec!["devices[].consumesCounters[].compatibilityGroups".to_owned()];
    let gates = vec!["DRADeviceCompatibilityGroups".to_owned()];
    assert_eq!(said, [PublishTrouble::FieldsDropped { pool: "p".to_owned(), fields, gates }]);
    pool.devices.push(partition("c"));
    desk.want(vec![pool]);
    come_to_rest(&mut desk, &mut server, Duration::ZERO);
    assert_eq!(server.writes, 3, "what changes is sent");
}

#[test]
fn times_of_devices_are_in_an_annotation_too() {
    let mut pool = devices(2);
    pool.devices[1].binds_to_node = Some(true);
    pool.devices[1].binding_conditions = vec!["Ready".to_owned()];
    pool.devices[1].binding_failure_conditions = vec!["Broken".to_owned()];
    pool.devices[1].binding_timeout = Some("90s".to_owned());
    check(&publication(), std::slice::from_ref(&pool)).expect("a good pool");
    let mut server = having(&pool);
    let annotation = |server: &Server| {
        let slice = server.slices.values().next().expect("it is there");
        slice.metadata.annotations.get("supercargo.dev/binding-timeouts").cloned()
    };
    assert_eq!(annotation(&server).as_deref(), Some(r#"{"d1":"90s"}"#));
    assert!(writes(&server, &pool).is_empty());
    server.slices.values_mut().for_each(|slice| slice.metadata.annotations.clear());
    assert_eq!(writes(&server, &pool), ["update 00000 at 1"], "somebody took it away");
}

#[test]
fn what_is_wrong_names_pool_and_device() {
    let told = |pools: &[Pool]| check(&publication(), pools).expect_err("it is wrong").to_string();
    let mut pool = devices(200);
    pool.devices[150].name = "d1".to_owned();
    assert_eq!(told(&[pool]), "pool p, device d1: is there twice");
    let mut pool = devices(200);
    pool.devices[150].name = "D_150".to_owned();
    assert!(
        told(&[pool.clone()]).starts_with("pool p, device D_150: name: \"D_150\": must be lower case"),
        "{}",
        told(&[pool])
    );
    let mut pool = devices(1);
    pool.devices[0] = pool.devices[0].clone().draws("s", &[("c", "1")]).expect("an amount");
    assert_eq!(
        told(&[pool.clone()]),
        "pool p, device d0: draws from counter set \"s\", which the pool does not have"
    );
    pool.counter_sets = vec![counter_set("s", &[("d", "1")]).expect("an amount")];
    assert_eq!(told(&[pool]), "pool p, device d0: draws from counter \"c\", which set s does not have");
    let pool = Pool { reach: Reach::AllNodes, ..devices(1) };
    assert!(told(&[pool]).contains("hint: publish it with a network scope"));
    assert_eq!(told(&[devices(1), devices(1)]), "pool p: is there twice");
}
