//! `supercargo devices` and `supercargo topology` as a user meets them: on saved states, on a cluster in one process, and for a
//! caller who may read one namespace only.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Output, Stdio};
use std::{env, fs, thread};

use serde_json::{Value, json};

const CLUSTER: &str = "examples/devices/cluster.yaml";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("it lies two folders deep")
}

fn run_with(arguments: &[&str], stdin: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
    command.args(arguments).current_dir(root()).env_remove("KUBECONFIG");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary was built for this test");
    // A command that does not read its stdin may be gone by now.
    let _ = child.stdin.take().expect("it is piped").write_all(stdin.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn run(arguments: &[&str]) -> Output {
    run_with(arguments, "")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a command answers that must succeed without notes.
fn answer(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{arguments:?}");
    text(&output.stdout)
}

fn devices(arguments: &[&str]) -> Vec<Value> {
    let all = [&["devices", "-o", "json"], arguments].concat();
    let document: Value = serde_json::from_str(&answer(&all)).expect("the answer is JSON");
    document["devices"].as_array().expect("a list").clone()
}

fn states(devices: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    devices
        .iter()
        .map(|one| format!("{}/{} {}", text(&one["pool"]), text(&one["device"]), text(&one["state"])))
        .collect()
}

#[test]
fn devices_are_chosen_by_node_driver_and_class() {
    let nic = ["node-4/nic-0 PartlyUsed"];
    assert_eq!(states(&devices(&["--state", CLUSTER, "--driver", "nic.example.com"])), nic);
    assert_eq!(states(&devices(&["--state", CLUSTER, "--class", "nic"])), nic);
    let on_node = devices(&["--state", CLUSTER, "--node", "node-4"]);
    assert_eq!(states(&on_node), ["node-4/nic-0 PartlyUsed", "studio/recorder-0 Free"]);
    assert_eq!((&on_node[0]["nodeName"], &on_node[1]["allNodes"]), (&json!("node-4"), &json!(true)));
    let left = json!({ "bandwidth": { "left": "60G", "value": "100G" } });
    assert_eq!(on_node[0]["capacity"], left);
    let parts = devices(&["--state", CLUSTER, "--node", "node-3", "--class", "gpu"]);
    let expected =
        ["node-3/gpu-0 CountersUsedUp", "node-3/gpu-0-half-0 Allocated", "node-3/gpu-0-half-1 Free"];
    assert_eq!(states(&parts), expected);
}

#[test]
fn holders_of_other_namespaces_are_in_use_and_nothing_more() {
    let all = devices(&["--state", CLUSTER, "-A"]);
    assert_eq!(all[0]["holders"][0]["claim"], "train");
    assert_eq!(all[0]["holders"][0]["reservedFor"], json!([{ "resource": "pods", "name": "train" }]));
    assert_eq!(all[0]["holders"][0]["since"], "2026-11-02T08:00:00Z");
    let own = answer(&["devices", "--state", CLUSTER, "-n", "team-b", "-o", "wide"]);
    assert!(own.contains("team-b/serve") && own.contains("in use (admin access)"), "{own}");
    assert!(!own.contains("team-a") && !own.contains("train") && !own.contains("ops"), "{own}");
    let states_of = |arguments: &[&str]| states(&devices(&[&["--state", CLUSTER], arguments].concat()));
    assert_eq!(states_of(&["-n", "team-b"]), states_of(&[]), "numbers stay right");
}

#[test]
fn a_list_as_kubectl_prints_it_and_a_folder_say_the_same_as_the_file() {
    let file = devices(&["--state", CLUSTER]);
    assert_eq!(devices(&["--state", "examples/devices"]), file);
    let manifests =
        simulation::read(CLUSTER, &fs::read_to_string(root().join(CLUSTER)).expect("it is there"));
    let items: Vec<Value> = manifests.expect("good manifests").into_iter().map(|one| one.value).collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
    let output = run_with(&["devices", "-o", "json", "--state", "-"], &list);
    let document: Value = serde_json::from_slice(&output.stdout).expect("the answer is JSON");
    assert_eq!(document["devices"], Value::from(file));
    let yaml = answer(&["devices", "-o", "yaml", "--state", CLUSTER]);
    assert_eq!(schema::parse_yaml(&yaml).expect("the answer is YAML").value, document);
}

#[test]
fn what_is_not_there_is_named_with_the_nearest_that_is() {
    let cases = [
        (&["devices", "--node", "node1"][..], "there is no node \"node1\"", "did you mean `node-1`?"),
        (&["devices", "--class", "gpus"], "there is no DeviceClass \"gpus\"", "did you mean `gpu`?"),
        (
            &["topology", "--level", "example.com/rac"],
            "no node has the label \"example.com/rac\"",
            "did you mean `example.com/rack`?",
        ),
    ];
    for (arguments, wrong, hint) in cases {
        let output = run(&[arguments, &["--state", CLUSTER]].concat());
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""));
        assert_eq!(text(&output.stderr), format!("error: {wrong}\nhint: {hint}\n"));
    }
    let lost = run(&["devices", "--state", "nowhere.yaml"]);
    assert!(text(&lost.stderr).starts_with("error: cannot read nowhere.yaml: "), "{}", text(&lost.stderr));
    let empty = run_with(&["devices", "--state", "-"], "{apiVersion: v1, kind: List, items: []}");
    assert_eq!(empty.status.code(), Some(1));
    assert!(text(&empty.stderr).contains("hint: save one with `kubectl get "), "{}", text(&empty.stderr));
    let both = run(&["devices", "--state", CLUSTER, "--kubeconfig", "k"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn domains_are_those_of_the_topology_and_their_numbers_add_up() {
    let document: Value = serde_json::from_str(&answer(&["topology", "--state", CLUSTER, "-o", "json"]))
        .expect("the answer is JSON");
    assert_eq!(document["levels"], json!(["topology.kubernetes.io/zone", "example.com/rack"]));
    let zone = &document["cluster"]["domains"][0];
    let racks = zone["domains"].as_array().expect("racks");
    assert_eq!(racks.iter().map(|rack| &rack["name"]).collect::<Vec<_>>(), ["rack-1", "rack-2"]);
    let gpus = |domain: &Value| {
        let gpus = &domain["drivers"].as_array().expect("a list")[0];
        assert_eq!(gpus["name"], "gpu.example.com");
        (gpus["devices"].clone(), gpus["free"].clone(), gpus["fragmentationPercent"].clone())
    };
    assert_eq!(gpus(&racks[0]), (json!(8), json!(3), json!(33)));
    assert_eq!(gpus(&racks[1]), (json!(3), json!(1), json!(0)));
    assert_eq!(gpus(zone), (json!(11), json!(4), json!(50)));
    assert_eq!((&racks[0]["cpuFreeMilli"], &racks[0]["pods"]), (&json!(52_000), &json!(1)));
    let tree = answer(&["topology", "--state", CLUSTER, "-o", "tree"]);
    assert!(tree.contains("├─ node-1  gpu.example.com ■■■□\n"), "{tree}");
    assert!(tree.contains("recorder.example.com for all nodes: □\n"), "{tree}");
}

#[test]
fn a_picture_is_xml_with_a_square_for_each_device_and_always_the_same() {
    let picture = answer(&["topology", "--state", CLUSTER, "-o", "svg"]);
    assert_eq!(picture, answer(&["topology", "--state", CLUSTER, "-o", "svg"]));
    assert_eq!(picture.matches("<title>").count(), 13);
    assert!(picture.contains(">zone-a / rack-1<") && picture.contains(">namespace team-a: 4<"), "{picture}");
    let hidden = answer(&["topology", "--state", CLUSTER, "-o", "svg", "-n", "team-b"]);
    assert!(hidden.contains(">in use: 4<") && !hidden.contains("team-a"), "{hidden}");
    let mut open = Vec::new();
    for tag in picture.split('<').skip(1).map(|rest| rest.split('>').next().expect("a tag ends")) {
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().expect("a tag has a name"));
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn the_command_is_a_plugin_of_kubectl_by_its_name() {
    let folder = Folder::new("plugin");
    let plugin = folder.0.join("kubectl-supercargo");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_supercargo"), &plugin).expect("a link can be made");
    let called = |arguments: &[&str]| {
        Command::new(&plugin).args(arguments).current_dir(root()).output().expect("it is the binary")
    };
    let shown = called(&["devices", "--state", CLUSTER]);
    assert_eq!(text(&shown.stdout), answer(&["devices", "--state", CLUSTER]));
    let help = text(&called(&["topology", "--help"]).stdout);
    assert!(help.contains("Usage: kubectl supercargo topology [OPTIONS]"), "{help}");
    assert!(help.contains("\n  kubectl supercargo topology -o svg"), "{help}");
    let wrong = text(&called(&["zzz"]).stderr);
    assert!(wrong.contains("hint: `kubectl supercargo --help` lists the commands"), "{wrong}");
}

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("supercargo-devices-{name}-{}", process::id()));
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

/// A process that goes when the test does.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_running_cluster_tells_which_pods_share_a_device() {
    let folder = Folder::new("up");
    let kubeconfig = folder.file("kubeconfig");
    let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
    command.args(["up", "--listen", "127.0.0.1:0", "--write-kubeconfig", &kubeconfig]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running(command.spawn().expect("the binary was built for this test"));
    let lines = BufReader::new(running.0.stdout.take().expect("it is piped")).lines();
    let is_up = |line: &String| line.starts_with("default/writer ") && line.contains(" running ");
    lines.map_while(Result::ok).find(is_up).expect("the pods of the sample cluster run");
    let all = devices(&["--kubeconfig", &kubeconfig]);
    assert_eq!(all.len(), 33);
    let shared =
        all.iter().find(|one| one["holders"][0]["claim"] == "shared").expect("the claim has a device");
    assert_eq!(shared["state"], "Allocated");
    let users = shared["holders"][0]["reservedFor"].as_array().expect("users");
    assert!(users.iter().any(|user| user["name"] == "writer"), "{shared}");
    assert!(shared["holders"][0]["since"].is_string(), "{shared}");
    let table = answer(&["topology", "--kubeconfig", &kubeconfig]);
    assert!(table.lines().nth(1).is_some_and(|line| line.starts_with("(cluster)  4 ")), "{table}");
}

/// An API server whose caller may read nodes, slices and classes, and pods and claims of the namespace team-a.
fn stub() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve(stream));
        }
    });
    format!("http://{address}")
}

