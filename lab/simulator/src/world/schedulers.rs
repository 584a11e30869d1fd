//! The schedulers of a world: what they are told and when, when it is their turn, and when they die.
//!
//! Invariant: a scheduler knows nothing but what it was told, and what was planned for an earlier life of it does not happen.

use std::collections::BTreeMap;

use cluster::change::Change;
use model::timestamp::Timestamp;
use scheduler::engine::{Announcement, ConsiderationId, ConsiderationOutcome, Effect, Input};
use scheduler::write::Write;
use scheduling::recording::{FactOrigin, Line};
use store::Key;

use super::component::Component;
use super::errand::Errand;
use super::replica::{News, kind_of};
use super::setup::{Arrangement, Fault, Sabotage};
use super::{Happening, START, World, carry, mislead};

impl World {
    /// Plans that a scheduler is told what is new of a kind.
    pub(super) fn plan_news(&mut self, replica: usize, stream: usize) {
        let to = &mut self.replicas[replica];
        let life = to.life;
        let stream_of = &mut to.streams[stream];
        if !to.alive || !stream_of.listed || stream_of.planned {
            return;
        }
        stream_of.planned = true;
        let late = self.setup.strikes(Fault::LateEvent, &mut self.chances);
        let pause = if late { self.chances.millis(500, 8_000) } else { self.chances.millis(1, 30) };
        self.agenda.after(pause, Happening::Tell { replica, life, stream });
    }

    pub(super) fn tell_news(&mut self, replica: usize, stream: usize) {
        let most = 1 + self.chances.below(4);
        let to = &mut self.replicas[replica].streams[stream];
        to.planned = false;
        if to.broken {
            return;
        }
        if self.setup.strikes(Fault::BrokenWatch, &mut self.chances) {
            to.broken = true;
            let life = self.replicas[replica].life;
            let pause = self.chances.millis(100, 8_000);
            self.trace.note(
                self.agenda.now(),
                format_args!("scheduler {replica} loses its watch of {}", kind_of(stream, self.gates)),
            );
            self.agenda.after(pause, Happening::List { replica, life, stream });
            return;
        }
        let kind = kind_of(stream, self.gates);
        let mut news = to.news(&self.api, most);
        if self.setup.sabotage == Sabotage::DeafToClaims && kind == "ResourceClaim" {
            news.clear();
        }
        if news.is_empty() && self.setup.sabotage != Sabotage::SleepsOn {
            // Whoever waited to have seen all of it may decide now, though nothing of it was to be told.
            self.plan_turn(replica);
        }
        for one in news {
            let Some(change) = one.fact() else { continue };
            let is_departure = matches!(change, Change::PodGone(_));
            if is_departure && self.setup.sabotage == Sabotage::DeafToDepartures {
                continue;
            }
            let again = self.setup.strikes(Fault::RepeatedEvent, &mut self.chances).then(|| change.clone());
            let origin = self.origin(replica, &one, false);
            self.tell_from(replica, Input::Changed(change), origin.clone());
            if let Some(change) = again {
                self.tell_from(replica, Input::Changed(change), origin);
            }
        }
        let to = &self.replicas[replica].streams[stream];
        let seen = to.seen;
        self.trace.note(self.agenda.now(), format_args!("scheduler {replica} has seen {kind} up to {seen}"));
        if !to.has_seen(&self.api, u64::MAX) {
            self.plan_news(replica, stream);
        }
    }

    pub(super) fn list(&mut self, replica: usize, stream: usize) {
        let news = self.replicas[replica].streams[stream].everything(&self.api);
        let facts = news.into_iter().filter_map(|one| Some((one.fact()?.listed(), one)));
        let facts: Vec<(Change, News)> = facts.collect();
        let (now, kind) = (self.agenda.now(), kind_of(stream, self.gates));
        self.trace.note(now, format_args!("scheduler {replica} lists {kind}: {} facts", facts.len()));
        for (change, one) in facts {
            let origin = self.origin(replica, &one, true);
            self.tell_from(replica, Input::Changed(change), origin);
        }
        self.plan_turn(replica);
    }

    /// What a recording has of a piece of news, if there is a recording.
    fn origin(&self, replica: usize, news: &News, is_listed: bool) -> Option<FactOrigin> {
        self.replicas[replica].recording.as_ref().and_then(|_| news.origin(is_listed))
    }

    /// Tells an engine something, and does what it wants done.
    pub(super) fn tell(&mut self, replica: usize, input: Input) {
        self.tell_from(replica, input, None);
    }

