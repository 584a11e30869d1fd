//! Lines as they come out, for both formats.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde_json::{Value, json};
use thiserror::Error;

use super::{Format, Lines};

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn moment() -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(1_794_761_401_120_300)
}

fn written(format: Format, verbosity: u8, colour: bool, speak: impl FnOnce()) -> String {
    let kept = Kept::default();
    let lines = Lines::new(format, verbosity, colour, kept.clone(), moment);
    tracing::subscriber::with_default(lines, speak);
    let bytes = kept.0.lock().clone();
    String::from_utf8(bytes).expect("lines are text")
}

fn text(speak: impl FnOnce()) -> String {
    written(Format::Text, 0, false, speak)
}

fn json_line(speak: impl FnOnce()) -> Value {
    let line = written(Format::Json, 0, false, speak);
    assert_eq!(line.matches('\n').count(), 1, "{line}");
    serde_json::from_str(&line).expect("a line is JSON")
}

#[derive(Debug, Error)]
#[error("cannot bind: {source}; hint: look at the node")]
struct Refused {
    source: io::Error,
}

#[derive(Debug, Error)]
#[error("cannot read the answer")]
struct Unread(#[source] io::Error);

#[test]
fn a_line_for_people_has_a_time_a_level_a_message_and_fields() {
    let line = text(
        || tracing::info!(pod = "default/web-0", node = %"node-1", attempts = 3, again = false, "bound"),
    );
    let expected = "2026-11-15T16:50:01.120300Z INFO  bound pod=\"default/web-0\" node=\"node-1\" attempts=3 again=false\n";
    assert_eq!(line, expected);
}

#[test]
fn a_line_for_machines_is_a_json_object() {
    let line = json_line(|| tracing::warn!(pod = "default/web-0", attempts = 3, took = 0.5, "waits"));
    let expected = json!({
        "time": "2026-11-15T16:50:01.120300Z", "level": "warn", "message": "waits",
        "pod": "default/web-0", "attempts": 3, "took": 0.5,
    });
    assert_eq!(line, expected);
}

#[test]
fn an_error_is_shown_with_its_causes_and_its_hint_apart() {
    let refused = Refused { source: io::Error::other("the API server is gone") };
    let error: &(dyn std::error::Error + 'static) = &refused;
    let line = json_line(|| tracing::error!(error, pod = "default/web-0", "no binding"));
    assert_eq!(line["error"], "cannot bind: the API server is gone");
    assert_eq!(line["hint"], "look at the node");
    let shown = text(|| tracing::error!(error = %refused, "no binding"));
    assert!(
        shown.ends_with("error=\"cannot bind: the API server is gone\" hint=\"look at the node\"\n"),
        "{shown}"
    );

    let unread = Unread(io::Error::other("the line was cut"));
    let error: &(dyn std::error::Error + 'static) = &unread;
    let line = json_line(|| tracing::error!(error, "no answer"));
    assert_eq!(line["error"], "cannot read the answer: the line was cut");
    assert_eq!(line.get("hint"), None);
}

#[test]
fn no_field_and_no_message_can_begin_a_line_or_steer_a_terminal() {
    let hostile = "a\nERROR \x1b[31m\u{9b}2J \u{202e}";
    let line = text(|| tracing::info!(pod = hostile, "{hostile}"));
    assert_eq!(line.matches('\n').count(), 1, "{line}");
    assert!(line.trim_end().chars().all(|char| !char.is_control() && char != '\u{202e}'), "{line}");
    let line = json_line(|| tracing::info!(pod = hostile, "{hostile}"));
    assert_eq!(line["pod"], hostile);
    assert_eq!(line["message"], hostile);
}

#[test]
fn fields_named_like_parts_of_a_line_do_not_hide_them() {
    let line = json_line(|| tracing::info!(time = 1, level = "x", "said"));
    assert_eq!(line["level"], "info");
    assert_eq!(line["field_time"], 1);
    assert_eq!(line["field_level"], "x");
}

#[test]
fn what_is_far_too_long_is_cut() {
    let line = json_line(|| tracing::info!(text = "ä".repeat(10_000), "said"));
    let shown = line["text"].as_str().expect("it is text");
    assert_eq!(shown.chars().count(), 4097);
    assert!(shown.ends_with('…'));
}

#[test]
fn colour_marks_the_level_only_when_it_is_wanted() {
    let speak = || tracing::error!(pod = "default/web-0", "failed");
    let coloured = written(Format::Text, 0, true, speak);
    assert!(coloured.contains("\x1b[31mERROR\x1b[0m failed"), "{coloured:?}");
    assert!(!text(speak).contains('\x1b'));
}

#[test]
fn more_is_shown_with_more_verbosity() {
    let speak = || {
        tracing::debug!("detail");
        tracing::trace!("everything");
        tracing::debug!(target: "hyper_util::client", "outside");
    };
    let lines = |verbosity| written(Format::Text, verbosity, false, speak).lines().count();
    assert_eq!([lines(0), lines(4), lines(6)], [0, 1, 3]);
}

#[test]
fn a_number_that_is_none_is_still_json() {
    let line = json_line(|| tracing::info!(took = f64::NAN, "said"));
    assert_eq!(line["took"], "NaN");
}

#[test]
fn formats_are_read_and_a_wrong_one_is_told_with_a_hint() {
    for format in [Format::Text, Format::Json] {
        assert_eq!(format.to_string().parse::<Format>().ok(), Some(format));
    }
    let wrong = "yaml".parse::<Format>().expect_err("it is none").to_string();
    assert_eq!(wrong, "\"yaml\" is not a log format; hint: choose text or json");
}
