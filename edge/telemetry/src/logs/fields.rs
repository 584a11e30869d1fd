//! The fields of an event, collected in their order and bounded in their size.

use std::error::Error;
use std::fmt;

use tracing::field::{Field, Visit};

/// What a field may hold; more would bury the other lines.
const BYTES_MAX: usize = 8 * 1024;
const HINT: &str = "; hint: ";

/// What was said, and about what.
#[derive(Default)]
pub(super) struct Fields {
    pub(super) message: String,
    pub(super) all: Vec<(&'static str, Value)>,
}

pub(super) enum Value {
    Text(String),
    /// A number or a truth value, which needs no quotes.
    Bare(String),
}

impl Fields {
    fn text(&mut self, name: &'static str, mut text: String) {
        if text.len() > BYTES_MAX {
            text.truncate(text.floor_char_boundary(BYTES_MAX));
            text.push('…');
        }
        match name {
            "message" => self.message = text,
            "error" => match text.split_once(HINT) {
                Some((wrong, hint)) => {
                    self.all.push(("error", Value::Text(wrong.to_owned())));
                    self.all.push(("hint", Value::Text(hint.to_owned())));
                }
                None => self.all.push(("error", Value::Text(text))),
            },
            _ => self.all.push((name, Value::Text(text))),
        }
    }

    fn bare(&mut self, name: &'static str, value: String) {
        self.all.push((name, Value::Bare(value)));
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field.name(), value.to_owned());
    }

    fn record_error(&mut self, field: &Field, error: &(dyn Error + 'static)) {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let words = cause.to_string();
            // Many errors tell their cause by themselves.
            if !text.contains(&words) {
                text = format!("{text}: {words}");
            }
            source = cause.source();
        }
        self.text(field.name(), text);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.bare(field.name(), value.to_string());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.bare(field.name(), value.to_string());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.bare(field.name(), value.to_string());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if value.is_finite() {
            self.bare(field.name(), value.to_string());
        } else {
            self.text(field.name(), value.to_string());
        }
    }
}
