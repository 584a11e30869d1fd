//! The store as a state machine: revisions, conflicts, lists as they were, windows, restoration.

use schema::table;
use serde_json::{Value, json};
use store::{Body, Change, Expected, Key, ListAt, Record, Resource, Selection, Store, WriteError};

fn maps() -> Resource {
    Resource::of(table().kind("v1", "ConfigMap").expect("config maps are served")).expect("and stored")
}

fn body(data: &str) -> Body {
    Body::new(&json!({"metadata": {"name": "x", "labels": {"l": data}}, "data": {"k": data}}), Vec::new())
}

fn put(store: &mut Store, name: &str, data: &str) -> u64 {
    let key = Key::new("default", name);
    let expected =
        store.get(maps(), &key).map_or(Expected::Absent, |entry| Expected::Revision(entry.revision()));
    store.put(maps(), key, body(data), expected).expect("nobody else writes").event.revision()
}

fn names(store: &Store, at: ListAt) -> Vec<String> {
    let page = store
        .list(maps(), Some("default"), &Selection::default(), at, None, None)
        .expect("within the window");
    page.items
        .iter()
        .map(|(key, entry)| format!("{}={}", key.name, text(&entry.value("v1", "ConfigMap"))))
        .collect()
}

fn text(object: &Value) -> &str {
    object["data"]["k"].as_str().unwrap_or_default()
}

#[test]
fn a_write_that_expects_something_else_is_refused() {
    let mut store = Store::default();
    let first = put(&mut store, "a", "1");
    let key = Key::new("default", "a");
    assert_eq!(store.put(maps(), key.clone(), body("2"), Expected::Absent).unwrap_err(), WriteError::Exists);
    let second = put(&mut store, "a", "2");
    assert!(second > first);
    let late = store.put(maps(), key.clone(), body("3"), Expected::Revision(first));
    assert_eq!(late.unwrap_err(), WriteError::Changed { now: second });
    store.remove(maps(), key.clone(), Expected::Revision(second)).expect("it is there");
    assert_eq!(store.remove(maps(), key, Expected::Revision(second)).unwrap_err(), WriteError::Missing);
}

#[test]
fn a_list_shows_what_was_there_at_its_revision() {
    let mut store = Store::default();
    put(&mut store, "b", "1");
    let then = put(&mut store, "d", "1");
    put(&mut store, "a", "1");
    put(&mut store, "b", "2");
    let d = store.get(maps(), &Key::new("default", "d")).expect("it is there").revision();
    store.remove(maps(), Key::new("default", "d"), Expected::Revision(d)).expect("it is there");
    assert_eq!(names(&store, ListAt::Latest), ["a=1", "b=2"]);
    assert_eq!(names(&store, ListAt::Revision(then)), ["b=1", "d=1"]);
}

#[test]
fn pages_of_a_list_stay_consistent_while_objects_change() {
    let mut store = Store::default();
    for name in ["a", "b", "c", "d", "e"] {
        put(&mut store, name, "1");
    }
    let everything = Selection::default();
    let first = store.list(maps(), Some("default"), &everything, ListAt::Latest, None, Some(2)).expect("now");
    assert_eq!((first.items.len(), first.remaining), (2, Some(3)));
    put(&mut store, "c", "2");
    put(&mut store, "bb", "new");
    let at = ListAt::Revision(first.revision);
    let rest =
        store.list(maps(), Some("default"), &everything, at, first.more_after.as_ref(), None).expect("kept");
    let names: Vec<&str> = rest.items.iter().map(|(key, _)| &*key.name).collect();
    assert_eq!(names, ["c", "d", "e"]);
    assert_eq!(text(&rest.items[0].1.value("v1", "ConfigMap")), "1");
}

#[test]
fn changes_can_be_watched_from_a_revision_until_they_leave_the_window() {
    let mut store = Store::default();
    let first = put(&mut store, "a", "0");
    put(&mut store, "a", "1");
    let events = store.events_after(maps(), first, 10).expect("within the window");
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].change, Change::Modified);
    assert!(events[0].before.is_some());
    for round in 0..20_000 {
        put(&mut store, "a", &round.to_string());
    }
    let too_old = store.events_after(maps(), first, 10).expect_err("the window has moved on");
    assert!(too_old.oldest > first);
    assert!(store.events_after(maps(), store.revision(), 10).expect("now").is_empty());
}

#[test]
fn what_could_not_be_made_durable_is_taken_back() {
    let mut store = Store::default();
    put(&mut store, "a", "1");
    let durable = put(&mut store, "b", "1");
    put(&mut store, "a", "2");
    put(&mut store, "c", "1");
    let b = store.get(maps(), &Key::new("default", "b")).expect("it is there").revision();
    store.remove(maps(), Key::new("default", "b"), Expected::Revision(b)).expect("it is there");
    store.roll_back(durable);
    assert_eq!(names(&store, ListAt::Latest), ["a=1", "b=1"]);
    assert!(store.events_after(maps(), durable, 10).expect("within the window").is_empty());
    assert_eq!(put(&mut store, "a", "3"), durable + 1, "revisions have no gaps, as the journal wants it");
}

#[test]
fn a_store_is_rebuilt_from_its_records() {
    let mut store = Store::default();
    let mut records = Vec::new();
    for (name, text) in [("a", "1"), ("b", "1"), ("a", "2")] {
        let key = Key::new("default", name);
        let expected =
            store.get(maps(), &key).map_or(Expected::Absent, |entry| Expected::Revision(entry.revision()));
        records
            .push(store.put(maps(), key, body(text), expected).expect("nobody else writes").record.encode());
    }
    let b = store.get(maps(), &Key::new("default", "b")).expect("it is there").revision();
    let removed = store.remove(maps(), Key::new("default", "b"), Expected::Revision(b)).expect("it is there");
    records.push(removed.record.encode());
    let mut again = Store::default();
    for record in &records {
        again.restore(&Record::decode(record).expect("our own record"));
    }
    again.restored(0);
    assert_eq!(again.revision(), store.revision());
    assert_eq!(names(&again, ListAt::Latest), ["a=2"]);
    assert!(
        again.events_after(maps(), again.revision() - 1, 1).is_err(),
        "older changes are not known any more"
    );
    for length in 0..40 {
        assert!(Record::decode(&records[0][..length]).is_err(), "{length}");
    }
}

#[test]
fn what_may_be_taken_back_stays_in_the_window_however_much_it_is() {
    let mut store = Store::default();
    let settled = put(&mut store, "kept", "1");
    store.settle(settled);
    put(&mut store, "kept", "2");
    for number in 0..20_500 {
        put(&mut store, "changed", &number.to_string());
    }
    store.roll_back(settled);
    assert_eq!((store.revision(), names(&store, ListAt::Latest)), (settled, vec!["kept=1".to_owned()]));
}
