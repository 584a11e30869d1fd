//! The state of a cluster at a moment of a recording.

use std::io::Write;
use std::path::{Path, PathBuf};

use model::timestamp::Timestamp;
use recordings::{RecordingReader, is_recording};
use scheduling::recording::{EngineStart, Line, SavedObjects};
use simulation::{Manifest, Observation, Place};

use crate::commands::replay::tell_cuts;
use crate::failure::Failure;

/// What a recording has of a moment.
pub(super) struct RecordedMoment {
    pub observation: Observation,
    /// How the scheduler was started.
    pub start: EngineStart,
    /// The moment.
    pub at: Timestamp,
}

/// The recording that is meant, if it is one.
pub(super) fn recording_of(paths: &[PathBuf]) -> Result<Option<&Path>, Failure> {
    match paths {
        [path] if is_recording(path) => Ok(Some(path)),
        several if several.iter().any(|path| is_recording(path)) => Err(Failure::Failed {
            wrong: "a recording is a complete state and cannot be combined with other files".to_owned(),
            hint: "give the recording alone with --state".to_owned(),
        }),
        _ => Ok(None),
    }
}

/// Something is wrong with a recording.
pub(super) fn failed(path: &Path, why: &str) -> Failure {
    Failure::hinted(&format!("cannot read {}: {why}", path.display()))
}

/// Reads the objects that were there at a time; without one, at the end.
pub(super) fn read(
    path: &Path,
    until: Option<Timestamp>,
    complaints: &mut dyn Write,
) -> Result<RecordedMoment, Failure> {
    let hinted = |error: recordings::RecordingError| Failure::hinted(&error.to_string());
    let mut reader = RecordingReader::open(path).map_err(hinted)?;
    let mut saved = SavedObjects::default();
    let (mut first, mut last) = (None, None);
    'reading: while let Some(frame) = reader.next_frame().map_err(hinted)? {
        for bytes in frame.lines() {
            let line = Line::read(bytes).map_err(|error| failed(path, &error.to_string()))?;
            if let (Some(at), Some(until)) = (line.at(), until)
                && at > until
            {
                break 'reading;
            }
            last = line.at().or(last);
            first = first.or(last);
            saved.take(&line).map_err(|error| failed(path, &error.to_string()))?;
        }
    }
    tell_cuts(&reader, complaints)?;
    let (Some(start), Some(last)) = (saved.start().cloned(), last) else {
        return Err(match until {
            Some(until) => Failure::Failed {
                wrong: format!("{} has nothing of {until} or before", path.display()),
                hint: "leave out --at to look at its end".to_owned(),
            },
            None => failed(path, "it has no line"),
        });
    };
    let mut observation = Observation::default();
    for value in saved.values().map_err(|error| failed(path, &error.to_string()))? {
        let place = Place { file: path.display().to_string(), line: 0 };
        let taken = observation.take(Manifest::made(place, value));
        taken.map_err(|bad| failed(path, &bad.what))?;
    }
    Ok(RecordedMoment { observation, start, at: until.unwrap_or(last) })
}
