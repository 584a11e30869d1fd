//! The life of an object as a timeline: what the object, its events and the decisions about it say happened when.

use serde_json::{Value, json};

/// How many entries a timeline has at most, the newest.
const ENTRIES_MAX: usize = 300;

/// The timeline of an object, the oldest entry first.
#[must_use]
pub fn timeline(object: Option<&Value>, events: &[Value], decisions: &[Value]) -> Vec<Value> {
    let mut entries: Vec<(String, Value)> = Vec::new();
    let mut put = |time: &Value, from: &str, what: String, message: &str| {
        let Some(time) = time.as_str() else { return };
        let entry = json!({ "time": time, "from": from, "what": what, "message": message });
        entries.push((time.to_owned(), entry));
    };
    if let Some(object) = object {
        of_object(object, &mut put);
    }
    for event in events {
        let time = ["lastTimestamp", "eventTime", "firstTimestamp"].iter().map(|name| &event[*name]);
        let time = time.into_iter().find(|time| time.is_string()).unwrap_or(&Value::Null);
        let what = event["reason"].as_str().unwrap_or_default();
        let count = event["count"].as_u64().filter(|count| *count > 1);
        let what = count.map_or_else(|| what.to_owned(), |count| format!("{what} ({count} times)"));
        put(time, "Event", what, event["message"].as_str().or(event["note"].as_str()).unwrap_or_default());
    }
    for decision in decisions {
        let text = |name: &str| decision[name].as_str().unwrap_or_default();
        let node = decision["node"].as_str().map(|node| format!("node {node}"));
        let devices = decision["devices"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let devices: Vec<&str> = devices.collect();
        let message = node.unwrap_or_else(|| devices.join(", "));
        let message = if message.is_empty() { text("message").to_owned() } else { message };
        put(&decision["time"], "Decision", text("decision").to_owned(), &message);
    }
    // Most times are to the second. Within one, what was decided comes before what follows from it.
    entries.sort_by_cached_key(|(time, entry)| {
        let second = time.get(..19).unwrap_or(time).to_owned();
        (second, rank(entry), time.clone())
    });
    let first = entries.len().saturating_sub(ENTRIES_MAX);
    entries.into_iter().skip(first).map(|(_, entry)| entry).collect()
}

/// What comes first of what happened within a second.
fn rank(entry: &Value) -> usize {
    match (entry["from"].as_str(), entry["what"].as_str()) {
        (Some("Object"), Some("Created")) => 0,
        (Some("Decision"), _) => 1,
        (Some("Event"), _) => 2,
        (_, Some("PodScheduled = True")) => 3,
        (Some("Object"), _) => 4,
        (Some("Container"), _) => 5,
        _ => 6,
    }
}

fn of_object(object: &Value, put: &mut dyn FnMut(&Value, &str, String, &str)) {
    let (metadata, status) = (&object["metadata"], &object["status"]);
    put(&metadata["creationTimestamp"], "Object", "Created".to_owned(), "");
    put(&metadata["deletionTimestamp"], "Object", "Deletion requested".to_owned(), "");
    put(&status["startTime"], "Object", "Accepted by the kubelet".to_owned(), "");
    let allocation = &status["allocation"];
    let results = allocation["devices"]["results"].as_array().map_or(0, Vec::len);
    put(&allocation["allocationTimestamp"], "Object", "Allocated".to_owned(), &format!("{results} devices"));
    let devices = status["devices"].as_array().into_iter().flatten();
    let of_devices = devices.flat_map(|device| device["conditions"].as_array().into_iter().flatten());
    let own = status["conditions"].as_array().into_iter().flatten();
    for condition in own.chain(of_devices) {
        let text = |name: &str| condition[name].as_str().unwrap_or_default();
        let what = format!("{} = {}", text("type"), text("status"));
        let message = if text("message").is_empty() { text("reason") } else { text("message") };
        put(&condition["lastTransitionTime"], "Condition", what, message);
    }
    for container in status["containerStatuses"].as_array().into_iter().flatten() {
        let name = container["name"].as_str().unwrap_or_default();
        let state = &container["state"];
        put(&state["running"]["startedAt"], "Container", format!("{name} started"), "");
        let ended = &state["terminated"];
        let why = ended["reason"].as_str().unwrap_or_default();
        put(&ended["finishedAt"], "Container", format!("{name} ended"), why);
    }
}

/// Other objects that an object names: claims of a pod, pods of a claim, its group.
#[must_use]
pub fn related(object: &Value) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    let mut related = Vec::new();
    let mut put = |kind: &str, name: &Value| {
        let entry = json!({ "kind": kind, "namespace": namespace, "name": name });
        if name.is_string() && !related.contains(&entry) {
            related.push(entry);
        }
    };
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for claim in list(&spec["resourceClaims"]) {
        put("ResourceClaim", &claim["resourceClaimName"]);
    }
    for claim in list(&status["resourceClaimStatuses"]) {
        put("ResourceClaim", &claim["resourceClaimName"]);
    }
    put("PodGroup", &spec["schedulingGroup"]["podGroupName"]);
    for user in list(&status["reservedFor"]) {
        if user["resource"] == "pods" {
            put("Pod", &user["name"]);
        }
    }
    related
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_objects_events_and_decisions_say_is_in_the_order_of_time() {
        let pod = json!({
            "metadata": { "namespace": "a", "name": "p", "creationTimestamp": "2026-01-02T03:04:05Z" },
            "spec": { "resourceClaims": [{ "name": "d", "resourceClaimName": "c" }] },
            "status": { "conditions": [
                { "type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-02T03:04:07Z" },
            ] },
        });
        let event = json!({ "reason": "FailedScheduling", "message": "no", "count": 3, "lastTimestamp": "2026-01-02T03:04:06Z" });
        let decision = json!({ "time": "2026-01-02T03:04:07.500000Z", "decision": "Scheduled", "node": "n" });
        let told = timeline(Some(&pod), &[event], &[decision]);
        let what: Vec<&str> = told.iter().filter_map(|entry| entry["what"].as_str()).collect();
        assert_eq!(what, ["Created", "FailedScheduling (3 times)", "Scheduled", "PodScheduled = True"]);
        assert_eq!(related(&pod), [json!({ "kind": "ResourceClaim", "namespace": "a", "name": "c" })]);
    }
}
