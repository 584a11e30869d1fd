//! The condition of a group that says whether enough of its pods were placed.
//!
//! Invariant: once it is true it stays so. It keeps the time at which it became what it is.

use convert::INITIALLY_SCHEDULED;
use objects::Object;
use objects::scheduling::pod_group::PodGroup;
use scheduler::write::GroupState;
use serde_json::json;

use crate::request::{Next, RequestError, Seen, Verb, call};

/// What comes next for a note on a group.
pub(crate) fn note(seen: &Seen<'_>, uid: &str, state: &GroupState) -> Result<Next, RequestError> {
    let group = seen.group.filter(|group| group.metadata.uid == uid).ok_or(RequestError::Gone)?;
    let (status, reason, message) = match state {
        GroupState::Placed => ("True", "Scheduled", ""),
        GroupState::Waiting { reason, message } => ("False", reason.code(), message.as_str()),
    };
    let metadata = &group.metadata;
    let known = group.status.conditions.iter().find(|condition| condition.type_ == INITIALLY_SCHEDULED);
    let is_said = known.is_some_and(|known| {
        let is_same = known.status == status && known.reason == reason && known.message == message;
        known.status == "True" || (is_same && known.observed_generation == metadata.generation)
    });
    if is_said {
        return Ok(Next::Done);
    }
    let mut condition = json!({
        "type": INITIALLY_SCHEDULED, "status": status, "reason": reason, "message": message,
        "observedGeneration": metadata.generation,
    });
    let since = known.filter(|known| known.status == status).and_then(|known| known.last_transition_time);
    let since = since.map_or_else(|| seen.now.to_seconds(), |time| time.0);
    condition["lastTransitionTime"] = json!(since.to_string());
    let mut body = json!({ "metadata": { "uid": uid }, "status": { "conditions": [condition] } });
    if !metadata.resource_version.is_empty() {
        // A call that is late must not undo what was said since.
        body["metadata"]["resourceVersion"] = json!(metadata.resource_version);
    }
    let (namespace, name) = (&metadata.namespace, &metadata.name);
    Ok(Next::Last(call(Verb::Patch, PodGroup::KIND, namespace, name, Some("status"), body)))
}
