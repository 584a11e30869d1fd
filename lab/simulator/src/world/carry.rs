//! Carries out what engines want written, through an API that fails in every way that an API can.
//!
//! Invariant: what an answer means for a write is said by its protocol alone, which is that of a live scheduler. Here is only what
//! becomes of its calls and when.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use cluster::change::Change;
use gates::Gate;
use objects::Object as _;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use scheduler::engine::Input;
use scheduler::write::{About, Write, WriteId, WriteOutcome};
use scheduling::protocol::{
    CallOutcome, Delivery, DeliveryAction, Heard, Object, ObjectRef, Settled, Sight, Sources, Terms,
};
use scheduling::request::ApiCall;
use store::Key;

use super::api::{Caller, Refused};
use super::component::Component;
use super::errand::{self, Errand};
use super::setup::{Fault, Sabotage};
use super::shown::Shown;
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
        if self.setup.sabotage == Sabotage::KeepsReservations && matches!(write, Write::Release { .. }) {
            return;
        }
        if let Write::Bind { pod, uid, .. } = &write
            && let Some(wrong) = self.judge.check_gang(&Key::new(&pod.namespace, &pod.name), uid)
        {
            self.trace.note(now, format_args!("WRONG: {wrong}"));
            self.violations.push(wrong);
        }
        let sources = self.sources(replica, &write);
        self.sent += 1;
        let terms = self.terms(self.sent);
        self.errands
            .insert(self.sent, Errand { replica, id, delivery: Delivery::new(write, sources, terms) });
        let pause = self.chances.millis(0, 5);
        self.agenda.after(pause, Happening::GoOn { errand: self.sent, heard: Heard::Begun });
    }

    /// How a write is carried out. Its pauses vary by a number of its own, as with a live scheduler, which has a seed as well.
    fn terms(&self, errand: u64) -> Terms {
        Terms {
            retries_max: self.setup.tries_max,
            allocation_times: self.gates.enabled(Gate::DRADeviceBindingConditions),
            seed: self.seed.wrapping_add(errand << 16),
            ..Terms::default()
        }
    }

    /// What a scheduler makes a write from: the object as it is, or as it was told of it some time ago.
    fn sources(&mut self, replica: usize, write: &Write) -> Sources {
        let mut sources = Sources::of(self.classes.clone());
        let which = match write.about() {
            About::Claim(id) => ObjectRef::Claim(id.clone()),
            About::Context { id, .. } => ObjectRef::Context(id.clone()),
            About::Pod { id, .. } => ObjectRef::Pod(id.clone()),
            About::Group(id) => ObjectRef::Group(id.clone()),
            About::Volume(name) => ObjectRef::Volume(name.clone()),
            About::VolumeClaim(id) => ObjectRef::VolumeClaim(id.clone()),
        };
        let (kind, namespace, name) = which.named();
        let stream = replica::followed(self.gates).position(|followed| followed == kind);
        let stale = stream.filter(|_| self.setup.strikes(Fault::StaleRead, &mut self.chances));
        let object = match stale {
            Some(stream) => {
                self.replicas[replica].streams[stream].known.get(&Key::new(namespace, &name)).cloned()
            }
            None => self.api.get(kind, namespace, &name),
        };
        let object = object.and_then(|object| typed(kind, &object).ok());
        match object {
            // Those that have devices are not kept.
            Some(Object::Claim(claim)) if claim.status.allocation.is_some() => {}
            Some(Object::Claim(claim)) => sources.claim = Sight::Told(Some(claim)),
            Some(Object::Pod(pod)) => sources.pod = Sight::Told(Some(pod)),
            Some(Object::Group(group)) => sources.group = Sight::Told(Some(group)),
            Some(Object::Context(context)) => sources.context = Sight::Told(Some(context)),
            Some(Object::Volume(volume)) => sources.volume = Sight::Told(Some(volume)),
            Some(Object::VolumeClaim(claim)) => sources.volume_claim = Sight::Told(Some(claim)),
            None => {}
        }
        sources
    }

    /// Does what comes next for a write, after what was heard.
    pub(super) fn go_on_with(&mut self, errand: u64, mut heard: Heard) {
        loop {
            let Some(one) = self.errands.get_mut(&errand) else { return };
            match one.delivery.step(heard, self.api.now) {
                DeliveryAction::Read(which) => heard = Heard::Answer(self.read(&which)),
                DeliveryAction::Call(call) => return self.send(errand, call),
                DeliveryAction::Settled(settled) => return self.settle(errand, &settled),
                DeliveryAction::Pause(time) => {
                    return self.agenda.after(millis(time), Happening::GoOn { errand, heard: Heard::Rested });
                }
            }
        }
    }

    /// Reads an object as the API has it.
    fn read(&mut self, which: &ObjectRef) -> CallOutcome {
        let (kind, namespace, name) = which.named();
        match self.api.get(kind, namespace, &name) {
            Some(object) => CallOutcome::Done(typed(kind, &object).ok()),
            None => CallOutcome::NotFound(Refused::NotFound.to_string()),
        }
    }

    /// Sends a call on its way.
    fn send(&mut self, errand: u64, call: Box<ApiCall>) {
        let Some(replica) = self.errands.get(&errand).map(|one| one.replica) else { return };
        let by = Caller { replica, sent: self.api.revision() };
        let (setup, dice) = (&mut self.setup, &mut self.chances);
        // Whether it arrives at all comes first.
        if setup.strikes(Fault::NeverArrived, dice) {
            let pause = dice.millis(100, LATE_MS_MAX);
            return self.agenda.after(pause, Happening::Answer { errand, answer: lost() });
        }
        if setup.strikes(Fault::LateArrival, dice) {
            let (patience, late) = (dice.millis(50, 500), dice.millis(500, LATE_MS_MAX));
            self.agenda.after(late, Happening::ArriveLate { call, by });
            return self.agenda.after(patience, Happening::Answer { errand, answer: lost() });
        }
        let fate = if setup.strikes(Fault::Conflict, dice) {
            Fate::Refused(Fault::Conflict)
        } else if setup.strikes(Fault::Busy, dice) {
            Fate::Refused(Fault::Busy)
        } else if setup.strikes(Fault::LostAnswer, dice) {
            Fate::LostAnswer
        } else if setup.strikes(Fault::LateAnswer, dice) {
            Fate::LateAnswer
        } else {
            Fate::Plain
        };
        let pause = self.chances.millis(1, 40);
        self.agenda.after(pause, Happening::Arrive { errand, call, fate, by });
    }

    pub(super) fn arrive(&mut self, errand: u64, call: &ApiCall, fate: Fate, by: Caller) {
        if !self.errands.contains_key(&errand) {
            return;
        }
        let answer = match fate {
            Fate::Refused(Fault::Conflict) => refusal(&Refused::Conflict("by chance".to_owned())),
            Fate::Refused(_) => refusal(&Refused::Busy),
            Fate::Plain | Fate::LateAnswer | Fate::LostAnswer => self.perform(call, by),
        };
        let (answer, pause) = match fate {
            Fate::LostAnswer => (lost(), self.chances.millis(100, LATE_MS_MAX)),
            Fate::LateAnswer => (answer, self.chances.millis(300, LATE_MS_MAX)),
            Fate::Plain | Fate::Refused(_) => (answer, self.chances.millis(1, 40)),
        };
        self.trace.note(self.agenda.now(), format_args!("call {errand}: {} ({fate:?})", errand::told(call)));
        let is_done = matches!(answer, CallOutcome::Done(_));
        self.agenda.after(pause, Happening::Answer { errand, answer });
        if is_done {
            self.did(Component::Scheduler, &errand::told(call), pause);
        }
    }

    /// A call arrives that its sender gave up.
    pub(super) fn arrive_late(&mut self, call: &ApiCall, by: Caller) {
        let answer = self.perform(call, by);
        let done = matches!(answer, CallOutcome::Done(_));
        self.trace.note(self.agenda.now(), format_args!("too late: {} (done: {done})", errand::told(call)));
    }

    fn perform(&mut self, call: &ApiCall, by: Caller) -> CallOutcome {
        self.api.by = Some(by);
        let done = self.api.perform(call);
        self.api.by = None;
        match done {
            Ok(_) if !call.gives_object() => CallOutcome::Done(None),
            Ok(object) => match typed(call.kind, &object) {
                Ok(object) => CallOutcome::Done(Some(object)),
                Err(why) => CallOutcome::Unreadable(why),
            },
            Err(why) => refusal(&why),
        }
    }

    pub(super) fn answer(&mut self, errand: u64, answer: CallOutcome) {
        let mistaken = match (self.setup.sabotage, &answer) {
            (Sabotage::GivesUpUnclear, CallOutcome::Lost { .. }) => {
                Some(WriteOutcome::Failed("timed out".to_owned()))
            }
            (Sabotage::TrustsRefusals, answer) => {
                let is_refused = !matches!(answer, CallOutcome::Done(_) | CallOutcome::Lost { .. });
                is_refused.then_some(WriteOutcome::Done)
            }
            _ => None,
        };
        match mistaken {
            Some(outcome) => self.settle(errand, &Settled::unlearned(outcome)),
            None => self.go_on_with(errand, Heard::Answer(answer)),
        }
    }

    /// What answers and readings show is a fact like any other.
    fn learn(&mut self, replica: usize, settled: &Settled) {
        let engine = &self.replicas[replica].engine;
        let mut settled = settled.clone();
        if self.setup.sabotage == Sabotage::KeepsAnswers {
            (settled.claim, settled.gone) = (None, None);
        }
        let mut learned = settled.learned(|id, uid| engine.knows_claim(id, uid));
        if self.setup.sabotage == Sabotage::MistakesAnswers {
            learned.iter_mut().for_each(|(change, _)| *change = mistaken_for_news(change.clone()));
        }
        for (change, origin) in learned {
            self.tell_from(replica, Input::Changed(change), Some(origin));
        }
    }

    fn settle(&mut self, errand: u64, settled: &Settled) {
        let Some(one) = self.errands.remove(&errand) else { return };
        let (replica, outcome) = (one.replica, settled.outcome.clone());
        let write = one.delivery.into_write();
        self.learn(replica, settled);
        if let Write::Bind { pod, uid, .. } = &write {
            let is_bound = outcome == WriteOutcome::Done;
            self.judge.see_binding(&Key::new(&pod.namespace, &pod.name), uid, is_bound);
        }
        let (now, what) = (self.agenda.now(), errand::shown(&write));
        self.trace.note(now, format_args!("scheduler {replica} hears of {what}: {outcome:?}"));
        self.tell(replica, Input::Settled(one.id, outcome));
    }
}

/// An object as writes are made from it.
fn typed(kind: &str, object: &Shown) -> Result<Object, String> {
    Ok(match kind {
        ResourceClaim::KIND => Object::Claim(Arc::clone(object.read())),
        Pod::KIND => Object::Pod(Arc::clone(object.read())),
        PodGroup::KIND => Object::Group(Arc::clone(object.read())),
        PodSchedulingContext::KIND => Object::Context(Arc::clone(object.read())),
        other => return Object::of_value(other, object),
    })
}

/// What is heard of a call that has no answer.
fn lost() -> CallOutcome {
    CallOutcome::Lost { why: "no answer".to_owned(), retry_after: None }
}

fn refusal(why: &Refused) -> CallOutcome {
    let told = why.to_string();
    match why {
        Refused::Conflict(_) => CallOutcome::Conflict(told),
        Refused::NotFound => CallOutcome::NotFound(told),
        Refused::Invalid(_) => CallOutcome::Refused(told),
        Refused::Busy => CallOutcome::Busy { why: told, retry_after: None },
    }
}

/// An answer, told as if a watch had shown it.
fn mistaken_for_news(change: Change) -> Change {
    match change {
        Change::ClaimAnswered(state) => Change::ClaimApplied(state),
        other => other,
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
