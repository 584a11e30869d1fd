//! Replays: engines are told what a recording says that they were told, and what they do is compared with what was recorded.
//!
//! An engine that decides otherwise goes on with what the recording says happened: writes that were not recorded fail at once, answers to
//! writes that it did not ask for are left out, and the objects are those of the recording. So one difference does not become a
//! thousand, though what differs later may follow from it.
//!
//! Invariant: an engine is begun where the recorded one was begun, and nowhere else. What a recording says of an engine whose
//! beginning it does not have is not compared.

use std::collections::BTreeMap;
use std::sync::Arc;

use decisions::considering::Consideration;
use decisions::lanes::Lanes;
use model::timestamp::Timestamp;
use scheduler::engine::{ConsiderationId, ConsiderationOutcome, Effect, Engine, Input};
use scheduler::write::{WriteId, WriteOutcome};

use super::effects::{KeptEffect, RecordedEffect};
use super::line::{Line, RecordedInput, UnreadableLine};
use super::start::EngineStart;

/// Why a write fails that was not recorded.
const NOT_RECORDED: &str = "the recording has another decision";

/// How often answers to what was not recorded may lead to more of it.
const ROUNDS_MAX: u32 = 100;

/// What is told of when something differs that is no decision about an object.
const SCHEDULER: &str = "scheduler";

/// Where an engine decides otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// When.
    pub at: Timestamp,
    /// The object.
    pub object: String,
    /// What was recorded about it.
    pub recorded: Option<String>,
    /// What is decided now.
    pub now: Option<String>,
}

/// What was replayed, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReplayTally {
    /// Engines that were begun: starts of a scheduler.
    pub engines: u64,
    /// Inputs that they were told.
    pub inputs: u64,
    /// Decisions that were recorded: writes, and pods without a node.
    pub decisions: u64,
    /// How many of these are the same now.
    pub same: u64,
    /// Differences.
    pub differences: u64,
    /// Decisions of engines whose beginning is not in the recording, which were not compared.
    pub left_out: u64,
}

/// Replays lines, one after the other.
#[derive(Debug)]
pub struct Replay {
    lanes: Arc<dyn Lanes>,
    engine: Option<ReplayedEngine>,
    tally: ReplayTally,
}

#[derive(Debug)]
struct ReplayedEngine {
    engine: Engine,
    number: u64,
    inputs: u64,
    /// The version that recorded it is this one.
    is_ours: bool,
    has_differed: bool,
    considering: BTreeMap<ConsiderationId, Box<Consideration>>,
    /// Writes as they are numbered now, by their numbers in the recording; considerations likewise.
    writes: BTreeMap<u64, WriteId>,
    questions: BTreeMap<u64, ConsiderationId>,
}

impl Replay {
    /// A replay that has read nothing yet, with lanes for what is found out side by side.
    #[must_use]
    pub fn new(lanes: Arc<dyn Lanes>) -> Replay {
        Replay { lanes, engine: None, tally: ReplayTally::default() }
    }

    /// What was replayed until now.
    #[must_use]
    pub fn tally(&self) -> ReplayTally {
        self.tally
    }

    /// Replays the next line, and tells where it is decided otherwise.
    ///
    /// # Errors
    /// The line says nothing to this version.
    pub fn take(&mut self, line: &Line) -> Result<Vec<Difference>, UnreadableLine> {
        match line {
            Line::Start(start) => {
                self.tally.engines += 1;
                self.engine = Some(ReplayedEngine::begin(start, self.lanes.clone())?);
            }
            Line::Resumed { engine, inputs, .. } => {
                let goes_on = |known: &ReplayedEngine| (known.number, known.inputs) == (*engine, *inputs);
                self.engine = self.engine.take().filter(goes_on);
            }
            Line::Kept { .. } | Line::Stands { .. } => {}
            Line::Input { at, told, did } => return self.input(Timestamp::from_micros(*at), told, did),
        }
        Ok(Vec::new())
    }

    fn input(
        &mut self,
        at: Timestamp,
        told: &RecordedInput,
        did: &[RecordedEffect],
    ) -> Result<Vec<Difference>, UnreadableLine> {
        let decisions = did.iter().filter(|effect| effect.is_decision()).count() as u64;
        let Some(engine) = &mut self.engine else {
            self.tally.left_out += decisions;
            return Ok(Vec::new());
        };
        engine.inputs += 1;
        self.tally.inputs += 1;
        self.tally.decisions += decisions;
        let effects = engine.hear(at, told)?;
        let differences = engine.compare(at, did, effects);
        let missed = differences.iter().filter(|one| one.recorded.is_some() && one.object != SCHEDULER);
        self.tally.same += decisions - (missed.count() as u64).min(decisions);
        self.tally.differences += differences.len() as u64;
        Ok(differences)
    }
}

impl ReplayedEngine {
    fn begin(start: &EngineStart, lanes: Arc<dyn Lanes>) -> Result<ReplayedEngine, UnreadableLine> {
        Ok(ReplayedEngine {
            engine: start.engine()?.with_lanes(lanes),
            number: start.engine,
            inputs: 0,
            is_ours: start.is_ours(),
            has_differed: false,
            considering: BTreeMap::new(),
            writes: BTreeMap::new(),
            questions: BTreeMap::new(),
        })
    }

