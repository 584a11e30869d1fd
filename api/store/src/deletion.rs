//! What a deletion does to an object: it goes at once, or is marked and goes later.
//!
//! Pods get time to stop, finalizers hold an object until they are done, and what becomes of an object's dependents is
//! noted as a finalizer for the garbage collector.

use model::timestamp::Timestamp;
use serde_json::{Value, json};
use thiserror::Error;

/// What becomes of the objects that the deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// How to delete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// How long a pod may take to stop.
    pub grace_seconds: Option<i64>,
    /// What becomes of dependents.
    pub propagation: Option<Propagation>,
}

/// What to do with the object.
#[derive(Clone, Debug, PartialEq)]
pub enum Deletion {
    /// It is being deleted already, and nothing is new.
    Pending,
    /// It is marked and stays for now.
    Mark(Value),
    /// It goes; before that, those who watch see it marked.
    MarkAndRemove(Value),
    /// It goes.
    Remove,
}

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// Namespaces that every cluster needs.
const PROTECTED: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The object may never be deleted.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("this namespace may not be deleted")]
pub struct Protected;

/// Decides what a wish to delete does to an object of a kind.
///
/// # Errors
/// When the object is one that every cluster needs.
pub fn delete(kind: &str, object: &Value, wish: Wish, now: Timestamp) -> Result<Deletion, Protected> {
    match kind {
        "Namespace" => delete_namespace(object, now),
        _ => Ok(delete_object(kind, object, wish, now)),
    }
}

/// A namespace goes when its contents are gone; until then it is terminating.
fn delete_namespace(object: &Value, now: Timestamp) -> Result<Deletion, Protected> {
    if object["metadata"]["name"].as_str().is_some_and(|name| PROTECTED.contains(&name)) {
        return Err(Protected);
    }
    if object["metadata"].get("deletionTimestamp").is_some() {
        let held = holds_contents(object) || has_finalizers(object);
        return Ok(if held { Deletion::Pending } else { Deletion::Remove });
    }
    let mut marked = object.clone();
    marked["metadata"]["deletionTimestamp"] = json!(now.to_string());
    marked["status"]["phase"] = json!("Terminating");
    Ok(Deletion::Mark(marked))
}

