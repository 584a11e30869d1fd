//! Writes and everything that may come of them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client::{Answer, Connection, Hearer, Options, Patch, Requests, Resource, Sent};
use objects::MicroTime;
use objects::core::event::ObjectReference;
use objects::core::kinds::Binding;
use objects::core::pod::Pod;
use objects::events::Event;
use objects::meta::{DeleteOptions, Preconditions};
use serde_json::json;

use crate::served::real::Real;
use crate::served::{Served, setting, settings};

/// The answer in a word, to be compared with others.
fn word<T>(answer: &Answer<T>) -> &'static str {
    match answer {
        Answer::Done(_) => "done",
        Answer::Conflict(_) => "conflict",
        Answer::NotFound(_) => "not found",
        Answer::AlreadyExists(_) => "already exists",
        Answer::Gone(_) => "gone",
        Answer::Invalid(_) => "invalid",
        Answer::TooManyRequests { .. } => "too many requests",
        Answer::Unavailable(_) => "unavailable",
        Answer::Forbidden(_) => "forbidden",
    }
}

fn pods() -> Resource<Pod> {
    Resource::named("pods").within("default")
}

async fn pod(connection: &Connection, name: &str) -> Pod {
    let body = json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let pod = serde_json::from_value(body).expect("a pod");
    match connection.create(&pods(), &pod).await {
        Answer::Done(pod) => pod,
        other => unreachable!("no pod: {other:?}"),
    }
}

