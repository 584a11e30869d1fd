//! A whole cluster in one loop, with faults: a seed decides what everybody does, what goes wrong, and when.
//!
//! Invariant: the same seed gives the same history, on every machine. Nothing here looks at a clock or a random source;
//! what happens next is on the agenda, and dice with a seed decide the rest.

mod actors;
mod agenda;
mod api;
mod carry;
mod dice;
mod ending;
mod errand;
mod judge;
mod plan;
mod replica;
mod trace;
mod workload;

use std::collections::BTreeMap;

use convert::request::ApiCall;
use gates::Gates;
use model::timestamp::Timestamp;
use objects::resource::class::DeviceClass;
use scheduler::engine::{Announcement, Effect, Input};
use serde::Deserialize;

use agenda::Agenda;
use api::Api;
use dice::Dice;
use errand::{Answer, Errand};
use judge::Judge;
use plan::Plan;
pub use plan::{Arrangement, Devices, Fault, Faults, Sabotage};
use replica::{FOLLOWED, Replica};
use trace::Trace;

/// When every world begins.
const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

/// How long the world goes on when nothing goes wrong any more. It is shorter than the time after which a pod that sleeps is
/// tried again without a reason, so that a wake-up that was lost shows.
const CALM_MS: i64 = 45_000;

/// A world in which more happens than this never comes to rest.
const HAPPENINGS_MAX: u64 = 40_000;

/// Something that is due.
#[derive(Debug)]
enum Happening {
    /// Those who use the cluster do something.
    Act,
    /// Controllers look after claims.
    Tend,
    /// Nodes run their pods.
    Run,
    /// A scheduler is told what is new of a kind.
    Tell { replica: usize, life: u32, stream: usize },
    /// A scheduler lists everything of a kind.
    List { replica: usize, life: u32, stream: usize },
    /// A scheduler has time to place pods.
    Turn { replica: usize, life: u32 },
    /// A scheduler wanted to be woken.
    Wake { replica: usize, life: u32 },
    /// Whoever carries out a write makes the next call.
    Send { errand: u64 },
    /// A call arrives.
    Arrive { errand: u64, call: Box<ApiCall>, is_last: bool, fate: carry::Fate },
    /// A call arrives that nobody waits for any more.
    ArriveLate { replica: usize, call: Box<ApiCall> },
    /// An answer arrives, or the wait for it ends.
    Answer { errand: u64, answer: Answer, is_last: bool },
    /// Something may happen to a scheduler.
    Chance,
    /// A scheduler starts.
    Start { replica: usize },
    /// A replica leads from now on.
    Lead { replica: usize },
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
    /// How many pods were bound.
    pub bound: u64,
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
    let mut world = World::new(seed, sabotage, keep_lines);
    world.begin();
    world.go_on();
    if world.violations.is_empty() {
        world.check_ending();
    }
    world.report()
}

/// The command that plays a world again, with its history.
#[must_use]
pub fn replay_command(seed: u64) -> String {
    format!("cargo run -p simulator -- --seed {seed} --trace")
}

struct World {
    seed: u64,
    gates: Gates,
    plan: Plan,
    agenda: Agenda<Happening>,
    api: Api,
    replicas: Vec<Replica>,
    errands: BTreeMap<u64, Errand>,
    sent: u64,
    classes: BTreeMap<String, DeviceClass>,
    judge: Judge,
    trace: Trace,
    /// Dice for what people do, which faults do not change.
    deeds: Dice,
    /// Dice for everything else.
    chances: Dice,
    /// When everything that goes wrong has gone wrong.
    calm_at: Option<i64>,
    /// What controllers have seen, and what nodes have.
    tended: u64,
    ran: u64,
    /// Failed attempts by pod, since the world came to rest.
    attempts: BTreeMap<String, u32>,
    violations: Vec<String>,
    bound: u64,
    refused: u64,
    happenings: u64,
}

impl World {
    fn new(seed: u64, sabotage: Sabotage, keep_lines: bool) -> World {
        let gates = Gates::default();
        let plan = Plan::new(seed, sabotage);
        let rivals = plan.arrangement == Arrangement::Rivals;
        World {
            seed,
            gates,
            plan,
            agenda: Agenda::new(),
            api: Api::new(gates, START),
            replicas: Vec::new(),
            errands: BTreeMap::new(),
            sent: 0,
            classes: BTreeMap::new(),
            judge: Judge::new(gates, rivals),
            trace: Trace::new(keep_lines),
            deeds: Dice::new(seed, 2),
            chances: Dice::new(seed, 3),
            calm_at: None,
            tended: 0,
            ran: 0,
            attempts: BTreeMap::new(),
            violations: Vec::new(),
            bound: 0,
            refused: 0,
            happenings: 0,
        }
    }