    /// The same with what a recording has of a fact.
    pub(super) fn tell_from(&mut self, replica: usize, input: Input, origin: Option<FactOrigin>) {
        let is_change = matches!(input, Input::Changed(_));
        if let Input::Changed(change) = &input {
            self.note_told_taints(replica, change);
        }
        let input = match input {
            Input::Changed(change) => match mislead::told(change, self.setup.sabotage) {
                Some(change) => Input::Changed(change),
                None => return,
            },
            input => input,
        };
        self.follow(replica, input, origin);
        if !(is_change && self.setup.sabotage == Sabotage::SleepsOn) {
            self.plan_turn(replica);
        }
    }

    /// Does what an engine wants done.
    fn follow(&mut self, replica: usize, input: Input, origin: Option<FactOrigin>) {
        let is_deciding = matches!(input, Input::Turn { .. } | Input::Considered(..));
        for effect in self.replicas[replica].handle(self.api.now, input, origin) {
            match effect {
                Effect::Submit(id, write) => {
                    self.check_submission(replica, &write);
                    self.check_taints(replica, &write, is_deciding);
                    self.check_storage(replica, &write, is_deciding);
                    self.submit(replica, id, write);
                }
                Effect::Consider(id, consideration) => {
                    let to = &mut self.replicas[replica];
                    to.considering.insert(id, consideration);
                    let (life, pause) = (to.life, self.chances.millis(1, 600));
                    self.agenda.after(pause, Happening::Decide { replica, life, id });
                }
                Effect::WakeAt(time) => self.plan_wake(replica, time),
                Effect::Announce(announcement) => self.hear(replica, &announcement),
            }
        }
    }

    /// What takes long is decided, or could not be.
    pub(super) fn decide(&mut self, replica: usize, id: ConsiderationId) {
        let Some(consideration) = self.replicas[replica].considering.remove(&id) else { return };
        let outcome = if self.setup.strikes(Fault::NoVerdict, &mut self.chances) {
            ConsiderationOutcome::Failed("it was struck".to_owned())
        } else {
            ConsiderationOutcome::Decided(Box::new(consideration.run()))
        };
        self.tell(replica, Input::Considered(id, outcome));
    }

    pub(super) fn hear(&mut self, replica: usize, announcement: &Announcement) {
        let now = self.agenda.now();
        match announcement {
            Announcement::Scheduled { pod, node, .. } => {
                self.bound += 1;
                self.trace.note(now, format_args!("scheduler {replica} has put {} on {node}", pod.id));
            }
            Announcement::FailedScheduling { pod, message, .. } => {
                self.refused += 1;
                if self.setup.calm {
                    *self.attempts.entry(pod.id.to_string()).or_default() += 1;
                }
                self.trace
                    .note(now, format_args!("scheduler {replica} finds no place for {}: {message}", pod.id));
            }
            Announcement::DevicesPending { pod, message, .. } => {
                self.trace.note(now, format_args!("scheduler {replica}: {} is {message}", pod.id));
            }
            Announcement::Negotiating { pod, wait } => {
                self.trace.note(now, format_args!("scheduler {replica}: {} is {wait}", pod.id));
            }
            Announcement::DevicesDone { pod, outcome, .. } => {
                let outcome = outcome.name();
                self.trace.note(now, format_args!("scheduler {replica}: devices of {}: {outcome}", pod.id));
            }
            Announcement::Released { pod, message } | Announcement::GroupIgnored { pod, message } => {
                self.trace.note(now, format_args!("scheduler {replica} about {}: {message}", pod.id));
            }
            Announcement::Gang(news) => {
                let (group, outcome) = (&news.group, &news.outcome);
                self.trace.note(now, format_args!("scheduler {replica} about group {group}: {outcome}"));
            }
            Announcement::Preempted { pod, by, node, .. } => {
                self.check_eviction(&pod.uid, &by.uid);
                self.check_asked_of_all(replica, &by.uid, node, &format!("pod {} goes", pod.id));
                self.trace.note(
                    now,
                    format_args!("scheduler {replica} displaces {} for {} on {node}", pod.id, by.id),
                );
            }
        }
    }

    pub(super) fn plan_wake(&mut self, replica: usize, time: Timestamp) {
        let due = (time.micros() - START.micros()).div_euclid(1_000) + 1;
        let to = &mut self.replicas[replica];
        if to.wake_planned.is_none_or(|planned| due < planned) {
            to.wake_planned = Some(due);
            let life = to.life;
            self.agenda.after(due - self.agenda.now(), Happening::Wake { replica, life });
        }
    }

