//! Records what the engine is told and does, if that is wanted.
//!
//! Invariant: recording decides nothing and never blocks. Every input of the engine goes through here, so that none is left out of a
//! recording while it lasts.

use gates::Gates;
use model::timestamp::Timestamp;
use recordings::{LineWriter, Recorder, RecordingError, Target};
use scheduler::engine::{Effect, Engine, Input};
use scheduling::recording::{
    EngineStart, FactOrigin, KeptEffect, Line, RecordedEffect, RecordedInput, Scribe, StartSettings,
};
use serde_json::Value;

use crate::notice::State;

/// What is to be recorded, and where.
#[derive(Debug)]
pub struct Recording {
    /// The files.
    pub target: Target,
    /// The KubeSchedulerConfiguration of the scheduler, from which its settings come.
    pub configuration: Value,
}

/// Where inputs pass by.
#[derive(Default)]
pub(crate) struct Tap {
    recorder: Option<Recorder<Tapped>>,
}

/// A line as the thread that decides leaves it: the rest is done by the thread that writes.
enum Tapped {
    /// A whole line.
    Line(Line),
    /// An input and what was done.
    Input { at: Timestamp, told: RecordedInput, did: Vec<KeptEffect> },
}

/// Writes lines of recordings.
#[derive(Default)]
struct Lines(Scribe);

impl LineWriter for Lines {
    type Line = Tapped;

    fn write(&mut self, line: Tapped, into: &mut Vec<u8>) {
        let line = match line {
            Tapped::Line(line) => line,
            Tapped::Input { at, told, did } => {
                let did = did.into_iter().map(RecordedEffect::of).collect();
                Line::Input { at: at.micros(), told, did }
            }
        };
        self.0.write(line, into);
    }

    fn opening(&self, each: &mut dyn FnMut(&[u8])) {
        let mut bytes = Vec::new();
        for line in self.0.opening() {
            bytes.clear();
            line.write(&mut bytes);
            each(&bytes);
        }
    }
}

impl Tap {
    /// Begins to record an engine that begins now.
    pub(crate) fn start(
        Recording { target, configuration }: Recording,
        gates: Gates,
        considerations_max: usize,
        now: Timestamp,
    ) -> Result<Tap, RecordingError> {
        let mut recorder = Recorder::start(target, Lines::default())?;
        // No two schedulers of a recording start at the same moment.
        let number = u64::try_from(now.micros()).unwrap_or(0);
        let start = EngineStart::new(now, number, gates, StartSettings::Configuration(configuration));
        recorder.record(Tapped::Line(Line::Start(EngineStart { considerations_max, ..start })));
        Ok(Tap { recorder: Some(recorder) })
    }

    /// Whether inputs are recorded.
    pub(crate) fn is_recording(&self) -> bool {
        self.recorder.as_ref().is_some_and(Recorder::is_recording)
    }

    /// Tells the engine something.
    pub(crate) fn handle(
        &mut self,
        engine: &mut Engine,
        now: Timestamp,
        input: Input,
        origin: Option<Box<FactOrigin>>,
    ) -> Vec<Effect> {
        let Some(recorder) = self.recorder.as_mut().filter(|recorder| recorder.is_recording()) else {
            return engine.handle(now, input);
        };
        let told = origin.map(|origin| RecordedInput::Fact(*origin)).or_else(|| RecordedInput::of(&input));
        let effects = engine.handle(now, input);
        let told = told.expect("facts are told with what they come from while they are recorded");
        let did = effects.iter().map(KeptEffect::from).collect();
        recorder.record(Tapped::Input { at: now, told, did });
        effects
    }

    /// Notes how the scheduler stands.
    pub(crate) fn stands(&mut self, now: Timestamp, state: &State) {
        let how = match state {
            State::Reading(_) => "reading",
            State::Standby { .. } => "standby",
            State::Working => "working",
        };
        self.note(now, how);
    }

    fn note(&mut self, now: Timestamp, how: &str) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(Tapped::Line(Line::Stands { at: now.micros(), how: how.to_owned() }));
        }
    }

    /// Lets what was recorded be written, and tells once why nothing is recorded any more.
    pub(crate) fn hand_over(&mut self) -> Option<RecordingError> {
        let recorder = self.recorder.as_mut()?;
        recorder.hand_over();
        recorder.take_trouble()
    }

    /// Ends the recording when all of it is written.
    pub(crate) fn finish(mut self, now: Timestamp) -> Option<RecordingError> {
        self.note(now, "stopped");
        self.recorder.and_then(|recorder| recorder.finish().err())
    }
}
