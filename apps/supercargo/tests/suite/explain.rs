//! `supercargo explain` as a user meets it: on a saved state, and on a cluster whose scheduler says the same.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use client::{Answer, Connection, Options, Resource};
use objects::core::pod::Pod;
use serde_json::{Value, json};

const STATE: &str = "examples/devices";

fn run(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("it lies two folders deep");
    let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
    command.arg("explain").args(arguments).current_dir(root).env_remove("KUBECONFIG");
    command.output().expect("the binary was built for this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What is said of a pod, for programs.
fn document(arguments: &[&str]) -> Value {
    let output = run(&[arguments, &["-o", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the answer is JSON")
}

#[test]
fn a_pod_that_waits_is_told_why_and_what_would_help() {
    let told = document(&["latecomer", "-n", "team-b", "--state", STATE]);
    assert_eq!((&told["state"], &told["reasons"]), (&json!("Waiting"), &json!(["InsufficientDevices"])));
    assert_eq!((&told["namespace"], &told["name"]), (&json!("team-b"), &json!("latecomer")));
    assert_eq!((&told["nearest"]["node"], &told["nodes"][0]["count"]), (&json!("node-2"), &json!(4)));
    let message = told["message"].as_str().expect("a text");
    assert!(message.starts_with("0/4 nodes are available: 4 cannot allocate all claims."), "{message}");
    let constraints = told["conflict"]["constraints"].as_array().expect("a list");
    assert!(constraints.iter().any(|one| one["code"] == "DeviceCount"), "{told}");
    assert_eq!((&told["conflict"]["minimal"], &told["remedies"]["complete"]), (&json!(true), &json!(true)));
    let remedies = told["remedies"]["items"].as_array().expect("a list");
    let is_told = |one: &Value| one["node"].is_string() && one["changes"][0]["message"].is_string();
    assert!(!remedies.is_empty() && remedies.iter().all(is_told), "{told}");
    let output = run(&["pod/latecomer", "--namespace=team-b", "--state", STATE]);
    assert_eq!(
        (text(&output.stdout), output.status.code()),
        (told["text"].as_str().expect("a text").to_owned(), Some(0))
    );
    assert_eq!(text(&output.stdout).lines().next(), Some(message));
    let yaml = run(&["latecomer", "-n", "team-b", "--state", STATE, "-o", "yaml"]);
    assert_eq!(schema::parse_yaml(&text(&yaml.stdout)).expect("the answer is YAML").value, told);
}

#[test]
fn a_pod_on_a_node_is_told_with_its_node() {
    let told = document(&["train", "-n", "team-a", "--state", STATE]);
    assert_eq!((&told["state"], &told["node"]), (&json!("Placed"), &json!("node-1")));
}

#[test]
fn a_claim_is_told_with_its_devices_and_what_it_waits_for() {
    let told = document(&["claim/serve", "-n", "team-b", "--state", STATE]);
    assert_eq!((&told["state"], &told["since"]), (&json!("Allocated"), &json!("2026-11-02T09:30:00Z")));
    assert_eq!(told["devices"], json!(["gpu.example.com/node-3/gpu-0-half-0"]));
    let waits = document(&["claim/attach", "-n", "team-a", "--state", STATE, "--at", "2026-11-02T10:20:00Z"]);
    assert_eq!(waits["state"], "Preparing");
}

#[test]
fn a_workload_is_told_group_by_group() {
    let told = document(&["workload/training", "--state", "examples/gang/workload.yaml"]);
    let groups = told["groups"].as_array().expect("a list");
    assert!(!groups.is_empty() && groups.iter().all(|group| group["state"].is_string()), "{told}");
    assert_eq!(groups[0]["name"], "training/workers/0");
    let pod = document(&["worker-0-0", "--state", "examples/gang/workload.yaml"]);
    // No controller has created the claims of the manifest.
    assert_eq!(
        (&pod["state"], &pod["reasons"]),
        (&json!("Waiting"), &json!(["WaitingForClaimFromTemplate"]))
    );
    assert_eq!(groups[0]["reasons"], json!(["WaitingForMember"]));
}

#[test]
fn deadlines_of_a_saved_state_are_judged_as_of_the_time_that_is_named() {
    let at = |time: &str| document(&["attach", "-n", "team-a", "--state", STATE, "--at", time]);
    assert_eq!(at("2026-11-02T10:30:00Z")["reasons"], json!(["DeviceBindingTimeout"]));
    assert_ne!(at("2026-11-02T10:20:00Z")["reasons"], json!(["DeviceBindingTimeout"]));
    let wrong = run(&["attach", "--state", STATE, "--at", "noon"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn what_cannot_be_explained_is_said_with_what_could_be() {
    let cases = [
        (&["latecmer", "-n", "team-b"][..], 1, "pod team-b/latecmer not found", "did you mean `latecomer`?"),
        (&["claim/strem", "-n", "team-b"], 1, "claim team-b/strem not found", "did you mean `stream`?"),
    ];
    let kind = text(&run(&["service/web", "--state", STATE]).stderr);
    assert!(kind.contains("\"service\" is not a kind that can be explained"), "{kind}");
    for missing in ["podgroup/x", "compositepodgroup/x", "workload/x"] {
        let output = run(&[missing, "--state", STATE]);
        assert_eq!(output.status.code(), Some(1), "{missing}");
        assert!(text(&output.stderr).contains("/x not found"), "{}", text(&output.stderr));
    }
    for (arguments, code, wrong, hint) in cases {
        let output = run(&[arguments, &["--state", STATE]].concat());
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(code), ""));
        assert!(said.starts_with(&format!("error: {wrong}")), "{said}");
        assert!(said.ends_with(&format!("\nhint: {hint}\n")), "{said}");
    }
}

/// A cluster that goes when the test does, and the folder of its kubeconfig.
struct Running(Child, PathBuf);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        // What is left is left to the system.
        let _ = fs::remove_dir_all(&self.1);
    }
}

#[tokio::test]
async fn the_first_sentence_is_the_message_of_the_condition_that_the_scheduler_wrote() {
    let folder = env::temp_dir().join(format!("supercargo-explain-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    let kubeconfig = folder.join("kubeconfig");
    let file = kubeconfig.display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
    command.args(["up", "--listen", "127.0.0.1:0", "--write-kubeconfig", &file]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running(command.spawn().expect("the binary was built for this test"), folder);
    let lines = BufReader::new(running.0.stdout.take().expect("it is piped")).lines();
    let waits = |line: &String| line.starts_with("default/giant ") && line.contains(" waits ");
    lines.map_while(Result::ok).find(waits).expect("a pod of the sample cluster waits");
    let connection =
        Connection::from_kubeconfig(&kubeconfig, None, &Options::default()).await.expect("a kubeconfig");
    let began = Instant::now();
    loop {
        let pods = Resource::<Pod>::named("pods").within("default");
        let Answer::Done(pod) = connection.get(&pods, "giant").await else { panic!("the pod can be read") };
        let conditions = pod.status.conditions.iter();
        let written =
            conditions.filter(|one| one.type_ == "PodScheduled").map(|one| one.message.clone()).next();
        let told = document(&["giant", "--kubeconfig", &file]);
        // While pods of the sample come and go, the figures of the condition may be those of a moment ago.
        if written.is_some_and(|written| told["message"] == *written) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{told}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
