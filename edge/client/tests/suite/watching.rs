//! Lists that stay current, against a server that is changed, stopped and forgets.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::time::Duration;

use client::{Answer, Connection, Event, Patch, Selectors, WatchOptions};
use futures_util::{Stream, StreamExt};
use objects::core::kinds::ConfigMap;
use objects::meta::DeleteOptions;
use serde_json::json;

use crate::served::real::Real;
use crate::served::{Served, setting, settings};

type Events = Pin<Box<dyn Stream<Item = Event<ConfigMap>> + Send>>;

/// A consumer that keeps what it is told, and minds being told anything twice.
struct Fold {
    events: Events,
    /// The version of each object by name.
    now: BTreeMap<String, String>,
    /// Every name and version that was ever applied.
    applied: BTreeSet<(String, String)>,
    deleted: BTreeSet<String>,
    vanished: Vec<String>,
    synced: usize,
    interrupted: Vec<String>,
}

fn options(streamed: bool) -> WatchOptions {
    WatchOptions { streamed, backoff_first: Duration::from_millis(20), ..WatchOptions::default() }
}

impl Fold {
    fn new(connection: &Connection, options: &WatchOptions) -> Self {
        // A real server has objects of its own, which come and go when they like.
        let ours = Selectors { labels: "made-by=test".to_owned(), fields: String::new() };
        Self {
            events: Box::pin(connection.list_and_watch(&settings(), &ours, options)),
            now: BTreeMap::new(),
            applied: BTreeSet::new(),
            deleted: BTreeSet::new(),
            vanished: Vec::new(),
            synced: 0,
            interrupted: Vec::new(),
        }
    }

    async fn step(&mut self) {
        let event = tokio::time::timeout(Duration::from_secs(30), self.events.next()).await;
        match event.expect("an event comes in time").expect("the stream has no end") {
            Event::Applied(map) => {
                let (name, version) = (map.metadata.name, map.metadata.resource_version);
                assert!(
                    self.applied.insert((name.clone(), version.clone())),
                    "{name} at {version} came twice"
                );
                self.now.insert(name, version);
            }
            Event::Deleted(map) => {
                assert!(self.now.remove(&map.metadata.name).is_some(), "{} was not there", map.metadata.name);
                assert!(self.deleted.insert(map.metadata.uid), "{} was deleted twice", map.metadata.name);
            }
            Event::Vanished(gone) => {
                assert!(self.now.remove(&gone.name).is_some(), "{} was not there", gone.name);
                self.vanished.push(gone.name);
            }
            Event::Synced { resource_version } => {
                assert!(!resource_version.is_empty());
                self.synced += 1;
            }
            Event::Progressed { resource_version } => assert!(!resource_version.is_empty()),
            Event::Unreadable { why, .. } => unreachable!("{why}"),
            Event::Interrupted { why, .. } => self.interrupted.push(why),
        }
    }

    async fn until(&mut self, reached: impl Fn(&Self) -> bool) {
        while !reached(self) {
            self.step().await;
        }
    }
}

async fn create(connection: &Connection, name: &str, value: &str) -> ConfigMap {
    match connection.create(&settings(), &setting(name, value)).await {
        Answer::Done(map) => map,
        other => unreachable!("{name} is not made: {other:?}"),
    }
}

async fn change(connection: &Connection, name: &str, value: &str) -> ConfigMap {
    let body = json!({"data": {"value": value}});
    match connection.patch(&settings(), name, &Patch::Merge, &body).await {
        Answer::Done(map) => map,
        other => unreachable!("{name} is not changed: {other:?}"),
    }
}

async fn delete(connection: &Connection, name: &str) {
    let answer = connection.delete(&settings(), name, &DeleteOptions::default()).await;
    assert!(matches!(answer, Answer::Done(())), "{name} is not deleted: {answer:?}");
}

/// Makes, changes and deletes; returns what was made and changed by name and version, and the uids of what was deleted.
async fn write(connection: Connection, writer: usize, rounds: usize) -> (Vec<(String, String)>, Vec<String>) {
    let (mut applied, mut deleted) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let name = format!("w{writer}-{}", round % 5);
        let made = create(&connection, &name, "first").await;
        applied.push((name.clone(), made.metadata.resource_version));
        for value in ["second", "third"] {
            let changed = change(&connection, &name, value).await;
            applied.push((name.clone(), changed.metadata.resource_version));
        }
        if round + 5 < rounds || writer.is_multiple_of(2) {
            delete(&connection, &name).await;
            deleted.push(made.metadata.uid);
        }
    }
    (applied, deleted)
}

