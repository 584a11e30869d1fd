//! One object with its life, read from the API server when a page asks for it.

use client::{Answer, Connection, ListRequest, Selectors};
use convert::followed::row_of;
use serde_json::{Map, Value, json};
use views::timeline::{related, timeline};

/// How many events of an object are read.
const EVENTS_MAX: u32 = 100;

/// How many attachments are listed.
const ATTACHMENTS_MAX: u32 = 500;

/// The kinds of which the life is shown, by their names in paths.
const KINDS: [(&str, &str); 5] = [
    ("pod", "Pod"),
    ("claim", "ResourceClaim"),
    ("podgroup", "PodGroup"),
    ("compositepodgroup", "CompositePodGroup"),
    ("workload", "Workload"),
];

/// The kind that a name in paths means.
pub(crate) fn kind_of(name: &str) -> Option<&'static str> {
    KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// An object as people see it: what it is, what it asks for, what became of it and when.
pub(crate) async fn object(
    connection: Option<&Connection>,
    kind: &'static str,
    (namespace, name): (&str, &str),
    decisions: Vec<Value>,
) -> Value {
    let mut found = None;
    let (mut events, mut notes) = (Vec::new(), Vec::new());
    if let (Some(connection), Some(row)) = (connection, row_of(kind)) {
        let by_name = format!("metadata.name={name}");
        match list(connection, row.api_version, row.plural, namespace, by_name, 1).await {
            Ok(objects) => found = objects.into_iter().next(),
            Err(why) => notes.push(why),
        }
        let about = format!("involvedObject.name={name},involvedObject.kind={kind}");
        match list(connection, "v1", "events", namespace, about, EVENTS_MAX).await {
            Ok(listed) => events = listed,
            Err(why) => notes.push(why),
        }
    }
    if found.is_none() && connection.is_some() && notes.is_empty() {
        notes.push(format!("{kind} {namespace}/{name} does not exist any more"));
    }
    let mut document = Map::new();
    let mut put = |name: &str, value: Value| drop(document.insert(name.to_owned(), value));
    put("kind", json!(kind));
    put("namespace", json!(namespace));
    put("name", json!(name));
    put("timeline", timeline(found.as_ref(), &events, &decisions).into());
    put("notes", json!(notes));
    if let Some(object) = &found {
        put("related", related(object).into());
        put("conditions", object["status"]["conditions"].clone());
        put("labels", object["metadata"]["labels"].clone());
        put("node", object["spec"]["nodeName"].clone());
        put("phase", object["status"]["phase"].clone());
        put("devices", object["status"]["allocation"]["devices"]["results"].clone());
        put("requests", object["spec"]["devices"]["requests"].clone());
        put("reservedFor", object["status"]["reservedFor"].clone());
    }
    if kind == "Pod"
        && let Some(connection) = connection
    {
        put("negotiation", negotiation(connection, namespace, name).await);
    }
    Value::Object(document)
}

/// What is negotiated with the controllers of drivers about a pod.
async fn negotiation(connection: &Connection, namespace: &str, name: &str) -> Value {
    let Some(row) = row_of("PodSchedulingContext") else { return Value::Null };
    let by_name = format!("metadata.name={name}");
    // Most servers do not serve the kind.
    let listed = list(connection, row.api_version, row.plural, namespace, by_name, 1).await;
    let context = listed.unwrap_or_default().into_iter().next();
    context.map_or(Value::Null, |context| {
        json!({
            "selectedNode": context["spec"]["selectedNode"],
            "potentialNodes": context["spec"]["potentialNodes"],
            "claims": context["status"]["resourceClaims"],
        })
    })
}

/// The attachments of a composable fabric, if the server has any.
pub(crate) async fn fabric(connection: Option<&Connection>) -> Value {
    let Some(connection) = connection else { return json!({ "attachments": [] }) };
    let listed =
        list(connection, "supercargo.dev/v1alpha1", "deviceattachments", "", String::new(), ATTACHMENTS_MAX);
    match listed.await {
        Err(why) => json!({ "attachments": [], "message": why }),
        Ok(objects) => {
            let attachments = objects.iter().map(|object| {
                json!({
                    "name": object["metadata"]["name"],
                    "since": object["metadata"]["creationTimestamp"],
                    "spec": object["spec"],
                    "status": object["status"],
                })
            });
            json!({ "attachments": attachments.collect::<Vec<_>>() })
        }
    }
}

async fn list(
    connection: &Connection,
    api_version: &str,
    plural: &str,
    namespace: &str,
    fields: String,
    page_size: u32,
) -> Result<Vec<Value>, String> {
    let selectors = Selectors { fields, ..Selectors::default() };
    let request = ListRequest { api_version, plural, namespace, selectors, page_size };
    match connection.list_page(&request, None).await {
        Answer::Done(page) => Ok(page.items),
        Answer::NotFound(_) => Ok(Vec::new()),
        other => Err(format!("cannot read {plural}: {}", other.trouble().unwrap_or_default())),
    }
}
