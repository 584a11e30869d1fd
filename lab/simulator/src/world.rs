//! A whole cluster in one loop, with faults: a seed decides what everybody does, what goes wrong, and when.
//!
//! Invariant: the same seed gives the same history, on every machine. Nothing here looks at a clock or a random source;
//! what happens next is on the agenda, and dice with a seed decide the rest.

mod actors;
mod agenda;
mod api;
mod attacher;
mod bargain;
mod carry;
mod component;
mod dice;
mod ending;
mod errand;
mod extras;
mod gangs;
mod judge;
mod keeper;
mod lender;
mod lent;
mod life;
mod machine;
mod machines;
mod mislead;
mod node_taints;
mod partitions;
mod played_cluster;
mod policies;
mod provisioner;
mod ranks;
mod recorded;
mod replica;
mod rules;
mod schedulers;
mod setup;
mod shown;
mod storage;
mod trace;
mod trees;
mod verdict;
mod wishes;
mod workload;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gates::Gates;
use model::timestamp::Timestamp;
use objects::resource::class::DeviceClass;
use scheduler::engine::ConsiderationId;
use scheduling::protocol::{CallOutcome, Classes, Heard};
use scheduling::request::ApiCall;

use agenda::Agenda;
use api::{Api, Caller};
use attacher::Attacher;
pub use bargain::{bargain, rebargain_command};
pub use component::{Component, Crash, Moment};
use dice::Dice;
use errand::Errand;
pub use extras::Extra;
use judge::Judge;
use keeper::Keeper;
pub use lender::{Lender, Mood};
use life::Life;
pub use life::{Kind, LifeReport, crashes, live, relive_command};
use machine::Machine;
pub use played_cluster::{Acted, Caretaker, PlayedCluster};
pub use recorded::{Recorded, record, record_bargain};
use replica::{Replica, followed};
use setup::WorldSetup;
pub use setup::{Arrangement, Devices, Fault, Faults, Groups, Sabotage};
use trace::Trace;

/// When every world begins.
const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

/// How long the world goes on when nothing goes wrong any more. It is shorter than the time after which a pod that sleeps is
/// tried again without a reason, so that a wake-up that was lost shows.
const CALM_MS: i64 = 45_000;

/// How long it takes at most until nothing is left, when everybody is asked to go.
const CLOSE_MS: i64 = 30_000;

/// How long the last writes take at most when nothing goes wrong any more.
const WRITES_END_MS: i64 = 2_000;

/// A world in which more happens than this never comes to rest.
const HAPPENINGS_MAX: u64 = 60_000;

/// Something that is due.
#[derive(Debug)]
enum Happening {
    /// Those who use the cluster do something.
    Act,
    /// Controllers look after claims.
    Tend,
    /// Nodes run their pods.
    Run,
    /// What belongs to somebody who is gone goes too.
    Collect,
    /// Somebody makes devices ready.
    MakeReady,
    /// A scheduler is told what is new of a kind.
    Tell { replica: usize, life: u32, stream: usize },
    /// A scheduler lists everything of a kind.
    List { replica: usize, life: u32, stream: usize },
    /// A scheduler has time to place pods.
    Turn { replica: usize, life: u32 },
    /// A scheduler wanted to be woken.
    Wake { replica: usize, life: u32 },
    /// What takes a scheduler long to decide is decided.
    Decide { replica: usize, life: u32, id: ConsiderationId },
    /// Whoever carries out a write begins to, or has waited long enough.
    GoOn { errand: u64, heard: Heard },
    /// A call arrives.
    Arrive { errand: u64, call: Box<ApiCall>, fate: carry::Fate, by: Caller },
    /// A call arrives that nobody waits for any more.
    ArriveLate { call: Box<ApiCall>, by: Caller },
    /// An answer arrives, or the wait for it ends.
    Answer { errand: u64, answer: CallOutcome },
    /// Something may happen to a scheduler.
    Chance,
    /// A scheduler starts.
    Start { replica: usize },
    /// A replica leads from now on.
    Lead { replica: usize },
    /// A component dies.
    Strike { component: Component },
    /// Somebody looks whether the pods of a life have done their work.
    Visit,
    /// Drivers that give devices themselves do something.
    Bargain,
    /// Whoever makes volumes does something.
    Provide,
}