fn serve(mut stream: TcpStream) {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => request.push(byte[0]),
            _ => return,
        }
    }
    let request = text(&request);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, body) = stubbed(path);
    let head = format!(
        "HTTP/1.1 {status} Stub\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // The caller may be gone.
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

fn stubbed(path: &str) -> (u16, String) {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let manifests =
        simulation::read(CLUSTER, &fs::read_to_string(root().join(CLUSTER)).expect("it is there"));
    let objects: Vec<Value> = manifests.expect("good manifests").into_iter().map(|one| one.value).collect();
    let plural = path.rsplit('/').next().unwrap_or_default();
    let kind = match plural {
        "nodes" => "Node",
        "resourceslices" => "ResourceSlice",
        "deviceclasses" => "DeviceClass",
        "pods" => "Pod",
        "resourceclaims" => "ResourceClaim",
        "workloads" | "nodetopologies" => {
            return (404, json!({ "kind": "Status", "code": 404, "message": "not found" }).to_string());
        }
        _ => "",
    };
    let namespace = path.split_once("/namespaces/").and_then(|(_, rest)| rest.split('/').next());
    let is_cluster_wide = matches!(kind, "Node" | "ResourceSlice" | "DeviceClass");
    let is_own = namespace == Some("team-a") && matches!(kind, "Pod" | "ResourceClaim");
    if !is_cluster_wide && !is_own {
        let message = format!("{plural} is forbidden: User \"ann\" cannot list resource \"{plural}\"");
        return (403, json!({ "kind": "Status", "code": 403, "message": message }).to_string());
    }
    let is_meant = |object: &&Value| {
        object["kind"] == kind && namespace.is_none_or(|name| object["metadata"]["namespace"] == name)
    };
    // Pages have two objects, and the second page of nodes comes too late. Servers leave the kind of objects in lists out.
    let size = if query.contains("limit=") { 2 } else { usize::MAX };
    let begin: usize =
        query.split('&').find_map(|pair| pair.strip_prefix("continue=")?.parse().ok()).unwrap_or(0);
    if kind == "Node" && begin > 0 {
        return (
            410,
            json!({ "kind": "Status", "code": 410, "reason": "Expired", "message": "too old" }).to_string(),
        );
    }
    let all: Vec<Value> = objects.iter().filter(is_meant).cloned().collect();
    let mut items: Vec<Value> = all.iter().skip(begin).take(size).cloned().collect();
    for item in &mut items {
        let fields = item.as_object_mut().expect("an object");
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    let next =
        if begin.saturating_add(size) < all.len() { (begin + size).to_string() } else { String::new() };
    (200, json!({ "metadata": { "resourceVersion": "7", "continue": next }, "items": items }).to_string())
}

#[test]
fn a_caller_who_may_read_one_namespace_is_told_of_that_one_and_of_what_is_missing() {
    let folder = Folder::new("forbidden");
    let kubeconfig = folder.file("kubeconfig");
    let cluster = format!("clusters: [{{name: c, cluster: {{server: '{}'}}}}]", stub());
    let context =
        "contexts: [{name: c, context: {cluster: c, user: u, namespace: team-a}}]\ncurrent-context: c";
    let file =
        format!("apiVersion: v1\nkind: Config\n{cluster}\nusers: [{{name: u, user: {{}}}}]\n{context}\n");
    fs::write(&kubeconfig, file).expect("a file can be written");
    let output = run(&["devices", "-o", "json", "--kubeconfig", &kubeconfig]);
    let notes = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{notes}");
    let note = |first: &str| {
        let begin = format!("note: not all objects of these kinds can be listed: {first}");
        notes.lines().find(|line| line.starts_with(&begin)).expect("the kinds are told")
    };
    let namespaced = note("pods, resourceclaims;");
    assert!(namespaced.contains("; only those in namespace team-a are used (pods is forbidden: "), "{notes}");
    assert!(note("namespaces, devicetaintrules, ").contains("; they are ignored ("), "{notes}");
    assert_eq!(notes.lines().count(), 2, "{notes}");
    assert!(
        !namespaced.contains("services") && notes.contains("services"),
        "ann may not read them anywhere: {notes}"
    );
    assert!(!notes.contains("resourceslices") && !notes.contains("nodetopologies"), "{notes}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("the answer is JSON");
    let told = states(document["devices"].as_array().expect("a list"));
    assert_eq!(told.len(), 13, "{told:?}");
    for expected in ["node-1/gpu-0 Allocated", "node-1/gpu-3 Unknown", "node-3/gpu-0-half-0 Unknown"] {
        assert!(told.iter().any(|one| one == expected), "{expected} in {told:?}");
    }
    let written = text(&output.stdout);
    let told = run(&["explain", "attach", "--kubeconfig", &kubeconfig]);
    assert_eq!(told.status.code(), Some(0), "{}", text(&told.stderr));
    for written in [written, text(&told.stdout)] {
        assert!(
            written.contains("team-a") && !written.contains("team-b") && !written.contains("ops"),
            "{written}"
        );
    }
}
