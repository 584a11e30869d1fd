//! Writes the lines of one engine, and what a file has to begin with that is read without those before.
//!
//! Invariant: a reader that begins with the first line of a file knows every object that was there at each of its lines.

use super::line::{FactOrigin, Line, RecordedInput};
use super::saved::SavedObjects;

/// Writes lines.
#[derive(Debug, Default)]
pub struct Scribe {
    saved: SavedObjects,
    inputs: u64,
    at: i64,
}

impl Scribe {
    /// Appends a line as JSON.
    pub fn write(&mut self, line: Line, into: &mut Vec<u8>) {
        let line = bare(line);
        self.saved.take(&line).expect("what is recorded has a name");
        match &line {
            Line::Start(_) => self.inputs = 0,
            Line::Input { .. } => self.inputs += 1,
            Line::Resumed { .. } | Line::Kept { .. } | Line::Stands { .. } => {}
        }
        self.at = line.at().map_or(self.at, |at| at.micros());
        line.write(into);
    }

    /// The lines with which another file begins at this point; none before an engine was started.
    pub fn opening(&self) -> impl Iterator<Item = Line> {
        let resumed = self.saved.start().map(|start| Line::Resumed {
            engine: start.engine,
            inputs: self.inputs,
            at: self.at,
            start: Box::new(start.clone()),
            objects: self.saved.count() as u64,
        });
        let kept = self.saved.objects().filter(|_| resumed.is_some());
        let kept: Vec<Line> = kept.map(|object| Line::Kept { object: object.clone() }).collect();
        resumed.into_iter().chain(kept)
    }
}

/// The line with its object made bare, so that this is done once.
fn bare(line: Line) -> Line {
    match line {
        Line::Input { at, told: RecordedInput::Fact(fact), did } => {
            Line::Input { at, told: RecordedInput::Fact(FactOrigin::settled(fact)), did }
        }
        other => other,
    }
}