fn binding(pod: &str, uid: &str, node: &str) -> Binding {
    let mut binding = Binding::default();
    binding.metadata.name = pod.to_owned();
    binding.metadata.namespace = "default".to_owned();
    binding.metadata.uid = uid.to_owned();
    binding.target =
        ObjectReference { kind: "Node".to_owned(), name: node.to_owned(), ..ObjectReference::default() };
    binding
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_bound_once_and_by_its_uid() {
    bind(&Served::start().connect()).await;
}

async fn bind(connection: &Connection) {
    let made = pod(connection, "p").await;
    assert_eq!(word(&connection.bind(&binding("p", "another-uid", "n-1")).await), "conflict");
    assert_eq!(word(&connection.bind(&binding("p", &made.metadata.uid, "n-1")).await), "done");
    assert_eq!(word(&connection.bind(&binding("p", &made.metadata.uid, "n-2")).await), "conflict");
    assert_eq!(word(&connection.bind(&binding("q", "", "n-1")).await), "not found");
    let bound = connection.get(&pods(), "p").await.done().expect("is there");
    assert_eq!(bound.spec.node_name, "n-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_made_replaced_and_deleted_only_as_they_were_seen() {
    replace(&Served::start().connect()).await;
}

async fn replace(connection: &Connection) {
    let settings = settings();
    let first = connection.create(&settings, &setting("s", "one")).await.done().expect("is made");
    assert_eq!(word(&connection.create(&settings, &setting("s", "two")).await), "already exists");
    assert_eq!(word(&connection.create(&settings, &setting("No Name", "two")).await), "invalid");
    let mut next = first.clone();
    next.data.insert("value".to_owned(), "two".to_owned());
    let second = connection.update(&settings, &next).await.done().expect("is replaced");
    assert_eq!(second.data["value"], "two");
    assert_eq!(word(&connection.update(&settings, &next).await), "conflict");
    let only = |uid: &str| DeleteOptions {
        preconditions: Some(Preconditions { uid: Some(uid.to_owned()), ..Preconditions::default() }),
        ..DeleteOptions::default()
    };
    assert_eq!(word(&connection.delete(&settings, "s", &only("another-uid")).await), "conflict");
    assert_eq!(word(&connection.delete(&settings, "s", &only(&first.metadata.uid)).await), "done");
    assert_eq!(word(&connection.delete(&settings, "s", &DeleteOptions::default()).await), "not found");
    assert_eq!(word(&connection.get(&settings, "s").await), "not found");
}

#[tokio::test(flavor = "multi_thread")]
async fn patches_mean_what_their_kind_says() {
    patch(&Served::start().connect()).await;
}

async fn patch(connection: &Connection) {
    let made = pod(connection, "patched").await;
    let second =
        json!({"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Waits"}]}});
    let seen = connection
        .patch_status(&pods(), "patched", &Patch::Strategic, &second)
        .await
        .done()
        .expect("is patched");
    assert_eq!(seen.status.conditions.len(), 1);
    let third = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    let seen = connection
        .patch_status(&pods(), "patched", &Patch::Strategic, &third)
        .await
        .done()
        .expect("is patched");
    assert_eq!(seen.status.conditions.len(), 2, "conditions are merged by type");
    let mut whole = seen.clone();
    whole.status.nominated_node_name = "n-1".to_owned();
    let seen = connection.update_status(&pods(), &whole).await.done().expect("is replaced");
    assert_eq!(seen.status.nominated_node_name, "n-1");
    let stale =
        json!({"metadata": {"resourceVersion": made.metadata.resource_version, "labels": {"a": "b"}}});
    assert_eq!(word(&connection.patch(&pods(), "patched", &Patch::Merge, &stale).await), "conflict");
    let apply = |manager: &str, force| Patch::Apply { manager: manager.to_owned(), force };
    let wanted = |value: &str| setting("applied", value);
    assert_eq!(
        word(&connection.patch(&settings(), "applied", &apply("one", false), &wanted("1")).await),
        "done"
    );
    assert_eq!(
        word(&connection.patch(&settings(), "applied", &apply("two", false), &wanted("2")).await),
        "conflict"
    );
    assert_eq!(
        word(&connection.patch(&settings(), "applied", &apply("two", true), &wanted("2")).await),
        "done"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_is_announced() {
    announce(&Served::start().connect()).await;
}

async fn announce(connection: &Connection) {
    let mut event = Event {
        action: "Scheduling".to_owned(),
        event_time: Some(MicroTime::default()),
        note: "no node has 8 devices".to_owned(),
        reason: "FailedScheduling".to_owned(),
        regarding: ObjectReference {
            kind: "Pod".to_owned(),
            name: "p".to_owned(),
            namespace: "default".to_owned(),
            ..ObjectReference::default()
        },
        reporting_controller: "supercargo.dev/scheduler".to_owned(),
        reporting_instance: "here".to_owned(),
        type_: "Warning".to_owned(),
        ..Event::default()
    };
    event.metadata.name = "p.1".to_owned();
    event.metadata.namespace = "default".to_owned();
    let answer = connection.announce(&event).await;
    assert!(matches!(answer, Answer::Done(())), "{answer:?}");
    assert_eq!(word(&connection.announce(&event).await), "already exists");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_server_answers_the_same() {
    if let Some(real) = Real::start("writing").await {
        bind(&real.connection).await;
        replace(&real.connection).await;
        patch(&real.connection).await;
        announce(&real.connection).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_is_forbidden_and_told_why() {
    let served = Served::start();
    let authority = served.credentials.authority.certificate.as_bytes();
    let server = format!("https://{}", served.address);
    let stranger = Connection::from_parts(&server, Some("wrong"), Some(authority), &Options::default());
    let answer = stranger.expect("the parts are whole").get(&pods(), "p").await;
    let told = answer.trouble().unwrap_or_default();
    assert!(told.contains("hint: check that the token"), "{told}");
    assert_eq!(word(&answer), "forbidden");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_leave_no_faster_than_the_pace() {
    let served = Served::start();
    let connection = served.connect_with(&Options { qps: 20.0, burst: 2, ..Options::default() });
    let start = Instant::now();
    let asked: Vec<_> = (0..8)
        .map(|_| {
            let connection = connection.clone();
            tokio::spawn(async move { word(&connection.get(&settings(), "none").await) })
        })
        .collect();
    for answer in asked {
        assert_eq!(answer.await.expect("is answered"), "not found");
    }
    assert!(start.elapsed() >= Duration::from_millis(300), "six had to wait for 50 ms each");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_is_given_up_in_time() {
    let deaf = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let server = format!("http://{}", deaf.local_addr().expect("it listens"));
    let options = Options { answer_timeout: Duration::from_millis(200), ..Options::default() };
    let connection = Connection::from_parts(&server, None, None, &options).expect("the parts are whole");
    let Answer::Unavailable(why) = connection.get(&pods(), "p").await else { panic!("nobody answers there") };
    assert!(why.may_have_happened() && why.to_string().contains(&server), "{why}");
    drop(deaf);
    let Answer::Unavailable(why) = connection.get(&pods(), "p").await else { panic!("nobody is there") };
    assert!(!why.may_have_happened() && why.to_string().contains("hint:"), "{why}");
}

/// What was sent, with the codes of the answers.
#[derive(Default)]
struct Record(Mutex<Vec<(String, u16)>>);

impl Hearer for Record {
    fn sent(&self, request: &Sent<'_>) {
        let told = format!("{} {} of {}", request.method, request.path, request.server);
        self.0.lock().expect("no test panics with it").push((told, request.code));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_listens_hears_of_each_request_with_the_code_of_its_answer() {
    let (served, record) = (Served::start(), Arc::new(Record::default()));
    let requests = Requests::heard_by(record.clone());
    let connection = served.connect_with(&Options { requests: requests.clone(), ..Options::default() });
    connection.create(&settings(), &setting("a", "1")).await.done().expect("it is created");
    assert_eq!(word(&connection.get(&settings(), "none").await), "not found");
    let server = connection.server().to_owned();
    let deaf =
        Connection::from_parts("http://127.0.0.1:1", None, None, &Options { requests, ..Options::default() });
    assert_eq!(word(&deaf.expect("the parts are whole").get(&settings(), "a").await), "unavailable");
    let path = "/api/v1/namespaces/default/configmaps";
    let expected = [
        (format!("POST {path} of {server}"), 201),
        (format!("GET {path}/none of {server}"), 404),
        (format!("GET {path}/a of http://127.0.0.1:1"), 0),
    ];
    assert_eq!(*record.0.lock().expect("no test panics with it"), expected);
}