    /// Gives a scheduler time to place pods, soon.
    pub(super) fn plan_turn(&mut self, replica: usize) {
        let to = &mut self.replicas[replica];
        if to.turn_planned || !to.alive {
            return;
        }
        to.turn_planned = true;
        let life = to.life;
        let pause = self.chances.millis(0, 20);
        self.agenda.after(pause, Happening::Turn { replica, life });
    }

    pub(super) fn turn(&mut self, replica: usize) {
        self.replicas[replica].turn_planned = false;
        let sabotage = self.setup.sabotage;
        if !self.replicas[replica].may_decide(&self.api, sabotage) {
            return;
        }
        let attempts = 1 + u32::try_from(self.chances.below(3)).unwrap_or_default();
        self.follow(replica, Input::Turn { attempts }, None);
        let engine = &self.replicas[replica].engine;
        if engine.counts().ready > 0 || engine.begins_consideration() {
            self.plan_turn(replica);
        }
    }

    /// Something may happen to a scheduler, to controllers, or to a node.
    pub(super) fn take_chances(&mut self) {
        self.agenda.after(1_000, Happening::Chance);
        if self.setup.strikes(Fault::ControllerCrash, &mut self.chances) {
            self.strike(Component::Controller);
        }
        let nodes: Vec<String> = self.machines.keys().cloned().collect();
        for node in nodes {
            let faults = [(Fault::NodeCrash, Component::Node), (Fault::DriverCrash, Component::Driver)];
            for (fault, component) in faults {
                if self.setup.strikes(fault, &mut self.chances) {
                    let until = self.agenda.now() + self.chances.millis(200, 6_000);
                    self.stop_on(&node, component, until);
                }
            }
        }
        for replica in 0..self.replicas.len() {
            if !self.replicas[replica].alive {
                continue;
            }
            let leads_of_two =
                self.setup.arrangement == Arrangement::Replicas && self.replicas[replica].leads;
            if leads_of_two && self.setup.strikes(Fault::TakeOver, &mut self.chances)
                || self.setup.strikes(Fault::Crash, &mut self.chances)
            {
                self.crash(replica);
            }
        }
    }

    /// A scheduler dies. What it sent and had not arrived is lost, or arrives before it or another begins: leases last
    /// longer than calls.
    pub(super) fn crash(&mut self, replica: usize) {
        self.trace.note(self.agenda.now(), format_args!("scheduler {replica} dies"));
        let to = &mut self.replicas[replica];
        to.alive = false;
        to.life += 1;
        let led = std::mem::replace(&mut to.leads, self.setup.arrangement != Arrangement::Replicas);
        let (lost, others) =
            std::mem::take(&mut self.errands).into_iter().partition(|(_, errand)| errand.replica == replica);
        self.errands = others;
        self.lose(lost);
        let pause = self.chances.millis(carry::LATE_MS_MAX + 100, carry::LATE_MS_MAX + 6_000);
        self.agenda.after(pause, Happening::Start { replica });
        if led && self.setup.arrangement == Arrangement::Replicas {
            let pause = self.chances.millis(carry::LATE_MS_MAX + 100, carry::LATE_MS_MAX + 4_000);
            self.agenda.after(pause, Happening::Lead { replica: 1 - replica });
        }
    }

    /// Errands end with their scheduler. Members of gangs that it was about to bind are bound already, or have to be bound by another.
    fn lose(&mut self, errands: BTreeMap<u64, Errand>) {
        for (_, errand) in errands {
            if let Write::Bind { pod, uid, .. } = errand.delivery.into_write() {
                self.judge.lose_binding(&Key::new(&pod.namespace, &pod.name), &uid);
            }
        }
    }

    pub(super) fn start(&mut self, replica: usize) {
        self.trace.note(self.agenda.now(), format_args!("scheduler {replica} starts"));
        let to = &mut self.replicas[replica];
        to.restart(self.gates, &self.api);
        let life = to.life;
        let number = (self.seed << 16) + (u64::from(life) << 1) + replica as u64;
        to.record_start(number, self.api.now, self.gates);
        for stream in 0..self.replicas[replica].streams.len() {
            let pause = self.chances.millis(1, 400);
            self.agenda.after(pause, Happening::List { replica, life, stream });
        }
    }

    /// A replica leads. It decides nothing before it has seen everything that is there by now.
    pub(super) fn lead(&mut self, replica: usize) {
        self.trace.note(self.agenda.now(), format_args!("scheduler {replica} leads"));
        let reach = self.api.revision();
        let to = &mut self.replicas[replica];
        (to.leads, to.reach) = (true, reach);
        if let Some(lines) = &mut to.recording {
            lines.push(Line::Stands { at: self.api.now.micros(), how: "leads".to_owned() });
        }
        if to.alive {
            self.plan_turn(replica);
        }
    }
}
