//! Kinds that a server does not serve yet, or no more: CRDs that are installed while the scheduler works, and deleted again.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{Answer, Connection, Resource};
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::Gates;
use objects::Object;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::supercargo::workload::Workload;
use runtime::{Listener, Notice, State};
use serde_json::{Value, json};
use server::{NoLog, Server, Users};
use store::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Takes down which kinds came and went, and when all was read.
#[derive(Default)]
struct Ears(Mutex<Vec<String>>);

impl Listener for Ears {
    fn hear(&self, notice: &Notice<'_>) {
        let line = match notice {
            Notice::NotServed { kind } => format!("without {kind}"),
            Notice::Served { kind } => format!("with {kind}"),
            Notice::State(State::Working) => "working".to_owned(),
            _ => return,
        };
        self.0.lock().expect("nobody panicked").push(line);
    }
}

impl Ears {
    fn count(&self, line: &str) -> usize {
        self.0.lock().expect("nobody panicked").iter().filter(|heard| *heard == line).count()
    }
}

/// Our own server on a port of its own.
async fn serve() -> SocketAddr {
    let options = server::Options {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        credentials: None,
        users: Users::default().with_admin_token("t"),
        gates: Gates::default(),
        store: Store::default(),
        log: Box::new(NoLog),
    };
    let server = Server::bind(options).await.expect("a port is free");
    let address = server.address().expect("it listens");
    tokio::spawn(server.serve(std::future::pending()));
    address
}

/// A way to a server on which our own kinds can be hidden.
struct Veil {
    address: SocketAddr,
    hides: Arc<AtomicBool>,
    cut: tokio::sync::watch::Sender<u32>,
}

impl Veil {
    async fn before(server: SocketAddr) -> Veil {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let hides = Arc::new(AtomicBool::new(true));
        let (cut, mut is_cut) = tokio::sync::watch::channel(0);
        let hiding = hides.clone();
        tokio::spawn(async move {
            let mut open = JoinSet::new();
            loop {
                tokio::select! {
                    socket = listener.accept() => {
                        let (socket, _) = socket.expect("somebody asks");
                        let hides = hiding.load(Ordering::SeqCst);
                        open.spawn(pass(socket, server, hides));
                    }
                    _ = is_cut.changed() => open.abort_all(),
                }
            }
        });
        Veil { address, hides, cut }
    }

    /// Hides our own kinds from now on, and cuts every connection.
    fn hide(&self) {
        self.hides.store(true, Ordering::SeqCst);
        self.cut.send_modify(|cuts| *cuts += 1);
    }

    fn lift(&self) {
        self.hides.store(false, Ordering::SeqCst);
    }
}

/// Passes one request on, and says that there is no such thing if it is hidden.
async fn pass(mut socket: TcpStream, server: SocketAddr, hides: bool) {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = [0; 4096];
        match socket.read(&mut part).await {
            Ok(read @ 1..) => head.extend_from_slice(&part[..read]),
            _ => return,
        }
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    if hides && text.lines().next().is_some_and(|first| first.contains("/apis/supercargo.dev/")) {
        let body =
            r#"{"kind":"Status","status":"Failure","code":404,"reason":"NotFound","message":"no such kind"}"#;
        let answer = format!(
            "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let _ = socket.write_all(answer.as_bytes()).await;
        return;
    }
    let Ok(mut to) = TcpStream::connect(server).await else { return };
    // The next request has a connection of its own, so that it can be hidden.
    let text = text.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    if to.write_all(text.as_bytes()).await.is_ok() {
        let _ = copy_bidirectional(&mut socket, &mut to).await;
    }
}

fn connect(address: SocketAddr) -> Connection {
    Connection::from_parts(&format!("http://{address}"), Some("t"), None, &client::Options::default())
        .expect("the parts are whole")
}

async fn create<K: Object>(connection: &Connection, plural: &'static str, object: &Value) {
    let object = K::read_value(object).expect("an object");
    let answer = connection.create(&Resource::<K>::named(plural), &object).await;
    assert!(matches!(answer, Answer::Done(_)), "{:?}", answer.trouble());
}

async fn add_pod(connection: &Connection, name: &str) {
    let labels = json!({ "supercargo.dev/workload": "w", "supercargo.dev/pod-group": "g" });
    let metadata = json!({ "name": name, "namespace": "default", "labels": labels });
    // Nobody here says that the node is ready.
    let tolerations = json!([{ "operator": "Exists" }]);
    let containers = json!([{ "name": "c", "image": "i" }]);
    let spec = json!({ "schedulerName": "supercargo", "tolerations": tolerations, "containers": containers });
    create::<Pod>(connection, "pods", &json!({ "metadata": metadata, "spec": spec })).await;
}

/// Waits until something holds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(timeout(PATIENCE, waiting).await.is_ok(), "{what}: not within {PATIENCE:?}");
}