async fn every_change_is_seen_once(connection: &Connection, streamed: bool, rounds: usize) {
    create(connection, "before", "first").await;
    let mut fold = Fold::new(connection, &options(streamed));
    fold.until(|fold| fold.synced == 1).await;
    assert_eq!(fold.now.keys().collect::<Vec<_>>(), ["before"]);
    let writers: Vec<_> =
        (0..8).map(|writer| tokio::spawn(write(connection.clone(), writer, rounds))).collect();
    let last = async {
        let (mut applied, mut deleted) = (BTreeSet::new(), BTreeSet::new());
        for writer in writers {
            let (its_applied, its_deleted) = writer.await.expect("the writer is done");
            applied.extend(its_applied);
            deleted.extend(its_deleted);
        }
        create(connection, "after", "first").await;
        (applied, deleted)
    };
    let ((applied, deleted), ()) = tokio::join!(last, fold.until(|fold| fold.now.contains_key("after")));
    let unseen: Vec<_> = applied.difference(&fold.applied).collect();
    assert_eq!(unseen, Vec::<&(String, String)>::new());
    assert_eq!(fold.applied.len(), applied.len() + 2, "only what was written is seen");
    assert_eq!(fold.deleted, deleted);
    assert_eq!((fold.synced, fold.interrupted.len()), (1, 0), "{:?}", fold.interrupted);
    let mut again = Fold::new(connection, &options(!streamed));
    again.until(|fold| fold.synced == 1).await;
    assert_eq!(again.now, fold.now, "both ways to list agree");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_by_eight_writers_is_seen_once_on_a_streamed_list() {
    let served = Served::start();
    every_change_is_seen_once(&served.connect(), true, 12).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_by_eight_writers_is_seen_once_on_a_list_in_pages() {
    let served = Served::start();
    every_change_is_seen_once(&served.connect(), false, 12).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_is_seen_once_of_a_real_server() {
    if let Some(real) = Real::start("watching").await {
        every_change_is_seen_once(&real.connection, true, 6).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_survives_a_restart_and_a_version_that_is_forgotten() {
    let mut served = Served::on_disk("restart");
    let connection = served.connect();
    for name in ["kept", "changed", "deleted", "replaced"] {
        create(&connection, name, "first").await;
    }
    let mut fold = Fold::new(&connection, &options(true));
    fold.until(|fold| fold.synced == 1).await;
    let port = served.address.port();
    // Nothing happens while the server is away: the watch goes on where it was.
    served.stop();
    served.run(port);
    create(&connection, "soon", "first").await;
    fold.until(|fold| fold.now.contains_key("soon")).await;
    assert_eq!(fold.synced, 1, "there was no need to list again");
    assert!(!fold.interrupted.is_empty(), "the restart was noticed");
    // Elsewhere, things happen that the watch does not see; and then the server has forgotten them.
    served.stop();
    served.run(0);
    let elsewhere = served.connect();
    change(&elsewhere, "changed", "second").await;
    delete(&elsewhere, "deleted").await;
    delete(&elsewhere, "replaced").await;
    create(&elsewhere, "replaced", "second").await;
    create(&elsewhere, "new", "first").await;
    served.stop();
    served.run(port);
    fold.until(|fold| fold.synced == 2).await;
    assert_eq!(fold.now.keys().collect::<Vec<_>>(), ["changed", "kept", "new", "replaced", "soon"]);
    assert_eq!(fold.vanished, ["replaced", "deleted"], "the uid tells the one from its successor");
    change(&connection, "kept", "second").await;
    fold.until(|fold| fold.applied.iter().filter(|(name, _)| name == "kept").count() == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_are_overtaken_by_changes_add_up() {
    let served = Served::start();
    let connection = served.connect();
    for number in 0..53 {
        create(&connection, &format!("s-{number:02}"), "first").await;
    }
    let small_pages = WatchOptions { page_size: 10, ..options(false) };
    let mut fold = Fold::new(&connection, &small_pages);
    fold.until(|fold| fold.now.len() == 15).await;
    delete(&connection, "s-03").await;
    delete(&connection, "s-50").await;
    let changed = change(&connection, "s-51", "second").await;
    create(&connection, "s-99", "first").await;
    fold.until(|fold| fold.now.contains_key("s-99")).await;
    assert_eq!(fold.now.len(), 52);
    assert_eq!(fold.now.get("s-51"), Some(&changed.metadata.resource_version));
    assert_eq!(fold.synced, 1);
    assert!(!fold.now.contains_key("s-03") && !fold.now.contains_key("s-50"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_consumer_holds_nothing_up_and_misses_nothing() {
    let served = Served::start();
    let connection = served.connect();
    create(&connection, "large", "first").await;
    let mut fold = Fold::new(&connection, &options(true));
    fold.until(|fold| fold.synced == 1).await;
    // Some 16 MB that nobody reads: more than all the buffers on the way can hold.
    let filler = "x".repeat(32 << 10);
    let mut versions = Vec::new();
    for number in 0..500 {
        versions
            .push(change(&connection, "large", &format!("{filler}{number}")).await.metadata.resource_version);
    }
    let last = versions.last().cloned();
    fold.until(|fold| fold.now.get("large") == last.as_ref()).await;
    assert_eq!(fold.applied.len(), 501);
    assert_eq!((fold.synced, fold.interrupted.len()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_asked_again_until_it_is() {
    let mut served = Served::start();
    let (connection, port) = (served.connect(), served.address.port());
    served.stop();
    let mut fold = Fold::new(&connection, &options(true));
    fold.until(|fold| fold.interrupted.len() == 3).await;
    assert!(fold.interrupted[0].contains(&format!("cannot reach the API server https://127.0.0.1:{port}")));
    served.run(port);
    fold.until(|fold| fold.synced == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_back_with_another_history_is_listed_again() {
    let mut served = Served::start();
    let (connection, port) = (served.connect(), served.address.port());
    for value in 0..50 {
        let name = format!("s-{}", value / 25);
        if value % 25 == 0 {
            create(&connection, &name, "").await
        } else {
            change(&connection, &name, &value.to_string()).await
        };
    }
    let mut fold = Fold::new(&connection, &options(true));
    fold.until(|fold| fold.synced == 1).await;
    // It has forgotten everything, and counts from the start.
    served.stop();
    served.run(port);
    create(&connection, "new", "first").await;
    fold.until(|fold| fold.synced == 2).await;
    assert_eq!(fold.vanished, ["s-0", "s-1"]);
    assert_eq!(fold.now.keys().collect::<Vec<_>>(), ["new"]);
}