    fn begin(&mut self) {
        workload::furnish(&mut self.api, &self.plan, &mut self.deeds);
        for (key, class) in self.api.list("DeviceClass") {
            let class = DeviceClass::deserialize(&*class).expect("what was admitted is of its kind");
            self.classes.insert(key.name.to_string(), class);
        }
        let [first, second] = workload::SCHEDULERS;
        let replicas: &[(&'static str, bool)] = match self.plan.arrangement {
            Arrangement::Alone => &[(first, true)],
            Arrangement::Replicas => &[(first, true), (first, false)],
            Arrangement::Rivals => &[(first, true), (second, true)],
        };
        for (at, (name, leads)) in replicas.iter().enumerate() {
            self.replicas.push(Replica::new(name, self.gates, &self.api, *leads));
            self.start(at);
        }
        for happening in [Happening::Act, Happening::Tend, Happening::Run, Happening::Chance] {
            self.agenda.after(500, happening);
        }
        self.spread();
    }

    fn go_on(&mut self) {
        loop {
            let end = self.calm_at.map_or(i64::MAX, |calm| calm + CALM_MS);
            let Some(happening) = self.agenda.next(end) else { return };
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

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Act => self.act(),
            Happening::Tend => {
                if self.tended < self.api.revision() {
                    actors::tend(&mut self.api);
                    self.tended = self.api.revision();
                }
                self.agenda.after(self.chances.millis(200, 1_200), Happening::Tend);
            }
            Happening::Run => {
                if !self.plan.calm || self.ran < self.api.revision() {
                    self.ran = self.api.revision();
                    actors::run_pods(&mut self.api, &mut self.chances, self.plan.calm);
                }
                self.agenda.after(self.chances.millis(300, 1_500), Happening::Run);
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
            Happening::Send { errand } => self.send(errand),
            Happening::Arrive { errand, call, is_last, fate } => self.arrive(errand, &call, is_last, fate),
            Happening::ArriveLate { replica, call } => self.arrive_late(replica, &call),
            Happening::Answer { errand, answer, is_last } => self.answer(errand, answer, is_last),
            Happening::Chance => self.take_chances(),
            Happening::Start { replica } => self.start(replica),
            Happening::Lead { replica } => self.lead(replica),
        }
    }

    fn act(&mut self) {
        let now = self.agenda.now();
        workload::act(&mut self.api, &self.plan, &mut self.deeds, &mut self.trace, now);
        self.plan.acts -= 1;
        if self.plan.acts > 0 {
            let pause = self.deeds.millis(0, 1_500);
            self.agenda.after(pause, Happening::Act);
            return;
        }
        self.trace.note(now, format_args!("from here on nothing goes wrong"));
        self.plan.calm = true;
        self.calm_at = Some(now);
    }

    fn is_life(&self, replica: usize, life: u32) -> bool {
        let replica = &self.replicas[replica];
        replica.alive && replica.life == life
    }

    /// Lets the judge look at what was written, and those who watch know that there is something new.
    fn spread(&mut self) {
        for made in self.api.take_made() {
            let object = self.api.shown(made.site, &made.event.entry);
            let (kind, key) = (&made.site.kind.kind, &made.event.key);
            let revision = made.event.revision();
            let now = self.agenda.now();
            self.trace.note(now, format_args!("{revision}: {:?} {kind} {}", made.event.change, key.name));
            for wrong in self.judge.see(&made, &object) {
                self.trace.note(now, format_args!("WRONG: {wrong}"));
                self.violations.push(wrong);
            }
            let Some(stream) = FOLLOWED.iter().position(|followed| followed == kind) else { continue };
            for replica in 0..self.replicas.len() {
                self.plan_news(replica, stream);
            }
        }
    }

    /// Plans that a scheduler is told what is new of a kind.
    fn plan_news(&mut self, replica: usize, stream: usize) {
        let to = &mut self.replicas[replica];
        let life = to.life;
        let stream_of = &mut to.streams[stream];
        if !to.alive || !stream_of.listed || stream_of.planned {
            return;
        }
        stream_of.planned = true;
        let late = self.plan.strikes(Fault::LateEvent, &mut self.chances);
        let pause = if late { self.chances.millis(500, 8_000) } else { self.chances.millis(1, 30) };
        self.agenda.after(pause, Happening::Tell { replica, life, stream });
    }

    fn tell_news(&mut self, replica: usize, stream: usize) {
        let most = 1 + self.chances.below(4);
        let to = &mut self.replicas[replica].streams[stream];
        to.planned = false;
        if to.broken {
            return;
        }
        if self.plan.strikes(Fault::BrokenWatch, &mut self.chances) {
            to.broken = true;
            let life = self.replicas[replica].life;
            let pause = self.chances.millis(100, 8_000);
            self.trace.note(
                self.agenda.now(),
                format_args!("scheduler {replica} loses its watch of {}", FOLLOWED[stream]),
            );
            self.agenda.after(pause, Happening::List { replica, life, stream });
            return;
        }
        let kind = FOLLOWED[stream];
        let mut news = to.follow(&mut self.api, most);
        if self.plan.sabotage == Sabotage::DeafToClaims && kind == "ResourceClaim" {
            news.clear();
        }
        for change in news {
            let is_departure = matches!(change, scheduler::change::Change::PodGone(_));
            if is_departure && self.plan.sabotage == Sabotage::DeafToDepartures {
                continue;
            }
            let again = self.plan.strikes(Fault::RepeatedEvent, &mut self.chances).then(|| change.clone());
            self.tell(replica, Input::Changed(change));
            if let Some(change) = again {
                self.tell(replica, Input::Changed(change));
            }
        }
        let to = &self.replicas[replica].streams[stream];
        let seen = to.seen;
        self.trace.note(self.agenda.now(), format_args!("scheduler {replica} has seen {kind} up to {seen}"));
        if !to.has_seen(&self.api, u64::MAX) {
            self.plan_news(replica, stream);
        }
    }

    fn list(&mut self, replica: usize, stream: usize) {
        let facts = self.replicas[replica].streams[stream].list(&mut self.api);
        let (now, kind) = (self.agenda.now(), FOLLOWED[stream]);
        self.trace.note(now, format_args!("scheduler {replica} lists {kind}: {} facts", facts.len()));
        for change in facts {
            self.tell(replica, Input::Changed(change));
        }
        self.plan_turn(replica);
    }

    /// Tells an engine something, and does what it wants done.
    fn tell(&mut self, replica: usize, input: Input) {
        let is_change = matches!(input, Input::Changed(_));
        let effects = self.replicas[replica].engine.handle(self.api.now, input);
        for effect in effects {
            match effect {
                Effect::Submit(id, write) => self.submit(replica, id, write),
                Effect::WakeAt(time) => self.plan_wake(replica, time),
                Effect::Announce(announcement) => self.hear(replica, &announcement),
            }
        }
        if !(is_change && self.plan.sabotage == Sabotage::SleepsOn) {
            self.plan_turn(replica);
        }
    }

    fn hear(&mut self, replica: usize, announcement: &Announcement) {
        let now = self.agenda.now();
        match announcement {
            Announcement::Scheduled { pod, node, .. } => {
                self.bound += 1;
                self.trace.note(now, format_args!("scheduler {replica} has put {} on {node}", pod.id));
            }
            Announcement::FailedScheduling { pod, message, .. } => {
                self.refused += 1;
                if self.plan.calm {
                    *self.attempts.entry(pod.id.to_string()).or_default() += 1;
                }
                self.trace
                    .note(now, format_args!("scheduler {replica} finds no place for {}: {message}", pod.id));
            }
            Announcement::DevicesPending { pod, message, .. } => {
                self.trace.note(now, format_args!("scheduler {replica}: {} is {message}", pod.id));
            }
            Announcement::DevicesDone { pod, outcome, .. } => {
                let outcome = outcome.name();
                self.trace.note(now, format_args!("scheduler {replica}: devices of {}: {outcome}", pod.id));
            }
            Announcement::Preempted { pod, by, node } => {
                self.trace.note(
                    now,
                    format_args!("scheduler {replica} displaces {} for {} on {node}", pod.id, by.id),
                );
            }
        }
    }

    fn plan_wake(&mut self, replica: usize, time: Timestamp) {
        let due = (time.micros() - START.micros()).div_euclid(1_000) + 1;
        let to = &mut self.replicas[replica];
        if to.wake_planned.is_none_or(|planned| due < planned) {
            to.wake_planned = Some(due);
            let life = to.life;
            self.agenda.after(due - self.agenda.now(), Happening::Wake { replica, life });
        }
    }

    /// Gives a scheduler time to place pods, soon.
    fn plan_turn(&mut self, replica: usize) {
        let to = &mut self.replicas[replica];
        if to.turn_planned || !to.alive {
            return;
        }
        to.turn_planned = true;
        let life = to.life;
        let pause = self.chances.millis(0, 20);
        self.agenda.after(pause, Happening::Turn { replica, life });
    }

    fn turn(&mut self, replica: usize) {
        self.replicas[replica].turn_planned = false;
        let sabotage = self.plan.sabotage;
        if !self.replicas[replica].may_decide(&self.api, sabotage) {
            return;
        }
        let attempts = 1 + u32::try_from(self.chances.below(3)).unwrap_or_default();
        for effect in self.replicas[replica].engine.handle(self.api.now, Input::Turn { attempts }) {
            match effect {
                Effect::Submit(id, write) => self.submit(replica, id, write),
                Effect::WakeAt(time) => self.plan_wake(replica, time),
                Effect::Announce(announcement) => self.hear(replica, &announcement),
            }
        }
        if self.replicas[replica].engine.counts().ready > 0 {
            self.plan_turn(replica);
        }
    }

    /// Something may happen to a scheduler.
    fn take_chances(&mut self) {
        self.agenda.after(1_000, Happening::Chance);
        for replica in 0..self.replicas.len() {
            if !self.replicas[replica].alive {
                continue;
            }
            let leads_of_two = self.plan.arrangement == Arrangement::Replicas && self.replicas[replica].leads;
            if leads_of_two && self.plan.strikes(Fault::TakeOver, &mut self.chances)
                || self.plan.strikes(Fault::Crash, &mut self.chances)
            {
                self.crash(replica);
            }
        }
    }

    /// A scheduler dies. What it sent and had not arrived is lost, or arrives before it or another begins: leases last
    /// longer than calls.
    fn crash(&mut self, replica: usize) {
        self.trace.note(self.agenda.now(), format_args!("scheduler {replica} dies"));
        let to = &mut self.replicas[replica];
        to.alive = false;
        to.life += 1;
        let led = std::mem::replace(&mut to.leads, self.plan.arrangement != Arrangement::Replicas);
        self.errands.retain(|_, errand| errand.replica != replica);
        let pause = self.chances.millis(carry::LATE_MS_MAX + 100, carry::LATE_MS_MAX + 6_000);
        self.agenda.after(pause, Happening::Start { replica });
        if led && self.plan.arrangement == Arrangement::Replicas {
            let pause = self.chances.millis(carry::LATE_MS_MAX + 100, carry::LATE_MS_MAX + 4_000);
            self.agenda.after(pause, Happening::Lead { replica: 1 - replica });
        }
    }

    fn start(&mut self, replica: usize) {
        self.trace.note(self.agenda.now(), format_args!("scheduler {replica} starts"));
        self.replicas[replica].restart(self.gates, &self.api);
        let life = self.replicas[replica].life;
        for stream in 0..FOLLOWED.len() {
            let pause = self.chances.millis(1, 400);
            self.agenda.after(pause, Happening::List { replica, life, stream });
        }
    }

    /// A replica leads. It decides nothing before it has seen everything that is there by now.
    fn lead(&mut self, replica: usize) {
        self.trace.note(self.agenda.now(), format_args!("scheduler {replica} leads"));
        let reach = self.api.revision();
        let to = &mut self.replicas[replica];
        (to.leads, to.reach) = (true, reach);
        if to.alive {
            self.plan_turn(replica);
        }
    }

    fn report(self) -> Report {
        let (hash, lines) = self.trace.end();
        Report {
            seed: self.seed,
            violations: self.violations,
            faults: self.plan.counts,
            arrangement: self.plan.arrangement,
            bound: self.bound,
            refused: self.refused,
            revisions: self.api.revision(),
            happenings: self.happenings,
            hash,
            lines,
        }
    }
}
