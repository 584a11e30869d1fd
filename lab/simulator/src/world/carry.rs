//! Carries out what engines want written, through an API that fails in every way that an API can.

use std::sync::Arc;

use scheduler::engine::Input;
use scheduler::write::{Write, WriteId, WriteOutcome};
use scheduling::request::{ApiCall, Next};
use serde_json::Value;
use store::Key;

use super::api::{Refused, text};
use super::component::Component;
use super::errand::{self, Answer, Errand, Reading, Step};
use super::plan::{Fault, Sabotage};
use super::{Happening, World, replica};

/// How long a call may be on its way. Who sent it waits for at most a part of this time.
pub(super) const LATE_MS_MAX: i64 = 2_000;

/// What becomes of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// It is carried out and answered.
    Plain,
    /// Carried out and answered after seconds.
    LateAnswer,
    /// Carried out, and not answered.
    LostAnswer,
    /// Refused without a look.
    Refused(Fault),
}

impl World {
    /// An engine wants something written.
    pub(super) fn submit(&mut self, replica: usize, id: WriteId, write: Write) {
        let now = self.agenda.now();
        self.trace.note(now, format_args!("scheduler {replica} wants to {}", errand::shown(&write)));
        if self.plan.sabotage == Sabotage::KeepsReservations && matches!(write, Write::Release { .. }) {
            return;
        }
        if let Write::Bind { pod, uid, .. } = &write
            && let Some(wrong) = self.judge.check_gang(&Key::new(&pod.namespace, &pod.name), uid)
        {
            self.trace.note(now, format_args!("WRONG: {wrong}"));
            self.violations.push(wrong);
        }
        let tries_max = self.plan.tries_max;
        let mut errand = Errand {
            replica,
            id,
            write,
            object: None,
            made: None,
            users: Vec::new(),
            undone: None,
            reading: Reading::Due,
            unclear: false,
            tries: 0,
            tries_max,
            conflicts: 0,
        };
        (errand.object, errand.reading) = self.first_read(&errand);
        self.sent += 1;
        self.errands.insert(self.sent, errand);
        let pause = self.chances.millis(0, 5);
        self.agenda.after(pause, Happening::Send { errand: self.sent });
    }

    /// The object that a write names, as the API has it or as the scheduler was told of it.
    fn first_read(&mut self, errand: &Errand) -> (Option<Arc<Value>>, Reading) {
        let (kind, namespace, name) = errand.target();
        let stream = replica::followed(self.gates).position(|followed| followed == kind);
        if let Some(stream) = stream.filter(|_| self.plan.strikes(Fault::StaleRead, &mut self.chances)) {
            let known = &self.replicas[errand.replica].streams[stream].known;
            return (known.get(&Key::new(&namespace, &name)).cloned(), Reading::Old);
        }
        (self.api.get(kind, &namespace, &name), Reading::Fresh)
    }

    /// Reads the object of a write as the API has it.
    fn read(&mut self, errand: u64) {
        let Some((kind, namespace, name)) = self.errands.get(&errand).map(Errand::target) else { return };
        let object = self.api.get(kind, &namespace, &name);
        let api = &mut self.api;
        if let Some(one) = self.errands.get_mut(&errand) {
            let made = one.made.as_ref().map(|made| text(&made["metadata"]["name"]).to_owned());
            one.made = made.and_then(|made| api.get("ResourceClaim", &namespace, &made));
            (one.object, one.reading) = (object, Reading::Fresh);
        }
    }

    /// Makes the next call of a write.
    pub(super) fn send(&mut self, errand: u64) {
        if self.errands.get(&errand).is_some_and(|one| one.reading == Reading::Due) {
            self.read(errand);
        }
        let Some(one) = self.errands.get_mut(&errand) else { return };
        let users = one.users();
        one.users =
            users.iter().filter_map(|user| self.api.get("Pod", &user.namespace, &user.name)).collect();
        let (call, is_last) = match one.next(&self.classes, self.api.now) {
            // What is old may have been true once.
            Ok(Next::Done) if one.reading == Reading::Old => {
                self.read(errand);
                return self.send(errand);
            }
            Ok(Next::Done) => {
                if let Some(object) = one.object.clone() {
                    self.tell_answer(errand, &object);
                }
                return self.settle(errand, WriteOutcome::Done);
            }
            Ok(Next::Then(call)) => (Box::new(call), false),
            Ok(Next::Last(call)) => (Box::new(call), true),
            Err(why) => return self.settle(errand, WriteOutcome::Failed(why.to_string())),
        };
        let replica = one.replica;
        let (plan, dice) = (&mut self.plan, &mut self.chances);
        // Whether it arrives at all comes first.
        if plan.strikes(Fault::NeverArrived, dice) {
            let answer = Answer::Unclear;
            let pause = dice.millis(100, LATE_MS_MAX);
            return self.agenda.after(pause, Happening::Answer { errand, answer, is_last });
        }
        if plan.strikes(Fault::LateArrival, dice) {
            let (patience, late) = (dice.millis(50, 500), dice.millis(500, LATE_MS_MAX));
            self.agenda.after(late, Happening::ArriveLate { replica, call });
            return self
                .agenda
                .after(patience, Happening::Answer { errand, answer: Answer::Unclear, is_last });
        }
        let fate = if plan.strikes(Fault::Conflict, dice) {
            Fate::Refused(Fault::Conflict)
        } else if plan.strikes(Fault::Busy, dice) {
            Fate::Refused(Fault::Busy)
        } else if plan.strikes(Fault::LostAnswer, dice) {
            Fate::LostAnswer
        } else if plan.strikes(Fault::LateAnswer, dice) {
            Fate::LateAnswer
        } else {
            Fate::Plain
        };
        let pause = self.chances.millis(1, 40);
        self.agenda.after(pause, Happening::Arrive { errand, call, is_last, fate });
    }

