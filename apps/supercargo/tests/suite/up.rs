//! `supercargo up` as a user meets it: what it says, the kubeconfig, how it stops, and exit codes.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Child, ChildStdin, Command, Output, Stdio};
use std::time::{Duration, Instant};

use client::{Connection, Resource};
use objects::core::pod::Pod;
use objects::meta::DeleteOptions;
use objects::resource::claim::ResourceClaim;

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("supercargo-up-{name}-{}", process::id()));
        fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is left to the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn up(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
    command.args(["up", "--listen", "127.0.0.1:0", "--write-kubeconfig", &folder.file("kubeconfig")]);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn finished(mut command: Command, stdin: &str) -> Output {
    let mut child = command.spawn().expect("the binary was built for this test");
    // A command that does not read its stdin may be gone by now.
    let _ = child.stdin.take().expect("it is piped").write_all(stdin.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A cluster that goes when the test does.
struct Running(Child, #[allow(dead_code, reason = "held open")] Option<ChildStdin>);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn interrupt(&mut self) -> i32 {
        let id = self.0.id().to_string();
        Command::new("kill").args(["-INT", &id]).status().expect("a signal can be sent");
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) {
            if let Some(status) = self.0.try_wait().expect("it is ours") {
                return status.code().expect("it ends by itself");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        unreachable!("it did not stop in twenty seconds")
    }
}

#[test]
fn the_sample_cluster_settles_and_says_who_waits_and_why() {
    let folder = Folder::new("sample");
    let output = finished(up(&folder, &["--exit-when-settled"]), "");
    let answer = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(3), ""), "{answer}");
    for begin in
        ["address     https://127.0.0.1:", "kubeconfig  ", "storage     in memory", "runs        API server"]
    {
        assert!(answer.lines().any(|line| line.starts_with(begin)), "no line begins with {begin}: {answer}");
    }
    let said = |pod: &str, rest: &str| {
        let begin = format!("{:18}  {rest}", format!("default/{pod}"));
        answer.lines().any(|line| line.starts_with(&begin))
    };
    assert!(said("train-0", "placed     node-") && said("train-0", "running    node-"), "{answer}");
    assert!(said("giant", "waits      0/4 nodes are available: "), "{answer}");
    assert!(said("record-1", "succeeded  node-") && said("record-2", "succeeded  node-"), "{answer}");
    assert_eq!(answer.lines().last(), Some("13 pods: 10 running, 2 succeeded, 1 waiting"), "{answer}");
    assert!(!answer.contains('\u{1b}'), "nothing is drawn where nobody looks: {answer}");
}

#[test]
fn when_every_pod_has_its_place_the_exit_code_is_0() {
    let folder = Folder::new("placed");
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: mine}, spec: {containers: [{name: c, image: i}]}}";
    let output =
        finished(up(&folder, &["--no-examples", "--nodes=1", "-f", "-", "--exit-when-settled"]), pod);
    let answer = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{answer}");
    assert!(answer.contains("controllers, 1 simulated node\n"), "{answer}");
    assert!(answer.ends_with("mine/p              running    node-1\n1 pod: 1 running\n"), "{answer}");
}

#[test]
fn a_pod_that_asks_for_a_scheduler_which_nobody_runs_is_told_so() {
    let folder = Folder::new("foreign");
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {schedulerName: other, containers: [{name: c, image: i}]}}";
    let output =
        finished(up(&folder, &["--no-examples", "--nodes=1", "-f", "-", "--exit-when-settled"]), pod);
    let answer = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{answer}");
    let end = "default/p           waits      no scheduler named other runs in this cluster, only \
        default-scheduler; hint: correct spec.schedulerName, or start other\n1 pod: 1 waiting\n";
    assert!(answer.ends_with(end), "{answer}");
}

