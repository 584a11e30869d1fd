//! Events of the core group.

use crate::meta::ObjectMeta;
use crate::value::{MicroTime, Time};
use crate::wire::wire;

wire! {
    /// Something that happened to an object.
    pub object Event of "v1" {
        action: String = "action",
        count: i32 = "count",
        event_time: Option<MicroTime> = "eventTime",
        first_timestamp: Option<Time> = "firstTimestamp",
        involved_object: ObjectReference = "involvedObject",
        last_timestamp: Option<Time> = "lastTimestamp",
        message: String = "message",
        metadata: ObjectMeta = "metadata",
        reason: String = "reason",
        related: Option<ObjectReference> = "related",
        reporting_component: String = "reportingComponent",
        reporting_instance: String = "reportingInstance",
        series: Option<EventSeries> = "series",
        source: EventSource = "source",
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

wire! {
    /// Who reported it.
    pub struct EventSource {
        component: String = "component",
        host: String = "host",
    }
}

wire! {
    /// A pointer to another object.
    pub struct ObjectReference {
        api_version: String = "apiVersion",
        field_path: String = "fieldPath",
        kind: String = "kind",
        name: String = "name",
        namespace: String = "namespace",
        resource_version: String = "resourceVersion",
        uid: String = "uid",
    }
}