/// What came of a world.
#[derive(Clone, Debug)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// What was wrong, the first first. Nothing, if all is well.
    pub violations: Vec<String>,
    /// How often what went wrong.
    pub faults: Faults,
    /// Who schedules.
    pub arrangement: Arrangement,
    /// Whether devices had to be made ready.
    pub readied: bool,
    /// Whether partitions have compatibility groups.
    pub groups: Groups,
    /// What it has that not every world has.
    pub extras: BTreeSet<Extra>,
    /// How many pods were bound.
    pub bound: u64,
    /// How often a gang had as many members on nodes as it needs.
    pub gangs: u64,
    /// How many attempts failed.
    pub refused: u64,
    /// How many writes the API carried out.
    pub revisions: u64,
    /// How many things happened.
    pub happenings: u64,
    /// Tells histories apart.
    pub hash: u64,
    /// The history, if it was asked for.
    pub lines: Vec<String>,
}

/// Plays the world of a seed.
#[must_use]
pub fn play(seed: u64, sabotage: Sabotage, keep_lines: bool) -> Report {
    played(seed, sabotage, (keep_lines, false)).report()
}

/// The world of a seed when it is over, with its history and its recordings if they are wanted.
fn played(seed: u64, sabotage: Sabotage, (keep_lines, records): (bool, bool)) -> World {
    let mut world = World::new(seed, sabotage, keep_lines);
    world.records = records;
    world.begin(workload::furnish);
    world.go_on();
    world.await_writes();
    if world.violations.is_empty() {
        world.check_ending();
    }
    if world.violations.is_empty() {
        world.close();
    }
    world
}

/// Whether partitions have compatibility groups in the world of a seed.
#[must_use]
pub fn groups_of(seed: u64) -> Groups {
    WorldSetup::new(seed, Sabotage::None).groups
}

/// The command that plays a world again, with its history.
#[must_use]
pub fn replay_command(seed: u64) -> String {
    format!("cargo run -p simulator -- --seed {seed} --trace")
}

struct World {
    seed: u64,
    gates: Gates,
    setup: WorldSetup,
    agenda: Agenda<Happening>,
    api: Api,
    replicas: Vec<Replica>,
    errands: BTreeMap<u64, Errand>,
    sent: u64,
    classes: Classes,
    judge: Judge,
    trace: Trace,
    /// Dice for what people do, which faults do not change.
    deeds: Dice,
    /// Dice for everything else.
    chances: Dice,
    /// When the world ends; it is not known before everything that goes wrong has gone wrong.
    end: Option<i64>,
    keeper: Keeper,
    attacher: Attacher,
    /// Nodes by name.
    machines: BTreeMap<String, Machine>,
    /// Claims of pods that somebody removed without waiting for their nodes, by uid: they may be given away while they
    /// are in use.
    forsaken: BTreeSet<String>,
    /// The one life that is lived here, if it is no world of chances.
    life: Option<Life>,
    /// Drivers that give devices themselves, if it is a world of these.
    market: Option<bargain::Market>,
    /// Until then the controllers of these drivers are dead.
    lenders_down_until: i64,
    /// Up to where garbage was looked for.
    collected: u64,
    /// Failed attempts by pod, since the world came to rest.
    attempts: BTreeMap<String, u32>,
    violations: Vec<String>,
    bound: u64,
    refused: u64,
    happenings: u64,
    /// Whether schedulers record what they are told and do.
    records: bool,
}

impl World {
    fn new(seed: u64, sabotage: Sabotage, keep_lines: bool) -> World {
        World::of(seed, WorldSetup::new(seed, sabotage), keep_lines)
    }

    fn of(seed: u64, setup: WorldSetup, keep_lines: bool) -> World {
        let gates = gangs::gates_of(&setup);
        World::with_gates(seed, setup, gates, keep_lines)
    }

    fn with_gates(seed: u64, setup: WorldSetup, gates: Gates, keep_lines: bool) -> World {
        let mut api = Api::new(gates, START);
        api.drops_groups = setup.groups == Groups::Dropped;
        let rivals = setup.arrangement == Arrangement::Rivals;
        World {
            seed,
            gates,
            setup,
            agenda: Agenda::new(),
            replicas: Vec::new(),
            errands: BTreeMap::new(),
            sent: 0,
            classes: Classes::default(),
            judge: Judge::new(gates, rivals),
            trace: Trace::new(keep_lines),
            deeds: Dice::new(seed, 2),
            chances: Dice::new(seed, 3),
            end: None,
            keeper: Keeper::new(&api),
            attacher: Attacher::new(&api),
            machines: BTreeMap::new(),
            forsaken: BTreeSet::new(),
            life: None,
            market: None,
            lenders_down_until: 0,
            collected: 0,
            api,
            attempts: BTreeMap::new(),
            violations: Vec::new(),
            bound: 0,
            refused: 0,
            happenings: 0,
            records: false,
        }
    }

