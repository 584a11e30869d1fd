//! Events of events.k8s.io, the form in which schedulers report.

use crate::core::event::{EventSource, ObjectReference};
use crate::meta::ObjectMeta;
use crate::value::{MicroTime, Time};
use crate::wire::wire;

wire! {
    /// Something that happened to an object, and what was done about it.
    pub object Event of "events.k8s.io/v1" {
        action: String = "action",
        deprecated_count: i32 = "deprecatedCount",
        deprecated_first_timestamp: Option<Time> = "deprecatedFirstTimestamp",
        deprecated_last_timestamp: Option<Time> = "deprecatedLastTimestamp",
        deprecated_source: EventSource = "deprecatedSource",
        event_time: Option<MicroTime> = "eventTime",
        metadata: ObjectMeta = "metadata",
        note: String = "note",
        reason: String = "reason",
        regarding: ObjectReference = "regarding",
        related: Option<ObjectReference> = "related",
        reporting_controller: String = "reportingController",
        reporting_instance: String = "reportingInstance",
        series: Option<EventSeries> = "series",
        type_: String = "type",
    }
}

wire! {
    /// How often it happened since the first time.
    pub struct EventSeries {
        count: i32 = "count",
        last_observed_time: Option<MicroTime> = "lastObservedTime",
    }
}
