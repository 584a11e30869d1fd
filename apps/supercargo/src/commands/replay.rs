//! `supercargo replay`: whether the decisions of a recording are made again by this version.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use model::timestamp::Timestamp;
use recordings::{RecordingError, RecordingReader};
use scheduling::recording::{Difference, Line, ReplayTally};
use serde_json::{Value, json};

use crate::failure::{Failure, UNWELCOME};

const EXAMPLES: &str = "\
Examples:
  supercargo replay scheduler.recording             are all decisions the same?
  supercargo replay recordings                      the same for the folder of `supercargo scheduler --record recordings`
  supercargo replay scheduler.recording -o json     the same for programs
  supercargo explain trainer --state scheduler.recording --at 2026-11-19T12:00:00Z    why a pod waited at that time

Exit codes: 0 all decisions are the same, 1 the recording cannot be read, 2 usage error, 3 some decisions differ";

/// On how many threads nodes are looked at, if the machine has as many cores. Decisions do not depend on it.
const PARALLELISM: u32 = 16;

/// Make the decisions of a recording again, and tell where this version decides otherwise
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Replay {
    /// A recording, or a folder of recordings
    #[arg(value_name = "FILE")]
    recording: PathBuf,
    /// How to write the answer
    #[arg(short, long, value_enum, default_value = "text")]
    output: Format,
    /// How many differences are printed
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    differences_max: usize,
}

/// How the answer is written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Sentences for people
    Text,
    /// One JSON object
    Json,
}

/// The result.
#[derive(Default)]
struct Replayed {
    tally: ReplayTally,
    differences: Vec<Difference>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Replay {
    pub(crate) fn run(&self, out: &mut dyn Write, complaints: &mut dyn Write) -> Result<ExitCode, Failure> {
        let hinted = |error: RecordingError| Failure::hinted(&error.to_string());
        let mut reader = RecordingReader::open(&self.recording).map_err(hinted)?;
        let mut replay = scheduling::recording::Replay::new(runtime::lanes(PARALLELISM));
        let mut replayed = Replayed::default();
        while let Some(frame) = reader.next_frame().map_err(hinted)? {
            for bytes in frame.lines() {
                let unreadable = |error: &dyn ToString| hinted(frame.damaged(error.to_string()));
                let line = Line::read(bytes).map_err(|error| unreadable(&error))?;
                let differences = replay.take(&line).map_err(|error| unreadable(&error))?;
                let room = self.differences_max.saturating_sub(replayed.differences.len());
                replayed.differences.extend(differences.into_iter().take(room));
                replayed.last = line.at().or(replayed.last);
                replayed.first = replayed.first.or(replayed.last);
            }
        }
        tell_cuts(&reader, complaints)?;
        replayed.tally = replay.tally();
        if replayed.tally.decisions == 0 {
            return Err(Failure::Failed {
                wrong: format!("{} has no decisions that can be compared", self.recording.display()),
                hint:
                    "record from the start of a scheduler; `supercargo explain --state` reads any recording"
                        .to_owned(),
            });
        }
        match self.output {
            Format::Text => out.write_all(replayed.text().as_bytes())?,
            Format::Json => writeln!(out, "{:#}", replayed.json())?,
        }
        Ok(if replayed.tally.differences == 0 { ExitCode::SUCCESS } else { ExitCode::from(UNWELCOME) })
    }
}

/// Says which files of a recording end within a frame.
pub(crate) fn tell_cuts(reader: &RecordingReader, complaints: &mut dyn Write) -> Result<(), Failure> {
    for (path, offset) in reader.cut_off() {
        let path = path.display();
        writeln!(complaints, "note: {path} is cut off, as after a crash; it is read up to byte {offset}")?;
    }
    Ok(())
}

impl Replayed {
    fn text(&self) -> String {
        let ReplayTally { engines, decisions, same, differences, left_out, .. } = self.tally;
        let mut text = String::new();
        for one in &self.differences {
            let or_nothing = |what: &Option<String>| what.clone().unwrap_or_else(|| "nothing".to_owned());
            let (at, recorded, now) = (one.at.with_micros(), or_nothing(&one.recorded), or_nothing(&one.now));
            text += &format!("{at} {}\n  recorded: {recorded}\n  now:      {now}\n", one.object);
        }
        let told = self.differences.len() as u64;
        if told < differences {
            text += &format!("... and {} more\n", differences - told);
        }
        text += &match differences {
            0 => format!("{decisions} decisions, all the same\n"),
            _ => format!(
                "{decisions} decisions, {same} the same; {differences} differences, of which later ones may follow from earlier ones\n"
            ),
        };
        let starts = if engines == 1 { "1 start".to_owned() } else { format!("{engines} starts") };
        if let (Some(first), Some(last)) = (self.first, self.last) {
            text += &format!("{starts} of a scheduler, from {first} to {last}\n");
        }
        if left_out > 0 {
            text += &format!(
                "{left_out} other decisions were not compared: the start of their scheduler is not in the recording any more\n"
            );
        }
        text
    }

    fn json(&self) -> Value {
        let ReplayTally { engines, inputs, decisions, same, differences, left_out } = self.tally;
        let one = |one: &Difference| {
            json!({
                "time": one.at.with_micros().to_string(),
                "object": one.object,
                "recorded": one.recorded,
                "now": one.now,
            })
        };
        let time = |time: Option<Timestamp>| time.map(|time| time.with_micros().to_string());
        json!({
            "same": differences == 0,
            "starts": engines,
            "inputs": inputs,
            "decisions": decisions,
            "sameDecisions": same,
            "notCompared": left_out,
            "differenceCount": differences,
            "differences": self.differences.iter().map(one).collect::<Vec<_>>(),
            "from": time(self.first),
            "to": time(self.last),
        })
    }
}
