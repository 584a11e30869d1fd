//! The protocol of lists and watches, word for word, against a peer that plays a script.

use std::pin::Pin;
use std::time::Duration;

use client::{Connection, Event, Options, Resource, Selectors, WatchOptions};
use futures_util::{Stream, StreamExt};
use objects::core::kinds::ConfigMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// What must be asked, and what is answered to it.
struct Scene {
    /// Parts of the request's first line.
    asked: &'static [&'static str],
    code: u16,
    body: String,
    /// Say no more, but do not hang up either.
    hold: bool,
}

fn scene(asked: &'static [&'static str], code: u16, body: impl Into<String>) -> Scene {
    Scene { asked, code, body: body.into(), hold: false }
}

fn held(asked: &'static [&'static str], body: impl Into<String>) -> Scene {
    Scene { hold: true, ..scene(asked, 200, body) }
}

fn status(code: u16, reason: &str) -> String {
    format!(
        r#"{{"kind":"Status","status":"Failure","code":{code},"reason":"{reason}","message":"{reason}"}}"#
    )
}

fn map(name: &str, version: u32) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"{name}","resourceVersion":"{version}"}}}}"#
    )
}

fn list(items: &[String], version: u32, next: &str) -> String {
    let items = items.join(",");
    format!(r#"{{"metadata":{{"resourceVersion":"{version}","continue":"{next}"}},"items":[{items}]}}"#)
}

fn line(happened: &str, object: &str) -> String {
    format!("{{\"type\":\"{happened}\",\"object\":{object}}}\n")
}

fn initial_end(version: u32) -> String {
    let mark = r#""annotations":{"k8s.io/initial-events-end":"true"}"#;
    line("BOOKMARK", &format!(r#"{{"metadata":{{"resourceVersion":"{version}",{mark}}}}}"#))
}

const STREAMED: &[&str] = &[
    "watch=true",
    "sendInitialEvents=true",
    "resourceVersionMatch=NotOlderThan",
    "allowWatchBookmarks=true",
];

/// Plays the scenes in order, each on a connection of its own, and returns what came of them.
async fn play(scenes: Vec<Scene>, events: usize) -> Vec<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    let peer = tokio::spawn(async move {
        let mut open = Vec::new();
        for scene in scenes {
            let (mut socket, _) = listener.accept().await.expect("somebody asks");
            let mut request = vec![0; 8192];
            let read = socket.read(&mut request).await.expect("a request");
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let first = request.lines().next().unwrap_or_default();
            for part in scene.asked {
                assert!(first.contains(part), "{first:?} should have {part:?}");
            }
            let answer = format!(
                "HTTP/1.1 {} Said\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{}",
                scene.code, scene.body
            );
            socket.write_all(answer.as_bytes()).await.expect("somebody listens");
            if scene.hold {
                open.push(socket);
            }
        }
        std::future::pending::<()>().await;
    });
    let connection = Connection::from_parts(&format!("http://{address}"), None, None, &Options::default());
    let options = WatchOptions {
        page_size: 2,
        idle_timeout: Duration::from_millis(300),
        backoff_first: Duration::from_millis(1),
        backoff_max: Duration::from_millis(5),
        ..WatchOptions::default()
    };
    let maps = Resource::<ConfigMap>::named("configmaps");
    let selectors = Selectors { labels: "a=b,c".to_owned(), fields: String::new() };
    let stream = connection.expect("the parts are whole").list_and_watch(&maps, &selectors, &options);
    let mut stream: Pin<Box<dyn Stream<Item = Event<ConfigMap>> + Send>> = Box::pin(stream);
    let mut said = Vec::new();
    while said.len() < events {
        let event = tokio::time::timeout(Duration::from_secs(10), stream.next()).await;
        assert!(!peer.is_finished(), "the peer was asked something else than it expects, after {said:?}");
        said.push(told(event.expect("it goes on").expect("it has no end")));
    }
    peer.abort();
    said
}

fn told(event: Event<ConfigMap>) -> String {
    match event {
        Event::Applied(map) => format!("applied {}@{}", map.metadata.name, map.metadata.resource_version),
        Event::Deleted(map) => format!("deleted {}@{}", map.metadata.name, map.metadata.resource_version),
        Event::Vanished(gone) => format!("vanished {}", gone.name),
        Event::Synced { resource_version } => format!("synced @{resource_version}"),
        Event::Progressed { resource_version } => format!("progressed @{resource_version}"),
        Event::Unreadable { object, .. } => format!("unreadable {}", object.name),
        Event::Interrupted { .. } => "interrupted".to_owned(),
    }
}

#[tokio::test]
async fn a_server_that_cannot_stream_lists_is_asked_for_pages() {
    let scenes = vec![
        scene(STREAMED, 422, status(422, "Invalid")),
        scene(&["limit=2", "labelSelector=a%3Db%2Cc"], 200, list(&[map("a", 1), map("b", 2)], 7, "more")),
        scene(&["limit=2", "continue=more"], 200, list(&[map("c", 3)], 7, "")),
        held(&["watch=true", "resourceVersion=7", "labelSelector=a%3Db%2Cc"], line("ADDED", &map("d", 8))),
    ];
    let said = play(scenes, 5).await;
    assert_eq!(said, ["applied a@1", "applied b@2", "applied c@3", "synced @7", "applied d@8"]);
}

#[tokio::test]
async fn a_page_that_comes_too_late_leads_to_a_list_in_one_answer() {
    let scenes = vec![
        scene(STREAMED, 400, status(400, "BadRequest")),
        scene(&["limit=2"], 200, list(&[map("a", 1), map("b", 2)], 7, "more")),
        scene(&["continue=more"], 410, status(410, "Expired")),
        scene(
            &["GET /api/v1/configmaps?labelSelector=a%3Db%2Cc HTTP"],
            200,
            list(&[map("b", 2), map("c", 3)], 9, ""),
        ),
        held(&["resourceVersion=9"], ""),
    ];
    let said = play(scenes, 6).await;
    let expected = ["applied a@1", "applied b@2", "interrupted", "applied c@3", "vanished a", "synced @9"];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn a_stream_that_breaks_in_the_list_repeats_nothing() {
    let scenes = vec![
        scene(STREAMED, 200, line("ADDED", &map("a", 1)) + &line("ADDED", &map("b", 2))),
        held(STREAMED, line("ADDED", &map("a", 1)) + &line("ADDED", &map("c", 3)) + &initial_end(9)),
    ];
    let said = play(scenes, 6).await;
    assert_eq!(said, ["applied a@1", "applied b@2", "interrupted", "applied c@3", "vanished b", "synced @9"]);
}

#[tokio::test]
async fn a_bookmark_is_where_the_watch_goes_on_and_a_silent_watch_is_given_up() {
    let bookmark = line("BOOKMARK", r#"{"metadata":{"resourceVersion":"20"}}"#);
    let scenes = vec![
        held(STREAMED, line("ADDED", &map("a", 1)) + &initial_end(9) + &bookmark),
        scene(&["limit=1"], 200, list(&[], 25, "")),
        held(&["watch=true", "resourceVersion=20"], line("DELETED", &map("a", 21))),
    ];
    let said = play(scenes, 5).await;
    assert_eq!(said, ["applied a@1", "synced @9", "progressed @20", "interrupted", "deleted a@21"]);
}

#[tokio::test]
async fn a_version_that_is_too_old_leads_to_a_new_list_whichever_way_it_is_said() {
    let scenes = vec![
        held(
            STREAMED,
            line("ADDED", &map("a", 1)) + &initial_end(9) + &line("ERROR", &status(410, "Expired")),
        ),
        scene(STREAMED, 200, line("ADDED", &map("a", 1)) + &initial_end(11)),
        scene(&["limit=1"], 200, list(&[], 11, "")),
        scene(&["resourceVersion=11"], 410, status(410, "Expired")),
        held(STREAMED, initial_end(12)),
    ];
    let said = play(scenes, 8).await;
    let expected = [
        "applied a@1",
        "synced @9",
        "interrupted",
        "synced @11",
        "interrupted",
        "interrupted",
        "vanished a",
        "synced @12",
    ];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn an_object_that_cannot_be_read_is_named_and_does_not_stop_the_rest() {
    let bad = r#"{"metadata":{"name":"bad","uid":"bad","resourceVersion":"5"},"data":7}"#;
    let scenes = vec![
        scene(STREAMED, 422, status(422, "Invalid")),
        scene(&["limit=2"], 200, list(&[map("a", 1), bad.to_owned(), map("c", 3)], 7, "")),
        held(
            &["resourceVersion=7"],
            line("MODIFIED", &bad.replace("\"5\"", "\"8\"")) + &line("ADDED", &map("d", 9)),
        ),
    ];
    let said = play(scenes, 6).await;
    assert_eq!(
        said,
        ["applied a@1", "unreadable bad", "applied c@3", "synced @7", "unreadable bad", "applied d@9"]
    );
}

#[tokio::test]
async fn a_server_that_is_busy_is_asked_again() {
    let scenes = vec![
        scene(STREAMED, 429, status(429, "TooManyRequests")),
        scene(STREAMED, 503, "no leader"),
        held(STREAMED, initial_end(3)),
    ];
    assert_eq!(play(scenes, 3).await, ["interrupted", "interrupted", "synced @3"]);
}