#[test]
fn what_is_wrong_with_a_manifest_is_said_with_its_place() {
    let folder = Folder::new("wrong");
    let table = [
        (
            "{apiVersion: v1, kind: Boat, metadata: {name: p}}",
            "error: stdin:1: \"Boat\" of \"v1\" is not served",
        ),
        ("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}", "error: stdin:1: "),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  contaners: []\n",
            "error: stdin:5:3: unknown field \"spec.contaners\"\n  5 |   contaners: []\n    |   ^\nhint: did you mean `containers`?\n",
        ),
        ("kind: Pod\n  a: [\n", "error: stdin:2:4: "),
        ("", "error: no manifests in stdin\nhint: "),
    ];
    for (manifest, expected) in table {
        let output = finished(up(&folder, &["--no-examples", "-f", "-"]), manifest);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
        assert!(text(&output.stderr).starts_with(expected), "{}", text(&output.stderr));
    }
}

/// Starts a cluster, and waits until it has said a line that begins so.
fn started(mut command: Command, line: &str) -> (Running, BufReader<process::ChildStdout>) {
    let mut child = command.spawn().expect("the binary was built for this test");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped"));
    let stdin = child.stdin.take();
    let running = Running(child, stdin);
    let mut read = String::new();
    loop {
        read.clear();
        assert!(lines.read_line(&mut read).expect("it writes text") > 0, "it ended before {line}");
        if read.starts_with(line) {
            return (running, lines);
        }
    }
}

fn ask<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

async fn connected(kubeconfig: &str) -> Connection {
    let options = client::Options::default();
    let connection = Connection::from_kubeconfig(Path::new(kubeconfig), None, &options).await;
    connection.expect("the kubeconfig is good")
}

#[test]
fn its_kubeconfig_works_and_deleted_pods_give_their_devices_back() {
    let folder = Folder::new("kubeconfig");
    let (mut running, _lines) = started(up(&folder, &[]), "default/writer      running");
    ask(async {
        let connection = connected(&folder.file("kubeconfig")).await;
        let pods = Resource::<Pod>::named("pods").within("default");
        let claims = Resource::<ResourceClaim>::named("resourceclaims").within("default");
        let shared = connection.get(&claims, "shared").await.done().expect("the claim is there");
        assert_eq!(shared.status.reserved_for.len(), 2);
        for pod in ["reader", "writer"] {
            assert!(connection.delete(&pods, pod, &DeleteOptions::default()).await.done().is_some());
        }
        let began = Instant::now();
        loop {
            let shared = connection.get(&claims, "shared").await.done().expect("nobody deletes it");
            if shared.status.reserved_for.is_empty() && shared.metadata.finalizers.is_empty() {
                assert!(shared.status.allocation.is_none());
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{shared:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    assert_eq!(running.interrupt(), 0);
}

#[test]
fn what_is_kept_on_disk_is_there_after_a_restart() {
    let folder = Folder::new("kept");
    let kept = folder.file("kept");
    let arguments = ["--data-dir", &kept];
    let (mut running, lines) = started(up(&folder, &arguments), "default/writer      running");
    assert_eq!(running.interrupt(), 0);
    let last = lines.lines().last().expect("it says something").expect("it writes text");
    assert!(last.starts_with("13 pods: "), "{last}");
    let arguments = ["--no-examples", "--exit-when-settled", "--data-dir", &kept];
    let output = finished(up(&folder, &arguments), "");
    let answer = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{answer}{}", text(&output.stderr));
    assert!(answer.lines().any(|line| line.starts_with("default/writer      running    node-")), "{answer}");
}

#[test]
fn a_reader_that_goes_away_does_not_stop_the_cluster() {
    let folder = Folder::new("unread");
    let (reader, writer) = std::io::pipe().expect("a pipe can be made");
    drop(reader);
    let mut command = up(&folder, &["--no-examples", "--nodes=1", "--exit-when-settled"]);
    command.stdout(writer);
    let output = finished(command, "");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
}
