//! Events, as the core group and as events.k8s.io write them. The second is stricter: only what is reported in its own
//! way is accepted.

use objects::Object;
use objects::core::event::Event as CoreEvent;
use objects::events::Event;
use schema::Path;
use serde_json::Value;

use crate::admit::{Operation, Request, judge};
use crate::cause::Causes;
use crate::kind::{Admit, Context};
use crate::names;
use crate::rejection::Rejection;
use crate::versions;

const WORD_BYTES_MAX: usize = 128;
const NOTE_BYTES_MAX: usize = 1024;

impl Admit for CoreEvent {
    const NAME_FORM: fn(&str) -> names::Faults = names::path_segment;

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        validate_report(self, "reportingComponent", causes);
    }
}

impl Admit for Event {
    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let event = stored(self);
        validate_report(&event, "reportingController", causes);
        let root = Path::ROOT;
        validate_series(&event, causes);
        if event.event_time.is_none() {
            causes.required(&root.field("eventTime"), "must be set");
        }
        if !matches!(event.type_.as_str(), "Normal" | "Warning") {
            causes.invalid(&root.field("type"), "must be Normal or Warning");
        }
        // Quirk: fields are named as the core group names them.
        for (name, set) in [
            ("firstTimestamp", event.first_timestamp.is_some()),
            ("lastTimestamp", event.last_timestamp.is_some()),
            ("count", event.count != 0),
            ("source", !event.source.component.is_empty() || !event.source.host.is_empty()),
        ] {
            if set {
                causes.invalid(&root.field(name), "is no longer used and must be unset");
            }
        }
    }

    fn validate_update(&self, old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        let (event, old) = (stored(self), stored(old));
        validate_report(&event, "reportingController", causes);
        if event.series != old.series {
            validate_series(&event, causes);
        }
        let root = Path::ROOT;
        let mut fixed = |name: &str, same: bool| causes.immutable(&root.field(name), &same, &true);
        fixed("involvedObject", event.involved_object == old.involved_object);
        fixed("reason", event.reason == old.reason);
        fixed("message", event.message == old.message);
        fixed("source", event.source == old.source);
        fixed("firstTimestamp", event.first_timestamp == old.first_timestamp);
        fixed("lastTimestamp", event.last_timestamp == old.last_timestamp);
        fixed("count", event.count == old.count);
        fixed("type", event.type_ == old.type_);
        fixed("eventTime", event.event_time == old.event_time);
        fixed("action", event.action == old.action);
        fixed("related", event.related == old.related);
        fixed("reportingController", event.reporting_component == old.reporting_component);
        fixed("reportingInstance", event.reporting_instance == old.reporting_instance);
    }
}

/// Judges an event that came by way of events.k8s.io. It is stored as the core group has it, but judged as it was sent.
pub(crate) fn judge_reported(request: Request<'_>) -> Result<(Value, Vec<String>), Rejection> {
    let sent = request.sent;
    let before: Value;
    let operation = match request.operation {
        Operation::Create => Operation::Create,
        Operation::Update(old) => {
            before = versions::from_stored(sent, old.clone());
            Operation::Update(&before)
        }
        Operation::UpdateStatus(old) => {
            before = versions::from_stored(sent, old.clone());
            Operation::UpdateStatus(&before)
        }
    };
    let object = versions::from_stored(sent, request.object);
    let (object, warnings) = judge::<Event>(Request { kind: sent, object, operation, ..request })?;
    Ok((versions::to_stored(sent, object), warnings))
}

/// The event as the core group has it.
fn stored(event: &Event) -> CoreEvent {
    let mut value = event.write_value();
    versions::rename_event(&mut value, versions::Direction::ToStored);
    CoreEvent::read_value(&value).expect("both shapes of an event have fields of the same types")
}

/// What holds for an event of either group. One that says when it happened is reported in the newer way.
fn validate_report(event: &CoreEvent, reporter: &str, causes: &mut Causes) {
    let root = Path::ROOT;
    let object = root.field("involvedObject");
    let (own, involved) = (event.metadata.namespace.as_str(), event.involved_object.namespace.as_str());
    let place = object.field("namespace");
    if event.event_time.is_none() {
        let fits = if involved.is_empty() { matches!(own, "" | "default") } else { involved == own };
        if !fits {
            causes.invalid(&place, "must be the namespace of the event");
        }
        return;
    }
    if involved.is_empty() && !matches!(own, "default" | "kube-system") {
        causes.invalid(&place, "must be the namespace of the event");
    }
    if event.reporting_component.is_empty() {
        causes.required(&root.field(reporter), "must be set");
    }
    let faults = names::label_key(&event.reporting_component);
    causes.malformed(&root.field(reporter), &event.reporting_component, faults);
    for (name, value) in [
        ("reportingInstance", &event.reporting_instance),
        ("action", &event.action),
        ("reason", &event.reason),
    ] {
        if value.is_empty() {
            causes.required(&root.field(name), "must be set");
        }
        if value.len() > WORD_BYTES_MAX {
            causes.invalid(&root.field(name), format!("may have at most {WORD_BYTES_MAX} bytes"));
        }
    }
    if event.message.len() > NOTE_BYTES_MAX {
        causes.invalid(&root.field("message"), format!("may have at most {NOTE_BYTES_MAX} bytes"));
    }
}

fn validate_series(event: &CoreEvent, causes: &mut Causes) {
    let Some(series) = &event.series else { return };
    let path = Path::ROOT.field("series");
    if series.count < 2 {
        causes.invalid(&path.field("count"), "a series has at least 2 events");
    }
    if series.last_observed_time.is_none() {
        causes.required(&path.field("lastObservedTime"), "must be set");
    }
}