/// Something still sees to what is in the namespace.
fn holds_contents(namespace: &Value) -> bool {
    namespace["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty())
}

fn delete_object(kind: &str, object: &Value, wish: Wish, now: Timestamp) -> Deletion {
    let mut object = object.clone();
    let graceful = match kind {
        "Pod" => match pod_grace(&mut object, wish, now) {
            Grace::Pending => return Deletion::Pending,
            Grace::Set => true,
            Grace::Unchanged => false,
        },
        _ => false,
    };
    let changed = set_dependents(&mut object, wish.propagation);
    let held = has_finalizers(&object);
    let waits = object["metadata"]["deletionGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds > 0);
    if graceful && (waits || held) {
        return Deletion::Mark(object);
    }
    if graceful {
        return Deletion::MarkAndRemove(object);
    }
    if !held {
        return Deletion::Remove;
    }
    if mark(&mut object, now) || changed { Deletion::Mark(object) } else { Deletion::Pending }
}

/// Some finalizer still holds the object.
pub fn has_finalizers(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|list| !list.is_empty())
}

/// The object is marked, nothing holds it any longer and it has no time left: the next write removes it.
pub fn is_done(object: &Value) -> bool {
    let meta = &object["metadata"];
    let waits = meta["deletionGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds > 0);
    let held = object["kind"] == "Namespace" && holds_contents(object);
    meta.get("deletionTimestamp").is_some() && !has_finalizers(object) && !waits && !held
}

enum Grace {
    Pending,
    Set,
    Unchanged,
}

fn pod_grace(pod: &mut Value, wish: Wish, now: Timestamp) -> Grace {
    let asked = wish.grace_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    let meta = &pod["metadata"];
    if let Some(deadline) = meta["deletionTimestamp"].as_str() {
        let left = meta["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        let Some(asked) = asked.filter(|asked| *asked < left) else {
            return if left == 0 { Grace::Unchanged } else { Grace::Pending };
        };
        let deadline = Timestamp::parse(deadline).unwrap_or(now);
        let earlier = later(deadline, asked.saturating_sub(left));
        let (deadline, asked) = if earlier < now { (now, asked.min(1)) } else { (earlier, asked) };
        pod["metadata"]["deletionTimestamp"] = json!(deadline.to_string());
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(asked);
        return Grace::Set;
    }
    let own = pod["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(0);
    let unbound = pod["spec"]["nodeName"].as_str().unwrap_or_default().is_empty();
    let finished = matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    let seconds = if unbound || finished { 0 } else { asked.unwrap_or(own) };
    let deadline = later(now, seconds);
    pod["metadata"]["deletionTimestamp"] = json!(deadline.to_string());
    pod["metadata"]["deletionGracePeriodSeconds"] = json!(seconds);
    bump_generation(pod);
    Grace::Set
}

/// So many seconds later, or earlier; at the end of time, then.
fn later(time: Timestamp, seconds: i64) -> Timestamp {
    time.plus_millis(seconds.saturating_mul(1_000))
}

fn bump_generation(object: &mut Value) {
    if let Some(generation) = object["metadata"]["generation"].as_i64() {
        object["metadata"]["generation"] = json!(generation.saturating_add(1));
    }
}

/// Marks an object that something still holds; false if it was marked before.
fn mark(object: &mut Value, now: Timestamp) -> bool {
    let before = object.clone();
    if object["metadata"].get("deletionGracePeriodSeconds").is_none() {
        bump_generation(object);
    }
    let marked =
        object["metadata"]["deletionTimestamp"].as_str().and_then(|text| Timestamp::parse(text).ok());
    if marked.is_none_or(|marked| marked > now) {
        object["metadata"]["deletionTimestamp"] = json!(now.to_string());
    }
    object["metadata"]["deletionGracePeriodSeconds"] = json!(0);
    *object != before
}

/// Notes for the garbage collector what becomes of dependents; true if that is new.
fn set_dependents(object: &mut Value, propagation: Option<Propagation>) -> bool {
    let Some(propagation) = propagation else { return false };
    let have = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let mut list: Vec<Value> =
        have.iter().filter(|name| *name != ORPHAN && *name != FOREGROUND).cloned().collect();
    match propagation {
        Propagation::Background => {}
        Propagation::Foreground => list.push(json!(FOREGROUND)),
        Propagation::Orphan => list.push(json!(ORPHAN)),
    }
    let changed = list != have;
    if let Some(meta) = object["metadata"].as_object_mut() {
        if list.is_empty() {
            meta.remove("finalizers");
        } else {
            meta.insert("finalizers".to_owned(), Value::Array(list));
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use model::timestamp::Timestamp;
    use serde_json::json;

    use super::{Deletion, Propagation, Protected, Wish, delete_namespace, delete_object as delete};

    fn now() -> Timestamp {
        Timestamp::parse("2026-01-02T03:04:05Z").expect("valid")
    }

    #[test]
    fn a_bound_pod_gets_its_time_and_an_unbound_one_goes_at_once() {
        let pod = |node: &str| json!({"metadata": {"generation": 1}, "spec": {"nodeName": node, "terminationGracePeriodSeconds": 30}});
        let Deletion::Mark(marked) = delete("Pod", &pod("n"), Wish::default(), now()) else {
            panic!("it gets time")
        };
        assert_eq!(marked["metadata"]["deletionTimestamp"], "2026-01-02T03:04:35Z");
        assert_eq!(marked["metadata"]["generation"], 2);
        assert!(matches!(delete("Pod", &pod(""), Wish::default(), now()), Deletion::MarkAndRemove(_)));
        let shorter = Wish { grace_seconds: Some(5), ..Wish::default() };
        let Deletion::Mark(sooner) = delete("Pod", &marked, shorter, now()) else {
            panic!("it gets less time")
        };
        assert_eq!(sooner["metadata"]["deletionTimestamp"], "2026-01-02T03:04:10Z");
        assert_eq!(delete("Pod", &marked, Wish::default(), now()), Deletion::Pending);
        let longer = Wish { grace_seconds: Some(60), ..Wish::default() };
        assert_eq!(delete("Pod", &marked, longer, now()), Deletion::Pending);
    }

    #[test]
    fn a_finalizer_holds_an_object_and_a_second_wish_changes_nothing() {
        let claim = json!({"metadata": {"finalizers": ["a/b"]}});
        let Deletion::Mark(marked) = delete("ResourceClaim", &claim, Wish::default(), now()) else {
            panic!("it is held")
        };
        assert_eq!(marked["metadata"]["deletionTimestamp"], "2026-01-02T03:04:05Z");
        assert_eq!(delete("ResourceClaim", &marked, Wish::default(), now()), Deletion::Pending);
        assert_eq!(
            delete("ResourceClaim", &json!({"metadata": {}}), Wish::default(), now()),
            Deletion::Remove
        );
    }

    #[test]
    fn what_becomes_of_dependents_is_noted_as_a_finalizer() {
        let claim = json!({"metadata": {}});
        for (propagation, finalizer) in
            [(Propagation::Foreground, "foregroundDeletion"), (Propagation::Orphan, "orphan")]
        {
            let wish = Wish { propagation: Some(propagation), ..Wish::default() };
            let Deletion::Mark(marked) = delete("ResourceClaim", &claim, wish, now()) else {
                panic!("it is held")
            };
            assert_eq!(marked["metadata"]["finalizers"], json!([finalizer]));
        }
        let background = Wish { propagation: Some(Propagation::Background), ..Wish::default() };
        assert_eq!(delete("ResourceClaim", &claim, background, now()), Deletion::Remove);
    }

    #[test]
    fn a_namespace_is_terminating_until_its_contents_are_gone() {
        let namespace = json!({"metadata": {"name": "n"}, "spec": {"finalizers": ["kubernetes"]}});
        let Ok(Deletion::Mark(mut marked)) = delete_namespace(&namespace, now()) else {
            panic!("it is held")
        };
        assert_eq!(marked["status"]["phase"], "Terminating");
        assert_eq!(delete_namespace(&marked, now()), Ok(Deletion::Pending));
        marked["spec"]["finalizers"] = json!([]);
        assert_eq!(delete_namespace(&marked, now()), Ok(Deletion::Remove));
        assert_eq!(delete_namespace(&json!({"metadata": {"name": "default"}}), now()), Err(Protected));
    }

    #[test]
    fn a_pod_may_get_all_the_time_there_is() {
        let now = Timestamp::parse("2026-01-02T03:04:05Z").expect("a time");
        let pod = json!({"metadata": {"generation": i64::MAX},
            "spec": {"nodeName": "n", "terminationGracePeriodSeconds": i64::MAX}});
        for grace_seconds in [None, Some(i64::MAX), Some(i64::MIN)] {
            let wish = Wish { grace_seconds, ..Wish::default() };
            let Deletion::Mark(marked) = delete("Pod", &pod, wish, now) else { panic!("it is marked") };
            let shorter = Wish { grace_seconds: Some(0), ..Wish::default() };
            let Deletion::MarkAndRemove(again) = delete("Pod", &marked, shorter, now) else {
                panic!("it goes")
            };
            assert_eq!(again["metadata"]["deletionTimestamp"], json!(now.to_string()));
        }
    }
}
