//! Logs for people and for machines: one line for each event, on stderr.
//!
//! Events come by way of `tracing`, ours and those of the crates that we use. A line has a time, a level, a message and
//! fields; objects are fields such as `pod="namespace/name"`. Whatever a field holds, a line stays one line, and
//! cannot steer a terminal. An error that ends with `; hint: …` is shown as an error and a hint.
//!
//! ```
//! # let error = "cannot reach the API server; hint: see --kubeconfig";
//! tracing::info!(pod = "default/web-0", node = "node-1", "bound");
//! tracing::warn!(pod = "default/web-0", %error, "cannot bind");
//! ```

mod fields;
mod levels;
mod line;

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::str::FromStr;
use std::time::SystemTime;

use parking_lot::Mutex;
use thiserror::Error;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use fields::Fields;
use levels::Levels;
use line::Line;

/// What lines look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For machines: a JSON object for each line.
    Json,
}

/// A format that is none.
#[derive(Debug, Error)]
#[error("{0:?} is not a log format; hint: choose text or json")]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            other => Err(UnknownFormat(other.to_owned())),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

/// Somebody collects the events already.
#[derive(Debug, Error)]
#[error("logs were started already")]
pub struct AlreadyStarted;

/// Writes all events of this process to stderr from now on. `verbosity` is that of Kubernetes: 0 shows what operators
/// need, 4 what helps to find a mistake, 6 everything of ours and what others say, 9 everything.
///
/// # Errors
/// When it was done before.
pub fn start(format: Format, verbosity: u8) -> Result<(), AlreadyStarted> {
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    let lines = Lines::new(format, verbosity, colour, io::stderr(), SystemTime::now);
    tracing::subscriber::set_global_default(lines).map_err(|_| AlreadyStarted)
}

/// Turns events into lines.
struct Lines<W> {
    format: Format,
    colour: bool,
    levels: Levels,
    out: Mutex<W>,
    now: fn() -> SystemTime,
}

impl<W> Lines<W> {
    fn new(format: Format, verbosity: u8, colour: bool, out: W, now: fn() -> SystemTime) -> Self {
        Self { format, colour, levels: Levels::of(verbosity), out: Mutex::new(out), now }
    }
}

impl<W: Write + Send + 'static> Subscriber for Lines<W> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // What happens within a span says by itself which object it concerns.
        metadata.is_event() && self.levels.shows(metadata.target(), *metadata.level())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.levels.most())
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let line = Line { time: (self.now)(), level: *event.metadata().level(), fields: &fields };
        let text = match self.format {
            Format::Text => line.text(self.colour),
            Format::Json => line.json(),
        };
        // One write for a whole line; if nobody can be told, there is nobody to tell it to.
        let _ = self.out.lock().write_all(text.as_bytes());
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[cfg(test)]
mod tests;