    pub(super) fn arrive(&mut self, errand: u64, call: &ApiCall, is_last: bool, fate: Fate) {
        let Some(one) = self.errands.get(&errand) else { return };
        let replica = one.replica;
        let answer = match fate {
            Fate::Refused(Fault::Conflict) => Answer::Refused(Refused::Conflict("by chance".to_owned())),
            Fate::Refused(_) => Answer::Refused(Refused::Busy),
            Fate::Plain | Fate::LateAnswer | Fate::LostAnswer => self.perform(replica, call),
        };
        let (answer, pause) = match fate {
            Fate::LostAnswer => (Answer::Unclear, self.chances.millis(100, LATE_MS_MAX)),
            Fate::LateAnswer => (answer, self.chances.millis(300, LATE_MS_MAX)),
            Fate::Plain | Fate::Refused(_) => (answer, self.chances.millis(1, 40)),
        };
        self.trace.note(self.agenda.now(), format_args!("call {errand}: {} ({fate:?})", errand::told(call)));
        let is_done = matches!(answer, Answer::Done(_));
        self.agenda.after(pause, Happening::Answer { errand, answer, is_last });
        if is_done {
            self.did(Component::Scheduler, &errand::told(call), pause);
        }
    }

    /// A call arrives that its sender gave up.
    pub(super) fn arrive_late(&mut self, replica: usize, call: &ApiCall) {
        let answer = self.perform(replica, call);
        let done = matches!(answer, Answer::Done(_));
        self.trace.note(self.agenda.now(), format_args!("too late: {} (done: {done})", errand::told(call)));
    }

    fn perform(&mut self, replica: usize, call: &ApiCall) -> Answer {
        self.api.by = Some(replica);
        let done = self.api.perform(call);
        self.api.by = None;
        match done {
            Ok(object) => Answer::Done(object),
            Err(why) => Answer::Refused(why),
        }
    }

    pub(super) fn answer(&mut self, errand: u64, answer: Answer, is_last: bool) {
        let sabotage = self.plan.sabotage;
        if let Answer::Done(object) = &answer {
            self.tell_answer(errand, object);
        }
        let Some(one) = self.errands.get_mut(&errand) else { return };
        let step = match answer {
            Answer::Refused(_) if sabotage == Sabotage::TrustsRefusals => Step::Settle(WriteOutcome::Done),
            Answer::Unclear if sabotage == Sabotage::GivesUpUnclear => {
                Step::Settle(WriteOutcome::Failed("timed out".to_owned()))
            }
            answer => one.answered(answer, is_last),
        };
        match step {
            Step::GoOn => self.send(errand),
            Step::Settle(outcome) => self.settle(errand, outcome),
            Step::Repeat(pause) => self.agenda.after(pause, Happening::Send { errand }),
        }
    }

    /// What an answer or a reading shows is a fact like any other, unless the scheduler knows by now that it is gone. That it may know
    /// a newer one is left to the engine.
    fn tell_answer(&mut self, errand: u64, object: &Arc<Value>) {
        let Some(one) = self.errands.get(&errand) else { return };
        let (replica, (kind, namespace, name)) = (one.replica, one.target());
        if matches!(one.write, Write::Negotiate { .. }) {
            // What was said is known to whoever said it.
            if let Some(change) = replica::applied(object) {
                self.tell(replica, Input::Changed(change));
            }
            return;
        }
        if kind != "ResourceClaim" || self.plan.sabotage == Sabotage::KeepsAnswers {
            return;
        }
        let streams = &self.replicas[replica].streams;
        let stream = streams.iter().find(|stream| stream.site.kind.kind == kind);
        let known = stream.and_then(|stream| stream.known.get(&Key::new(&namespace, &name)));
        if known.is_some_and(|known| known["metadata"]["uid"] == object["metadata"]["uid"])
            && let Some(change) = replica::applied(object)
        {
            let mistakes = self.plan.sabotage == Sabotage::MistakesAnswers;
            let change = if mistakes { change } else { change.answered() };
            self.tell(replica, Input::Changed(change));
        }
    }

    fn settle(&mut self, errand: u64, outcome: WriteOutcome) {
        if let Some(one) = self.errands.get_mut(&errand)
            && one.made.is_some()
            && let (WriteOutcome::Failed(why), None) = (&outcome, &one.undone)
        {
            // What was made for a pod and cannot be used is taken back before it is told.
            (one.undone, one.reading) = (Some(why.clone()), Reading::Due);
            return self.send(errand);
        }
        let outcome = match self.errands.get(&errand).and_then(|one| one.undone.clone()) {
            Some(why) => WriteOutcome::Failed(why),
            None => outcome,
        };
        let Some(one) = self.errands.remove(&errand) else { return };
        if let Write::Bind { pod, uid, .. } = &one.write {
            let is_bound = outcome == WriteOutcome::Done;
            self.judge.see_binding(&Key::new(&pod.namespace, &pod.name), uid, is_bound);
        }
        let (now, what) = (self.agenda.now(), errand::shown(&one.write));
        self.trace.note(now, format_args!("scheduler {} hears of {what}: {outcome:?}", one.replica));
        self.tell(one.replica, Input::Settled(one.id, outcome));
    }
}
