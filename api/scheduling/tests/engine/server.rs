//! An API server made of values: objects with versions, and calls that it carries out as a real one does.

use std::collections::BTreeMap;

use cluster::change::Change;
use convert::change::{applied, gone};
use model::timestamp::Timestamp;
use scheduling::protocol::{CallOutcome, Object, ObjectRef};
use scheduling::request::{ApiCall, Verb};
use serde_json::{Value, json};
use store::binding::Wish;
use store::patch::strategic_merge_patch;

/// The only namespace.
pub const NAMESPACE: &str = "ns";

/// Objects, and what a watch has yet to tell of them.
#[derive(Default)]
pub struct Server {
    objects: BTreeMap<(String, String), Value>,
    revision: u64,
    /// Changes in the order in which they were made.
    pub news: Vec<Change>,
}

impl Server {
    pub fn get(&self, kind: &str, name: &str) -> Option<&Value> {
        self.objects.get(&(kind.to_owned(), name.to_owned()))
    }

    /// All objects of a kind.
    pub fn list(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.objects.iter().filter(move |((of, _), _)| of == kind).map(|(_, object)| object)
    }

    /// Makes an object, or puts it in place of the one that is there.
    pub fn put(&mut self, mut object: Value) {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        let change = applied(&object, self.revision).expect("an object that can be read");
        self.news.extend(change);
        let text = |field: &Value| field.as_str().expect("a name").to_owned();
        self.objects.insert((text(&object["kind"]), text(&object["metadata"]["name"])), object);
    }

    /// Changes an object as another client does.
    pub fn change(&mut self, kind: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.get(kind, name).expect("it is there").clone();
        change(&mut object);
        self.put(object);
    }

    pub fn remove(&mut self, kind: &str, name: &str) {
        let object = self.objects.remove(&(kind.to_owned(), name.to_owned())).expect("it is there");
        self.news.extend(gone(&object).expect("an object that can be read"));
    }

    pub fn read(&self, which: &ObjectRef) -> CallOutcome {
        let (kind, _, name) = which.named();
        match self.get(kind, &name) {
            Some(object) => CallOutcome::Done(Some(typed(kind, object))),
            None => CallOutcome::NotFound("not found".to_owned()),
        }
    }

    /// Carries a call out.
    pub fn perform(&mut self, call: &ApiCall, now: Timestamp) -> CallOutcome {
        let Some(old) = self.get(call.kind, &call.name).cloned() else {
            return CallOutcome::NotFound("not found".to_owned());
        };
        let sent = &call.body["metadata"];
        let precondition = &call.body["preconditions"]["uid"];
        let differs = |sent: &Value, field: &str| !sent.is_null() && *sent != old["metadata"][field];
        let version = &sent["resourceVersion"];
        if differs(&sent["uid"], "uid") || differs(precondition, "uid") || differs(version, "resourceVersion")
        {
            return CallOutcome::Conflict("the object has been modified".to_owned());
        }
        let object = match (call.verb, call.subresource) {
            (Verb::Update, part) => updated(&old, &call.body, part),
            (Verb::Patch, _) => patched(&old, call),
            (Verb::Create, Some("binding")) => {
                let wish = Wish::read(&call.body, NAMESPACE, Some(&call.name)).expect("a binding");
                let mut pod = old;
                if let Err(why) = wish.bind(&mut pod, &Value::Null, &now.to_seconds().to_string()) {
                    return CallOutcome::Conflict(why.to_string());
                }
                pod
            }
            (Verb::Delete, _) => {
                self.remove(call.kind, &call.name);
                return CallOutcome::Done(None);
            }
            (Verb::Create, _) => unreachable!("nothing is created in these stories: {call:?}"),
        };
        self.put(object);
        let made = self.get(call.kind, &call.name).filter(|_| call.gives_object());
        CallOutcome::Done(made.map(|made| typed(call.kind, made)))
    }
}

fn typed(kind: &str, object: &Value) -> Object {
    Object::of_value(kind, object).expect("an object that can be read")
}

/// A status is written alone, and so is everything else.
fn updated(old: &Value, sent: &Value, subresource: Option<&str>) -> Value {
    let mut object = old.clone();
    match subresource {
        Some(_) => object["status"] = sent["status"].clone(),
        None => (object["metadata"], object["spec"]) = (sent["metadata"].clone(), sent["spec"].clone()),
    }
    object
}

fn patched(old: &Value, call: &ApiCall) -> Value {
    let table = schema::table();
    let is_it = |kind: &&schema::Kind| kind.kind == call.kind && old["apiVersion"] == *kind.api_version;
    let kind = table.kinds().iter().find(is_it).expect("a kind that is served");
    let mut object = old.clone();
    strategic_merge_patch(table, kind.object, &mut object, call.body.clone()).expect("a patch");
    object
}
