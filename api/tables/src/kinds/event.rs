//! Events, in either of the two spellings that Kubernetes has for them.

use model::timestamp::Timestamp;
use serde_json::Value;

use crate::age::{moment, since};
use crate::column::{Column, NAME};
use crate::fields::{name, number, text, text_or};

pub(super) const COLUMNS: &[Column] = &[
    Column::text("Last Seen", "How long ago the event happened last."),
    Column::text("Type", "Normal, or Warning."),
    Column::text("Reason", "Why the event was written, in one word."),
    Column::text("Object", "The object that the event is about."),
    Column::text("Subobject", "The part of the object that the event is about.").wide(),
    Column::text("Source", "The component that reported the event.").wide(),
    Column::text("Message", "The message of the event."),
    Column::text("First Seen", "How long ago the event happened for the first time.").wide(),
    Column::text("Count", "Number of times the event happened.").wide(),
    NAME.wide(),
];

pub(super) fn cells(event: &Value, now: Timestamp) -> Vec<Value> {
    let field = |old: &str, new: &str| if event[old].is_null() { &event[new] } else { &event[old] };
    let about = field("involvedObject", "regarding");
    let source = field("source", "deprecatedSource");
    let series = &event["series"];

    let first = field("firstTimestamp", "deprecatedFirstTimestamp");
    let first = if moment(first).is_some() { first } else { &event["eventTime"] };
    let last = field("lastTimestamp", "deprecatedLastTimestamp");
    let (last, count) = if series.is_object() {
        (&series["lastObservedTime"], number(&series["count"]))
    } else {
        // An event that happened once has no count in its newer spelling.
        let count = match number(field("count", "deprecatedCount")) {
            0 => 1,
            count => count,
        };
        (if moment(last).is_some() { last } else { first }, count)
    };

    let kind = text(&about["kind"]).to_lowercase();
    let target = match text(&about["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let reporter = field("reportingComponent", "reportingController");
    let component = text_or(&source["component"], text(reporter));
    let instance = text_or(&source["host"], text(&event["reportingInstance"]));
    let source = if instance.is_empty() { component.to_owned() } else { format!("{component}, {instance}") };
    vec![
        since(last, now).into(),
        text(&event["type"]).into(),
        text(&event["reason"]).into(),
        target.into(),
        text(&about["fieldPath"]).into(),
        source.into(),
        text(field("message", "note")).trim().into(),
        since(first, now).into(),
        count.into(),
        name(event),
    ]
}