    /// Starts with what is there from the beginning.
    fn begin(&mut self, furnish: impl FnOnce(&mut Api, &WorldSetup, &mut Dice)) {
        furnish(&mut self.api, &self.setup, &mut self.deeds);
        let classes = self.api.list("DeviceClass");
        let classes = classes
            .iter()
            .map(|(key, class)| (key.name.to_string(), Arc::clone(class.read::<DeviceClass>())));
        self.classes = Arc::new(classes.collect());
        let [first, second] = workload::SCHEDULERS;
        let replicas: &[(&'static str, bool)] = match self.setup.arrangement {
            Arrangement::Alone => &[(first, true)],
            Arrangement::Replicas => &[(first, true), (first, false)],
            Arrangement::Rivals => &[(first, true), (second, true)],
        };
        for (at, (name, leads)) in replicas.iter().enumerate() {
            let mut replica = Replica::new(name, self.setup.slice_max, &self.api, *leads);
            replica.recording = self.records.then(Vec::new);
            self.replicas.push(replica);
            self.start(at);
        }
        self.spread();
        for happening in [Happening::Tend, Happening::Run, Happening::Collect, Happening::Chance] {
            self.agenda.after(500, happening);
        }
        if self.setup.acts > 0 {
            self.agenda.after(500, Happening::Act);
        }
        if self.setup.readied {
            self.agenda.after(500, Happening::MakeReady);
        }
        if self.setup.has(Extra::Provisioned) {
            self.agenda.after(500, Happening::Provide);
        }
    }

    fn go_on(&mut self) {
        loop {
            let Some(happening) = self.agenda.next(self.end.unwrap_or(i64::MAX)) else { return };
            self.happenings += 1;
            if self.happenings > HAPPENINGS_MAX {
                self.violations.push("the world never comes to rest".to_owned());
            }
            self.api.now = START.plus_millis(self.agenda.now());
            self.happen(happening);
            self.spread();
            if !self.violations.is_empty() {
                return;
            }
        }
    }

    /// A write may have begun at the very end, such as one that refreshes figures. It is soon over, as nothing goes wrong.
    fn await_writes(&mut self) {
        for _ in 0..WRITES_END_MS / 100 {
            if self.violations.is_empty() && !self.errands.is_empty() {
                self.end = self.end.map(|end| end + 100);
                self.go_on();
            }
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Act => self.act(),
            Happening::Tend => {
                self.tend();
                self.agenda.after(self.chances.millis(20, 200), Happening::Tend);
            }
            Happening::Run => {
                self.run_machines();
                self.agenda.after(self.chances.millis(20, 200), Happening::Run);
            }
            Happening::Collect => {
                actors::remove_stranded(&mut self.api, &mut self.chances, self.setup.calm);
                if self.setup.has(Extra::NodeTaints) {
                    node_taints::evict(&mut self.api, &mut self.chances, self.setup.calm);
                }
                if self.collected < self.api.revision() {
                    actors::collect_garbage(&mut self.api);
                    self.collected = self.api.revision();
                }
                self.agenda.after(self.chances.millis(200, 1_200), Happening::Collect);
            }
            Happening::MakeReady => {
                self.make_ready();
                self.agenda.after(self.chances.millis(50, 600), Happening::MakeReady);
            }
            Happening::Tell { replica, life, stream } => {
                if self.is_life(replica, life) {
                    self.tell_news(replica, stream);
                }
            }
            Happening::List { replica, life, stream } => {
                if self.is_life(replica, life) {
                    self.list(replica, stream);
                }
            }
            Happening::Turn { replica, life } => {
                if self.is_life(replica, life) {
                    self.turn(replica);
                }
            }
            Happening::Wake { replica, life } => {
                if self.is_life(replica, life) {
                    self.replicas[replica].wake_planned = None;
                    self.plan_turn(replica);
                }
            }
            Happening::Decide { replica, life, id } => {
                if self.is_life(replica, life) {
                    self.decide(replica, id);
                }
            }
            Happening::GoOn { errand, heard } => self.go_on_with(errand, heard),
            Happening::Arrive { errand, call, fate, by } => self.arrive(errand, &call, fate, by),
            Happening::ArriveLate { call, by } => self.arrive_late(&call, by),
            Happening::Answer { errand, answer } => self.answer(errand, answer),
            Happening::Chance => self.take_chances(),
            Happening::Start { replica } => self.start(replica),
            Happening::Lead { replica } => self.lead(replica),
            Happening::Strike { component } => self.strike(component),
            Happening::Visit => self.visit(),
            Happening::Bargain => self.trade(),
            Happening::Provide => self.provide(),
        }
    }

    /// Controllers see some of what is new, and do one thing.
    fn tend(&mut self) {
        if self.keeper.down_until > self.agenda.now() {
            return;
        }
        let calm = self.setup.calm || self.life.is_some();
        let most = [(); 3].map(|()| if calm { usize::MAX } else { self.chances.below(6) });
        self.keeper.follow(&self.api, most);
        if !self.keeper.has_work(&mut self.api, self.setup.sabotage) {
            return;
        }
        if self.setup.strikes(Fault::NeverArrived, &mut self.chances) {
            return self.keeper.give_up();
        }
        let Some(what) = self.keeper.work(&mut self.api, self.setup.sabotage) else { return };
        if self.setup.strikes(Fault::LostAnswer, &mut self.chances) {
            self.keeper.give_up();
        }
        self.did(Component::Controller, &what, 0);
    }

    /// A component has done something that lasts, and will know of it after so many milliseconds. In a life this is where
    /// one of them dies.
    fn did(&mut self, by: Component, what: &str, answered_in: i64) {
        self.trace.note(self.agenda.now(), format_args!("the {by} does this: {what}"));
        let Some(crash) = self.life.as_mut().and_then(|life| life.note(by, what)) else { return };
        match crash.moment {
            Moment::Unanswered => self.strike(crash.component),
            Moment::Answered => {
                self.agenda.after(answered_in, Happening::Strike { component: crash.component });
            }
        }
    }

    /// A component dies, on every node if it is one of those.
    fn strike(&mut self, component: Component) {
        let until = self.agenda.now() + self.chances.millis(500, 5_000);
        match component {
            Component::Scheduler => self.crash(0),
            Component::Controller => {
                self.trace.note(self.agenda.now(), format_args!("the controller dies"));
                self.keeper = Keeper::new(&self.api);
                self.keeper.down_until = until;
            }
            Component::Node | Component::Driver => {
                for node in self.machines.keys().cloned().collect::<Vec<_>>() {
                    self.stop_on(&node, component, until);
                }
            }
            Component::Lender => {
                self.trace.note(self.agenda.now(), format_args!("the drivers' controllers die"));
                self.lenders_down_until = until;
            }
        }
    }

    fn act(&mut self) {
        let now = self.agenda.now();
        let done = workload::act(&mut self.api, &self.setup, &mut self.deeds, &mut self.trace, now);
        if let Some(pod) = done {
            self.forsake(&pod);
        }
        self.setup.acts -= 1;
        if self.setup.acts > 0 {
            let pause = self.deeds.millis(0, 1_500);
            self.agenda.after(pause, Happening::Act);
            return;
        }
        self.trace.note(now, format_args!("from here on nothing goes wrong"));
        self.setup.calm = true;
        self.end = Some(now + CALM_MS);
    }

    /// A pod was removed without waiting for its node.
    fn forsake(&mut self, pod: &str) {
        let machines = self.machines.values().flat_map(|machine| &machine.entries);
        let used = machines.filter(|(_, entry)| entry.pods.contains(pod));
        self.forsaken.extend(used.map(|(claim, _)| claim.clone()));
    }

    fn is_life(&self, replica: usize, life: u32) -> bool {
        let replica = &self.replicas[replica];
        replica.alive && replica.life == life
    }

    /// Lets the judge look at what was written, and those who watch know that there is something new.
    fn spread(&mut self) {
        for made in self.api.take_made() {
            let object = self.api.shown(&made.event.object);
            let (kind, key) = (&made.site.kind.kind, &made.event.key);
            let revision = made.event.revision();
            let now = self.agenda.now();
            self.trace.note(now, format_args!("{revision}: {:?} {kind} {}", made.event.change, key.name));
            if kind == "Node" {
                // A machine goes with its node, and one of the same name is another.
                match made.event.change {
                    store::Change::Deleted => drop(self.machines.remove(&*key.name)),
                    _ => drop(self.machines.entry(key.name.to_string()).or_default()),
                }
            }
            let prepared = self.machines.values().flat_map(|machine| &machine.prepared);
            let prepared = prepared.filter(|claim| !self.forsaken.contains(*claim)).map(String::as_str);
            for wrong in self.judge.see(&made, &object, &prepared.collect()) {
                self.trace.note(now, format_args!("WRONG: {wrong}"));
                self.violations.push(wrong);
            }
            let Some(stream) = followed(self.gates).position(|followed| followed == *kind) else { continue };
            for replica in 0..self.replicas.len() {
                self.plan_news(replica, stream);
            }
        }
    }

    fn report(self) -> Report {
        let (hash, lines) = self.trace.end();
        Report {
            seed: self.seed,
            violations: self.violations,
            faults: self.setup.counts,
            arrangement: self.setup.arrangement,
            readied: self.setup.readied,
            groups: self.setup.groups,
            extras: self.setup.extras,
            bound: self.bound,
            gangs: self.judge.gangs.completed,
            refused: self.refused,
            revisions: self.api.revision(),
            happenings: self.happenings,
            hash,
            lines,
        }
    }
}
