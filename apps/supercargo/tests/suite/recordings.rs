//! Recordings as people make and read them: of a scheduler that is killed and starts again, and of a cluster that is only looked at.

use std::env;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use client::{Answer, Connection, Options, Patch, Resource};
use objects::Object;
use objects::core::node::Node;
use objects::core::pod::Pod;
use recordings::{LineWriter, Recorder, RecordingReader, Target};
use serde_json::{Value, json};

/// A word that must not be saved.
const SECRET: &str = "correct-horse-battery-staple";

/// A folder and the processes that work in it; all go when the test does.
struct Site {
    folder: PathBuf,
    running: Vec<Child>,
}

impl Drop for Site {
    fn drop(&mut self) {
        for child in &mut self.running {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Site {
    fn new(name: &str) -> Site {
        let folder = env::temp_dir().join(format!("supercargo-{name}-{}", process::id()));
        fs::create_dir_all(&folder).expect("a folder can be made");
        Site { folder, running: Vec::new() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn start(&mut self, log: &str, arguments: &[&str]) {
        let log = File::options().append(true).create(true).open(self.path(log)).expect("a file can be made");
        let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
        let child = command.args(arguments).stdout(Stdio::null()).stderr(log).spawn();
        self.running.push(child.expect("the binary was built for this test"));
    }

    /// Starts an API server, and connects to it.
    async fn serve(&mut self) -> Connection {
        let (data, kubeconfig) = (self.path("data"), self.path("kubeconfig"));
        self.start(
            "server",
            &["apiserver", "--listen", "127.0.0.1:0", "--data-dir", &data, "--write-kubeconfig", &kubeconfig],
        );
        until("the server listens", || Path::new(&kubeconfig).exists()).await;
        let options = Options::default();
        Connection::from_kubeconfig(Path::new(&kubeconfig), None, &options).await.expect("a kubeconfig")
    }

    fn start_recording_scheduler(&mut self) {
        let (kubeconfig, folder) = (self.path("kubeconfig"), self.path("recordings"));
        let arguments = ["--secure-port", "0", "--leader-elect=false", "--record", &folder];
        let arguments = [&["scheduler", "--kubeconfig", &kubeconfig][..], &arguments].concat();
        self.start("scheduler", &arguments);
    }

    /// Ends the process that was started last, at once or as people end it.
    fn end_last(&mut self, signal: &str) {
        let mut last = self.running.pop().expect("one runs");
        let killed = Command::new("kill").args([signal, &last.id().to_string()]).status();
        assert!(killed.expect("there is such a command").success());
        last.wait().expect("it is ours");
    }
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
    command.args(arguments).env_remove("KUBECONFIG").output().expect("the binary was built for this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What was asked for, if it was answered.
fn done<K>(answer: Answer<K>) -> Option<K> {
    match answer {
        Answer::Done(found) => Some(found),
        _ => None,
    }
}

async fn make<K: Object>(connection: &Connection, plural: &'static str, namespace: &str, object: Value) {
    let object = K::read_value(&object).expect("an object of the kind");
    let resource = Resource::<K>::named(plural).within(namespace);
    let made = connection.create(&resource, &object).await;
    assert!(matches!(made, Answer::Done(_)), "{:?}", made.trouble());
}

async fn make_node(connection: &Connection, name: &str) {
    let amounts = json!({ "cpu": "4", "memory": "8Gi", "pods": "20" });
    let status = json!({ "allocatable": amounts, "capacity": amounts });
    make::<Node>(connection, "nodes", "", json!({ "metadata": { "name": name }, "status": status })).await;
    // New nodes have a taint until a controller finds them ready.
    let nodes = Resource::<Node>::named("nodes");
    let patched = connection.patch(&nodes, name, &Patch::Merge, &json!({ "spec": { "taints": null } })).await;
    assert!(matches!(patched, Answer::Done(_)), "{:?}", patched.trouble());
}

/// Makes a pod with a secret in its environment.
async fn make_pod(connection: &Connection, name: &str, cpu: &str) {
    let container = json!({
        "name": "c", "image": "i", "env": [{ "name": "PASSWORD", "value": SECRET }], "args": [SECRET],
        "resources": { "requests": { "cpu": cpu } },
    });
    let annotations = json!({ "kubectl.kubernetes.io/last-applied-configuration": SECRET });
    let metadata = json!({ "name": name, "namespace": "default", "annotations": annotations });
    make::<Pod>(
        connection,
        "pods",
        "default",
        json!({ "metadata": metadata, "spec": { "containers": [container] } }),
    )
    .await;
}

/// Waits until a pod has a node, or is told to have none.
async fn await_decision(connection: &Connection, name: &str, is_placed: bool) {
    let pods = Resource::<Pod>::named("pods").within("default");
    let began = Instant::now();
    loop {
        let pod = done(connection.get(&pods, name).await).expect("the pod can be read");
        let is_told = pod.status.conditions.iter().any(|one| one.type_ == "PodScheduled");
        if if is_placed { !pod.spec.node_name.is_empty() } else { is_told } {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "pod {name} is not decided about");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Writes lines as they are.
struct Verbatim;

impl LineWriter for Verbatim {
    type Line = Vec<u8>;

    fn write(&mut self, line: Vec<u8>, into: &mut Vec<u8>) {
        into.extend_from_slice(&line);
    }

    fn opening(&self, _: &mut dyn FnMut(&[u8])) {}
}

/// The lines of a recording.
fn lines(path: &str) -> Vec<String> {
    let mut reader = RecordingReader::open(Path::new(path)).expect("a recording");
    let mut lines = Vec::new();
    while let Some(frame) = reader.next_frame().expect("it is whole") {
        lines.extend(frame.lines().map(text));
    }
    lines
}

/// What is said of a recording, and the exit code.
fn replayed(path: &str) -> (Value, Option<i32>) {
    let output = run(&["replay", path, "-o", "json"]);
    assert!(!output.stdout.is_empty(), "{}", text(&output.stderr));
    (serde_json::from_slice(&output.stdout).expect("the answer is JSON"), output.status.code())
}

#[tokio::test]
async fn a_scheduler_that_is_killed_leaves_a_recording_that_is_replayed_and_explained() {
    let mut site = Site::new("recorded");
    let connection = site.serve().await;
    make_node(&connection, "node-1").await;
    site.start_recording_scheduler();
    for pod in 0..5 {
        make_pod(&connection, &format!("small-{pod}"), "500m").await;
        await_decision(&connection, &format!("small-{pod}"), true).await;
    }
    make_pod(&connection, "giant", "64").await;
    await_decision(&connection, "giant", false).await;
    // What is in memory goes out each second; then it dies in the midst of it.
    let folder = site.path("recordings");
    until("the recording tells of the giant", || {
        Path::new(&folder).exists() && lines(&folder).iter().any(|line| line.contains("Insufficient cpu"))
    })
    .await;
    site.end_last("-KILL");
    site.start_recording_scheduler();
    make_node(&connection, "node-2").await;
    make_pod(&connection, "late", "3").await;
    await_decision(&connection, "late", true).await;
    site.end_last("-TERM");

    let (told, code) = replayed(&folder);
    assert_eq!((code, &told["same"], &told["starts"]), (Some(0), &json!(true), &json!(2)), "{told}");
    assert!(told["decisions"].as_u64() >= Some(8), "{told}");
    let said = text(&run(&["replay", &folder]).stdout);
    assert!(
        said.starts_with(&format!("{} decisions, all the same\n2 starts of a scheduler", told["decisions"])),
        "{said}"
    );

    let recorded = lines(&folder);
    assert!(recorded.iter().any(|line| line.contains("pod default/small-0")), "{recorded:?}");
    assert!(!recorded.iter().any(|line| line.contains(SECRET)), "what is secret is not saved");

    let explained =
        |more: &[&str]| text(&run(&[&["explain", "giant", "--state", &folder][..], more].concat()).stdout);
    let at_end = explained(&[]);
    assert!(at_end.starts_with("0/2 nodes are available: 2 Insufficient cpu"), "{at_end}");
    let moment = recorded.iter().find(|line| line.contains("Insufficient cpu")).expect("it was told");
    let moment: Value = serde_json::from_str(moment).expect("JSON");
    let micros = moment["input"]["at"].as_i64().expect("a time");
    let at = model::timestamp::Timestamp::from_micros(micros).with_micros().to_string();
    let then = explained(&["--at", &at]);
    assert!(then.starts_with("0/1 nodes are available: 1 Insufficient cpu"), "{then}");
    let before = run(&["explain", "giant", "--state", &folder, "--at", "2001-01-01T00:00:00Z"]);
    assert!(text(&before.stderr).contains("has nothing of 2001-01-01T00:00:00Z or before"), "{before:?}");
    damaged_and_changed(&site, &recorded);
}

#[test]
fn recording_a_server_that_cannot_be_reached_fails_at_once() {
    let folder = env::temp_dir().join(format!("supercargo-unreachable-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    let path = |name: &str| folder.join(name).display().to_string();
    let (kubeconfig, recording) = (path("kubeconfig"), path("cluster.recording"));
    // Nothing listens on a port that was just given back.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|held| held.local_addr()).expect("a port is free");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": format!("http://{free}") } }],
        "users": [{ "name": "u", "user": {} }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
    });
    fs::write(&kubeconfig, config.to_string()).expect("a file can be written");
    let output = run(&["record", "-o", &recording, "--kubeconfig", &kubeconfig]);
    let said = text(&output.stderr);
    let is_there = Path::new(&recording).exists();
    let _ = fs::remove_dir_all(&folder);
    assert_eq!((output.status.code(), is_there), (Some(1), false), "{said}");
    assert!(said.starts_with("error: cannot record: ") && said.contains(&free.to_string()), "{said}");
}

/// A recording in which another scheduler decided, and one that is damaged.
fn damaged_and_changed(site: &Site, recorded: &[String]) {
    let changed = site.path("changed.recording");
    let target = Target::File { path: PathBuf::from(&changed), max: u64::MAX };
    let mut recorder = Recorder::start(target, Verbatim).expect("a new file");
    let place = recorded.iter().position(|line| line.contains("bind to node node-1")).expect("one was bound");
    for (at, line) in recorded.iter().enumerate() {
        let line = if at == place {
            line.replace("bind to node node-1", "bind to node node-9")
        } else {
            line.clone()
        };
        recorder.record(line.into_bytes());
    }
    recorder.finish().expect("a disk");
    let (told, code) = replayed(&changed);
    assert_eq!((code, &told["differenceCount"]), (Some(3), &json!(1)), "{told}");
    let one = &told["differences"][0];
    assert_eq!(
        (&one["recorded"], &one["now"]),
        (&json!("bind to node node-9"), &json!("bind to node node-1"))
    );
    assert_eq!(one["object"], "pod default/small-0");

    let mut bytes = fs::read(&changed).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&changed, &bytes).expect("a disk");
    let damaged = run(&["replay", &changed]);
    let said = text(&damaged.stderr);
    assert_eq!(damaged.status.code(), Some(1));
    assert!(
        said.starts_with("error: ") && said.contains("is damaged at byte") && said.contains("\nhint: "),
        "{said}"
    );
    bytes[middle] ^= 1;
    fs::write(&changed, &bytes[..bytes.len() - 3]).expect("a disk");
    let cut = run(&["replay", &changed]);
    assert!(text(&cut.stderr).contains("changed.recording is cut off, as after a crash"), "{cut:?}");
    // What is left has no decision: that is not the same as decisions that are all the same.
    fs::write(&changed, &bytes[..100]).expect("a disk");
    let empty = run(&["replay", &changed]);
    assert_eq!(empty.status.code(), Some(1));
    assert!(text(&empty.stderr).contains("has no decisions that can be compared"), "{empty:?}");
    let other = run(&["replay", "Cargo.toml"]);
    assert!(text(&other.stderr).contains("is not a recording"), "{other:?}");
}

#[tokio::test]
async fn a_cluster_is_saved_by_looking_at_it() {
    let mut site = Site::new("saved");
    let connection = site.serve().await;
    make_node(&connection, "node-1").await;
    make_pod(&connection, "small", "1").await;
    let (kubeconfig, file) = (site.path("kubeconfig"), site.path("cluster.recording"));
    let saved = run(&["record", "-o", &file, "--kubeconfig", &kubeconfig, "--duration", "0"]);
    assert_eq!(saved.status.code(), Some(0), "{}", text(&saved.stderr));
    assert_eq!(text(&saved.stdout), format!("recorded in {file}\n"));
    let pods = Resource::<Pod>::named("pods").within("default");
    let pod = done(connection.get(&pods, "small").await).expect("the pod can be read");
    assert!(pod.spec.node_name.is_empty() && pod.status.conditions.is_empty(), "nothing was written");
    let explained = text(&run(&["explain", "small", "--state", &file]).stdout);
    assert!(explained.contains("node-1"), "{explained}");
    let (told, code) = replayed(&file);
    assert_eq!((code, &told["same"]), (Some(0), &json!(true)), "{told}");
    assert!(!lines(&file).concat().contains(SECRET), "what is secret is not saved");
    let again = run(&["record", "-o", &file, "--kubeconfig", &kubeconfig, "--duration", "0"]);
    assert_eq!(again.status.code(), Some(1), "nothing is overwritten");
    assert!(text(&again.stderr).contains("cannot create"), "{}", text(&again.stderr));
}
