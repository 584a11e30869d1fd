//! Claims of an instance.

use serde_json::{Value, json};

use super::DRIVERS;
use crate::choices::Choices;

/// A claim with one request or two.
pub(super) fn claim(choices: &mut Choices<'_>, at: usize) -> Value {
    let count = 1 + usize::from(choices.one_in(4));
    let mut requests: Vec<Value> = (0..count).map(|at| request(choices, at)).collect();
    let mut devices = json!({});
    if choices.one_in(3) {
        let attribute = format!("{}/{}", DRIVERS[0], choices.pick(&["numa", "model"]));
        let kind = choices.pick(&["matchAttribute", "distinctAttribute"]);
        let named = some(choices, &requests);
        if named == json!([]) && choices.one_in(2) {
            derive(&mut requests[0], &attribute);
        }
        devices["constraints"] = json!([{kind: attribute, "requests": named}]);
    }
    if choices.one_in(3) {
        let opaque = json!({"driver": DRIVERS[0], "parameters": {"from": "claim"}});
        devices["config"] = json!([{"requests": some(choices, &requests), "opaque": opaque}]);
    }
    devices["requests"] = json!(requests);
    let metadata = json!({"name": format!("claim-{at}"), "namespace": "default", "uid": format!("uid-{at}")});
    json!({"metadata": metadata, "spec": {"devices": devices}})
}

/// No names, which mean all requests; or one alternative; or one request.
fn some(choices: &mut Choices<'_>, requests: &[Value]) -> Value {
    let alternatives = requests.iter().find(|request| request["firstAvailable"].is_array());
    match (choices.below(3), alternatives) {
        (0, _) => json!([]),
        (1, Some(request)) => json!([format!("{}/s1", request["name"].as_str().unwrap_or_default())]),
        _ => json!([requests[choices.below(requests.len())]["name"]]),
    }
}

/// Lets a request compute the attribute that a constraint compares.
fn derive(request: &mut Value, attribute: &str) {
    let expression = r#"device.attributes[device.driver].?model.orValue("none")"#;
    let derived = json!([{"name": attribute, "expression": expression}]);
    let alternatives = request.get("firstAvailable").is_some();
    let wanted = if alternatives { &mut request["firstAvailable"][0] } else { &mut request["exactly"] };
    wanted["derivedAttributes"] = derived;
}

fn request(choices: &mut Choices<'_>, at: usize) -> Value {
    let name = format!("r{at}");
    if choices.one_in(4) {
        let alternatives: Vec<Value> = (0..2)
            .map(|at| {
                let mut alternative = wanted(choices);
                alternative["name"] = json!(format!("s{at}"));
                alternative
            })
            .collect();
        return json!({"name": name, "firstAvailable": alternatives});
    }
    let mut exactly = wanted(choices);
    if choices.one_in(8) {
        exactly["adminAccess"] = json!(true);
    }
    json!({"name": name, "exactly": exactly})
}

fn wanted(choices: &mut Choices<'_>) -> Value {
    let mut wanted = json!({"deviceClassName": choices.pick(&["any", "any", "gpu"])});
    if choices.one_in(7) {
        wanted["allocationMode"] = json!("All");
    } else {
        wanted["allocationMode"] = json!("ExactCount");
        wanted["count"] = json!(1 + usize::from(choices.one_in(4)));
    }
    if choices.one_in(4) {
        let expression = choices.pick(&[
            r#"device.attributes[device.driver].?model.orValue("") == "x""#,
            r#"device.attributes[device.driver].index > 0"#,
            r#"!device.allowMultipleAllocations"#,
        ]);
        wanted["selectors"] = json!([{"cel": {"expression": expression}}]);
    }
    if choices.one_in(6) {
        wanted["capacity"] = json!({"requests": {"mem": choices.pick(&["1", "2", "3", "5", "1500m"])}});
    }
    if choices.one_in(3) {
        let toleration = match choices.below(3) {
            0 => json!({"operator": "Exists"}),
            1 => json!({"operator": "Equal", "key": "worn", "value": "yes", "effect": "NoSchedule"}),
            _ => json!({"operator": "Equal", "key": "worn", "value": "no"}),
        };
        wanted["tolerations"] = json!([toleration]);
    }
    wanted
}