async fn pod_is(connection: &Connection, name: &str, what: &str, holds: impl Fn(&Pod) -> bool) {
    let pods = Resource::<Pod>::named("pods").within("default");
    let mut last = String::new();
    let waiting = async {
        loop {
            match connection.get(&pods, name).await {
                Answer::Done(pod) if holds(&pod) => return,
                Answer::Done(pod) => last = format!("{:?}", pod.status.conditions),
                other => last = other.trouble().unwrap_or_default(),
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    let done = timeout(PATIENCE, waiting).await;
    assert!(done.is_ok(), "{name} {what}: not within {PATIENCE:?}, and it says {last}");
}

fn says(pod: &Pod, message: &str) -> bool {
    pod.status.conditions.iter().any(|known| known.type_ == "PodScheduled" && known.message == message)
}

const MISSING: &str = "waiting for workload w, which does not exist";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kinds_that_come_later_are_followed_and_objects_of_kinds_that_go_are_gone() {
    let server = serve().await;
    let direct = connect(server);
    let resources = json!({ "cpu": "4", "memory": "8Gi", "pods": "10" });
    let status = json!({
        "allocatable": resources, "capacity": resources, "conditions": [{ "type": "Ready", "status": "True" }],
    });
    create::<Node>(&direct, "nodes", &json!({ "metadata": { "name": "n" }, "status": status })).await;
    let veil = Veil::before(server).await;
    let ears = Arc::new(Ears::default());
    let settings = Settings {
        profiles: vec![Arc::new(Profile::named("supercargo"))],
        gates: Gates::default(),
        patience: Patience::default(),
        search_steps_max: 10_000,
    };
    let options = runtime::Options {
        settings,
        parallelism: 2,
        candidacy: None,
        aside: None,
        shadow: false,
        writes_max: 10,
        stop_within: Duration::from_secs(5),
        listener: ears.clone(),
        recording: None,
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(runtime::run(connect(veil.address), options, async {
        let _ = stopped.await;
    }));
    until("the scheduler works", async || ears.count("working") == 1).await;
    assert_eq!((ears.count("without Workload"), ears.count("without NodeTopology")), (1, 1));
    add_pod(&direct, "p").await;
    pod_is(&direct, "p", "says what it waits for", |pod| says(pod, MISSING)).await;
    // The kind comes, and with it what the pod waits for.
    let groups = json!([{ "name": "g", "policy": { "gang": { "minCount": 1 } } }]);
    let metadata = json!({ "name": "w", "namespace": "default" });
    let workload = json!({ "metadata": metadata, "spec": { "podGroups": groups } });
    create::<Workload>(&direct, "workloads", &workload).await;
    veil.lift();
    pod_is(&direct, "p", "is bound", |pod| pod.spec.node_name == "n").await;
    assert_eq!(ears.count("with Workload"), 1);
    // The kind goes, and all of its objects with it.
    veil.hide();
    until("the kind is gone", async || ears.count("without Workload") == 2).await;
    add_pod(&direct, "q").await;
    pod_is(&direct, "q", "says what it waits for", |pod| says(pod, MISSING)).await;
    veil.lift();
    pod_is(&direct, "q", "is bound", |pod| pod.spec.node_name == "n").await;
    drop(stop);
    timeout(PATIENCE, running).await.expect("it stops").expect("it did not panic").expect("it had begun");
}
