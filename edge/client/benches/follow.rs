//! How fast objects come in: pods of about 6 KB, from a peer that sends as fast as it can, and from the embedded server.
//!
//! `cargo bench -p client --bench follow -- [objects]`

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::{Connection, Event, Options, Resource, Selectors, WatchOptions};
use futures_util::StreamExt;
use gates::Gates;
use objects::core::pod::Pod;
use serde_json::{Value, json};
use server::{Credentials, NoLog, Server, Users};
use store::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const TOKEN: &str = "a-secret-of-the-bench";

fn pods() -> Resource<Pod> {
    Resource::named("pods").within("default")
}

/// A pod as a cluster has it, most of which nobody looks at.
fn pod(number: usize) -> Value {
    let env: Vec<Value> =
        (0..20).map(|n| json!({"name": format!("VARIABLE_{n}"), "value": format!("value-{n}")})).collect();
    let fields: serde_json::Map<String, Value> =
        (0..90).map(|n| (format!("f:field-{n}"), json!({"f:value": {}}))).collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("pod-{number:06}"), "namespace": "default",
            "uid": format!("00000000-0000-4000-8000-{number:012}"),
            "resourceVersion": (number + 1).to_string(),
            "labels": {"app": "bench", "job": format!("job-{}", number / 8)},
            "managedFields": [{"manager": "bench", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                "time": "2026-01-02T03:04:05Z", "fieldsV1": {"f:spec": fields}}],
        },
        "spec": {
            "containers": [
                {"name": "main", "image": "registry.example/train:1", "env": env,
                 "resources": {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"memory": "64Gi"}}},
                {"name": "side", "image": "registry.example/log:1", "env": env},
            ],
            "nodeSelector": {"pool": "gpu"}, "schedulerName": "supercargo",
            "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
        },
        "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]},
    })
}

/// A peer that answers every request with the same stream: a list of pods, then a change of each.
async fn replaying(objects: usize) -> (SocketAddr, usize) {
    let mut stream =
        String::from("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n");
    let mut line = |happened: &str, object: &Value| {
        stream.push_str(&format!("{{\"type\":\"{happened}\",\"object\":{object}}}\n"));
    };
    for number in 0..objects {
        line("ADDED", &pod(number));
    }
    let end = json!({"kind": "Pod", "metadata": {"resourceVersion": objects.to_string(),
        "annotations": {"k8s.io/initial-events-end": "true"}}});
    line("BOOKMARK", &end);
    for number in 0..objects {
        let mut changed = pod(number);
        changed["metadata"]["resourceVersion"] = json!((objects + number + 1).to_string());
        line("MODIFIED", &changed);
    }
    let bytes = stream.len();
    let stream: Arc<[u8]> = stream.into_bytes().into();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let stream = Arc::clone(&stream);
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let _ = socket.read(&mut request).await;
                let _ = socket.write_all(&stream).await;
                tokio::time::sleep(Duration::from_secs(60)).await;
            });
        }
    });
    (address, bytes)
}

/// Follows until so many pods were applied after the list; returns how long the list and the rest took.
async fn follow(connection: &Connection, streamed: bool, changes: usize) -> (Duration, Duration) {
    let options = WatchOptions { streamed, ..WatchOptions::default() };
    let mut events = pin!(connection.list_and_watch(&pods(), &Selectors::default(), &options));
    let start = Instant::now();
    let (mut listed, mut applied) = (None, 0);
    loop {
        match events.next().await.expect("the stream has no end") {
            Event::Applied(_) if listed.is_some() => applied += 1,
            Event::Synced { .. } => listed = Some(start.elapsed()),
            Event::Interrupted { why, .. } => eprintln!("{why}"),
            _ => {}
        }
        if let Some(listed) = listed.filter(|_| applied == changes) {
            return (listed, start.elapsed().saturating_sub(listed));
        }
    }
}

fn say(what: &str, objects: usize, took: Duration) {
    let seconds = took.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a number to read")]
    let objects = objects as f64;
    println!("{what:44} {:>9.0} objects/s  {:>6.2} us each", objects / seconds, seconds * 1e6 / objects);
}

async fn embedded() -> Connection {
    let credentials = Credentials::make(&[IpAddr::V4(Ipv4Addr::LOCALHOST)]).expect("certificates are made");
    let options = server::Options {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        credentials: Some(credentials.clone()),
        users: Users::default().with_admin_token(TOKEN),
        gates: Gates::default(),
        store: Store::default(),
        log: Box::new(NoLog),
    };
    let server = Server::bind(options).await.expect("a port is free");
    let address = format!("https://{}", server.address().expect("it listens"));
    tokio::spawn(server.serve(std::future::pending()));
    let authority = credentials.authority.certificate;
    Connection::from_parts(&address, Some(TOKEN), Some(authority.as_bytes()), &Options::default())
        .expect("whole")
}

#[tokio::main]
async fn main() {
    let objects: usize =
        std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(10_000);
    let (address, bytes) = replaying(objects).await;
    println!("{objects} pods of {} bytes", bytes / objects / 2);
    let texts: Vec<String> = (0..objects).map(|number| pod(number).to_string()).collect();
    for _ in 0..3 {
        let start = Instant::now();
        let read = texts.iter().filter(|text| objects::decode::<Pod>(text.as_bytes()).is_ok()).count();
        say("decode alone", read, start.elapsed());
    }
    let replayed =
        Connection::from_parts(&format!("http://{address}"), None, None, &Options::default()).expect("whole");
    for _ in 0..3 {
        let (listed, changed) = follow(&replayed, true, objects).await;
        say("list as a stream, from a replay, plain", objects, listed);
        say("watch, from a replay, plain", objects, changed);
    }
    let connection = embedded().await;
    let start = Instant::now();
    let writers: Vec<_> = (0..32)
        .map(|writer| {
            let connection = connection.clone();
            tokio::spawn(async move {
                for number in (writer..objects).step_by(32) {
                    let mut pod = pod(number);
                    pod["metadata"]["resourceVersion"] = json!("");
                    let pod = serde_json::from_value(pod).expect("a pod");
                    let answer = connection.create(&pods(), &pod).await;
                    assert!(answer.trouble().is_none(), "{:?}", answer.trouble());
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("the writer is done");
    }
    say("create, 32 at a time, embedded server, TLS", objects, start.elapsed());
    for _ in 0..3 {
        say("list as a stream, embedded server, TLS", objects, follow(&connection, true, 0).await.0);
        say("list in pages of 500, embedded server, TLS", objects, follow(&connection, false, 0).await.0);
    }
}