    /// Tells the engine what the recorded one was told, if that means something to it.
    fn hear(&mut self, at: Timestamp, told: &RecordedInput) -> Result<Vec<Effect>, UnreadableLine> {
        let input = match told {
            RecordedInput::Fact(fact) => Input::Changed(fact.change()?),
            RecordedInput::Turn(attempts) => Input::Turn { attempts: *attempts },
            RecordedInput::Settled { write, failed } => {
                let Some(write) = self.writes.remove(write) else { return Ok(Vec::new()) };
                let outcome = failed.clone().map_or(WriteOutcome::Done, WriteOutcome::Failed);
                Input::Settled(write, outcome)
            }
            RecordedInput::Considered { id, failed } => {
                let known = self.questions.remove(id);
                let known = known.and_then(|id| Some((id, self.considering.remove(&id)?)));
                let Some((id, consideration)) = known else { return Ok(Vec::new()) };
                let outcome = match failed {
                    Some(why) => ConsiderationOutcome::Failed(why.clone()),
                    None => ConsiderationOutcome::Decided(Box::new(consideration.run())),
                };
                Input::Considered(id, outcome)
            }
        };
        Ok(self.engine.handle(at, input))
    }

    /// Compares what was done with what was recorded.
    fn compare(&mut self, at: Timestamp, did: &[RecordedEffect], effects: Vec<Effect>) -> Vec<Difference> {
        let mut now: Vec<(RecordedEffect, Effect)> = effects
            .into_iter()
            .map(|effect| (RecordedEffect::of(KeptEffect::from(&effect)), effect))
            .collect();
        let is_same_in_order = now.len() == did.len()
            && did.iter().zip(&now).all(|(one, (other, _))| one.is_same(other, self.is_ours));
        let mut missed = Vec::new();
        for recorded in did {
            match now.iter().position(|(effect, _)| recorded.is_same(effect, self.is_ours)) {
                Some(place) => {
                    let (_, effect) = now.remove(place);
                    self.pair(recorded, effect);
                }
                None => missed.push(recorded),
            }
        }
        if is_same_in_order {
            return Vec::new();
        }
        let was_same = self.is_ours && !self.has_differed;
        let mut differences = of_decisions(at, &missed, &now);
        if differences.is_empty() && was_same {
            differences.push(of_others(at, &missed, &now));
        }
        self.has_differed |= !differences.is_empty();
        self.undo(at, now.into_iter().map(|(_, effect)| effect).collect());
        differences
    }

    /// What was recorded was done: what is told of it later is told of this.
    fn pair(&mut self, recorded: &RecordedEffect, effect: Effect) {
        match (recorded, effect) {
            (RecordedEffect::Write { id, .. }, Effect::Submit(write, _)) => {
                self.writes.insert(*id, write);
            }
            (RecordedEffect::Consider { id, .. }, Effect::Consider(own, consideration)) => {
                self.questions.insert(*id, own);
                self.considering.insert(own, consideration);
            }
            _ => {}
        }
    }

    /// What was not recorded comes to nothing.
    fn undo(&mut self, at: Timestamp, mut effects: Vec<Effect>) {
        for _ in 0..ROUNDS_MAX {
            let failed = |effect: &Effect| match effect {
                Effect::Submit(id, _) => {
                    Some(Input::Settled(*id, WriteOutcome::Failed(NOT_RECORDED.to_owned())))
                }
                Effect::Consider(id, _) => {
                    let outcome = ConsiderationOutcome::Failed(NOT_RECORDED.to_owned());
                    Some(Input::Considered(*id, outcome))
                }
                Effect::Announce(_) | Effect::WakeAt(_) => None,
            };
            let inputs: Vec<Input> = effects.iter().filter_map(failed).collect();
            if inputs.is_empty() {
                return;
            }
            effects = inputs.into_iter().flat_map(|input| self.engine.handle(at, input)).collect();
        }
    }
}

/// Decisions that were recorded and are not made now, and the other way round, those about the same object together.
fn of_decisions(
    at: Timestamp,
    missed: &[&RecordedEffect],
    now: &[(RecordedEffect, Effect)],
) -> Vec<Difference> {
    let mut now: Vec<(&str, &str)> = now.iter().filter_map(|(effect, _)| effect.decision()).collect();
    let mut differences = Vec::new();
    for (object, what) in missed.iter().filter_map(|effect| effect.decision()) {
        let place = now.iter().position(|(other, _)| *other == object);
        let decided = place.map(|place| now.remove(place).1.to_owned());
        let recorded = Some(what.to_owned());
        differences.push(Difference { at, object: object.to_owned(), recorded, now: decided });
    }
    differences.extend(now.into_iter().map(|(object, what)| Difference {
        at,
        object: object.to_owned(),
        recorded: None,
        now: Some(what.to_owned()),
    }));
    differences
}

/// What else differs: times, what people are told, what is considered, or the order.
fn of_others(at: Timestamp, missed: &[&RecordedEffect], now: &[(RecordedEffect, Effect)]) -> Difference {
    let list = |effects: Vec<String>| {
        let text = effects.join("; ");
        Some(if text.is_empty() { "the same in another order".to_owned() } else { text })
    };
    let recorded = list(missed.iter().map(|effect| format!("{effect:?}")).collect());
    let now = list(now.iter().map(|(effect, _)| format!("{effect:?}")).collect());
    Difference { at, object: SCHEDULER.to_owned(), recorded, now }
}
