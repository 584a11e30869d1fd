//! One event as one line, for people or for machines.

use std::fmt::Write as _;
use std::time::SystemTime;

use jiff::Timestamp;
use serde_json::Value as Json;
use tracing::Level;

use super::fields::{Fields, Value};

/// An event that is to be written.
pub(super) struct Line<'a> {
    pub(super) time: SystemTime,
    pub(super) level: Level,
    pub(super) fields: &'a Fields,
}

const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

impl Line<'_> {
    /// `2026-11-15T16:50:01.123456Z INFO  bound pod="default/web-0" node="node-1"`
    pub(super) fn text(&self, colour: bool) -> String {
        let mut out = String::new();
        let paint = |code: &str, text: &str| {
            if colour { format!("{code}{text}{PLAIN}") } else { text.to_owned() }
        };
        let level = paint(hue(self.level), &format!("{:<5}", self.level.as_str()));
        let _ = write!(out, "{} {level} ", paint(DIM, &self.time()));
        printable(&mut out, &self.fields.message);
        for (name, value) in &self.fields.all {
            let name = paint(DIM, &format!("{name}="));
            let _ = match value {
                Value::Text(text) => write!(out, " {name}{text:?}"),
                Value::Bare(text) => write!(out, " {name}{text}"),
            };
        }
        out.push('\n');
        out
    }

    /// `{"time":"…","level":"info","message":"bound","pod":"default/web-0","node":"node-1"}`
    pub(super) fn json(&self) -> String {
        let mut out = String::new();
        let level = self.level.as_str().to_ascii_lowercase();
        let message = Json::from(self.fields.message.as_str());
        let _ = write!(out, "{{\"time\":\"{}\",\"level\":\"{level}\",\"message\":{message}", self.time());
        for (name, value) in &self.fields.all {
            // A key that came twice would hide the first one from most readers.
            let prefix = if matches!(*name, "time" | "level") { "field_" } else { "" };
            let name = Json::from(format!("{prefix}{name}"));
            let _ = match value {
                Value::Text(text) => write!(out, ",{name}:{}", Json::from(text.as_str())),
                Value::Bare(text) => write!(out, ",{name}:{text}"),
            };
        }
        out.push_str("}\n");
        out
    }

    fn time(&self) -> String {
        let time = Timestamp::try_from(self.time).unwrap_or(Timestamp::UNIX_EPOCH);
        format!("{time:.6}")
    }
}

fn hue(level: Level) -> &'static str {
    match level {
        Level::ERROR => "\x1b[31m",
        Level::WARN => "\x1b[33m",
        Level::INFO => "\x1b[32m",
        Level::DEBUG => "\x1b[34m",
        _ => DIM,
    }
}

/// Messages hold words of others, which must neither begin a line nor steer the terminal.
fn printable(out: &mut String, text: &str) {
    for char in text.chars() {
        if char.is_control() || is_direction(char) {
            out.extend(char.escape_unicode());
        } else {
            out.push(char);
        }
    }
}

/// Characters that turn the order of what follows, and so could make a line read as another.
fn is_direction(char: char) -> bool {
    matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
