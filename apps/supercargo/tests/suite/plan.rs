//! `supercargo plan` as a user meets it: on a saved state and on a cluster, with what is to be otherwise, and with what is wrong.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Output, Stdio};
use std::{env, fs};

use serde_json::{Value, json};

const STATE: &str = "examples/plan/cluster.yaml";
const PODS: &str = "examples/plan/pods.yaml";
const ONE: &str = "examples/plan/one.yaml";
const LARGE: &str = "examples/plan/large.yaml";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("it lies two folders deep")
}

fn supercargo(arguments: &[&str], stdin: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
    command.args(arguments).current_dir(root()).env_remove("KUBECONFIG");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary was built for this test");
    // A command that does not read its stdin may be gone by now.
    let _ = child.stdin.take().expect("it is piped").write_all(stdin.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A plan on the example, with a manifest on stdin, and its exit code.
fn planned(arguments: &[&str], stdin: &str) -> (Value, i32) {
    let output = supercargo(&[&["plan"], arguments, &["--state", STATE, "-o", "json"]].concat(), stdin);
    assert!(!output.stdout.is_empty(), "{}", text(&output.stderr));
    let document = serde_json::from_slice(&output.stdout).expect("the answer is JSON");
    (document, output.status.code().expect("it ends by itself"))
}

/// What is said of a plan that cannot be made.
fn complaint(arguments: &[&str], stdin: &str, code: i32) -> String {
    let output = supercargo(&[&["plan"], arguments].concat(), stdin);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(code), ""), "{arguments:?}");
    text(&output.stderr)
}

/// The nodes of pods by name; null for those that wait.
fn nodes(plan: &Value) -> BTreeMap<String, Value> {
    let pods = plan["pods"].as_array().expect("a list").iter();
    pods.map(|pod| (pod["name"].as_str().expect("a name").to_owned(), pod["node"].clone())).collect()
}

/// So many pods with a GPU each.
fn workers(count: usize) -> String {
    let manifest = fs::read_to_string(root().join(ONE)).expect("the example can be read");
    let (template, pod) = manifest.split_once("---\n").expect("a template and a pod");
    let pods = (0..count).map(|number| pod.replace("{name: worker}", &format!("{{name: worker-{number}}}")));
    [template.to_owned()].into_iter().chain(pods).collect::<Vec<_>>().join("---\n")
}

#[test]
fn pods_are_told_with_their_nodes_and_devices_or_with_the_first_sentence_of_why_not() {
    let (plan, code) = planned(&["-f", PODS], "");
    assert_eq!((code, &plan["fits"], &plan["message"]), (3, &json!(false), &json!("1 of 2 pods fit.")));
    let pods = plan["pods"].as_array().expect("a list");
    assert_eq!((&pods[0]["name"], &pods[0]["node"]), (&json!("tune"), &json!("node-2")));
    assert_eq!(pods[0]["devices"][0]["device"], "gpu-1");
    let reason = pods[1]["reason"].as_str().expect("a text");
    assert!(reason.starts_with("0/4 nodes are available: 4 cannot allocate all claims."), "{reason}");
    let changed = plan["nodes"].as_array().expect("a list");
    assert_eq!((changed.len(), &changed[0]["name"]), (1, &json!("node-2")));
    let gpus = |when: &str| changed[0][when]["devices"]["gpu.example.com"].clone();
    assert_eq!((gpus("before"), gpus("after")), (json!({"used": 1, "all": 4}), json!({"used": 2, "all": 4})));
    let table = text(&supercargo(&["plan", "-f", PODS, "--state", STATE], "").stdout);
    assert!(table.starts_with("1 of 2 pods fit.\n"), "{table}");
}

#[test]
fn a_plan_says_what_a_simulation_of_the_same_objects_does() {
    for manifest in [PODS, ONE, LARGE, "examples/gang/whole-and-half.yaml", "examples/preemption/gpus.yaml"] {
        // Some have nodes and classes of their own.
        let objects = fs::read_to_string(root().join(manifest)).expect("the example can be read");
        let objects =
            objects.replace("node-", "other-").replace("metadata: {name: gpu}", "metadata: {name: other}");
        let objects = objects.replace("deviceClassName: gpu,", "deviceClassName: other,");
        let output = supercargo(&["simulate", STATE, "-", "-o", "json"], &objects);
        let simulated: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
        let (plan, code) = planned(&["-f", "-"], &objects);
        assert_eq!(Some(code), output.status.code(), "{manifest}");
        for pod in plan["pods"].as_array().expect("a list") {
            let mut all = simulated["pods"].as_array().expect("a list").iter();
            let same = all.find(|one| one["name"] == pod["name"] && one["namespace"] == pod["namespace"]);
            let same = same.unwrap_or_else(|| panic!("{pod} is simulated"));
            assert_eq!(same["node"], pod["node"], "{manifest}: {pod}");
            for device in pod["devices"].as_array().into_iter().flatten() {
                let mut claims = simulated["claims"].as_array().expect("a list").iter();
                let claim = claims.find(|one| one["name"] == device["claim"]).expect("it is simulated");
                let has_it = |one: &Value| one["device"] == device["device"] && one["pool"] == device["pool"];
                assert!(
                    claim["devices"].as_array().is_some_and(|all| all.iter().any(has_it)),
                    "{pod}: {claim}"
                );
            }
        }
    }
}

#[test]
fn what_is_to_be_otherwise_is_and_several_changes_combine() {
    let more = planned(&["-f", PODS, "--with", "add-node=node-2"], "");
    assert!(nodes(&more.0).values().any(|node| node == "node-2-new-1"), "{}", more.0);
    assert_eq!(more.1, 0);
    let without = planned(&["-f", PODS, "--with", "without=tune"], "");
    assert_eq!((nodes(&without.0), without.1), ([("train-large".to_owned(), json!("node-2"))].into(), 0));
    let (urgent, code) = planned(&["-f", LARGE, "--with", "priority=large=high"], "");
    let preempted = &urgent["preempted"][0];
    assert_eq!((code, &urgent["message"]), (0, &json!("Pod default/large fits; 1 pod would be preempted.")));
    assert_eq!((&preempted["name"], &preempted["for"]), (&json!("train"), &json!("pod default/large")));
    for attach in ["attach=1×a100@node-2", "attach=1xgpu@example.com/rack=rack-1", "attach=1×gpu@rack-1"] {
        let (plan, code) = planned(&["-f", LARGE, "--with", attach], "");
        assert_eq!((nodes(&plan)["large"].clone(), code), (json!("node-2"), 0), "{attach}");
    }
    // Two workers on what two more nodes have, while another is drained.
    let (all, code) = planned(
        &[
            "-f",
            PODS,
            "--with",
            "drain=node-3",
            "--with",
            "add-node=node-3:2",
            "--with",
            "without=team-a/train",
        ],
        "",
    );
    assert_eq!(code, 0, "{all}");
    assert!(nodes(&all).values().all(|node| node != "node-3"), "{all}");
}

#[test]
fn the_pods_of_a_drained_node_are_told_with_their_next_nodes() {
    let (plan, code) = planned(&["--with", "drain=node-3"], "");
    let moved = [("embed".to_owned(), json!("node-2")), ("serve".to_owned(), json!("node-2"))];
    assert_eq!((nodes(&plan), code), (moved.into(), 0));
    assert!(
        plan["pods"].as_array().is_some_and(|pods| pods.iter().all(|pod| pod["from"] == "node-3")),
        "{plan}"
    );
    assert_eq!(
        plan["notes"],
        json!(["a PodDisruptionBudget does not allow to evict pod team-b/serve at once"])
    );
    let stays = fs::read_to_string(root().join(STATE)).expect("the example can be read").replace(
        "uid: team-b-embed, ",
        "uid: team-b-embed, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: e, uid: e, controller: true}], ",
    );
    let output = supercargo(&["plan", "--with", "drain=node-3", "--state", "-", "-o", "json"], &stays);
    let plan: Value = serde_json::from_slice(&output.stdout).expect("the answer is JSON");
    assert_eq!(nodes(&plan), [("serve".to_owned(), json!("node-2"))].into(), "a pod of a DaemonSet stays");
}

#[test]
fn a_feature_gate_can_be_otherwise() {
    let (plan, code) = planned(&["-f", ONE, "--with", "gate=DynamicResourceAllocation=true"], "");
    assert_eq!(code, 0, "{plan}");
    let wrong =
        complaint(&["-f", ONE, "--state", STATE, "--with", "gate=DynamicResourceAlocation=true"], "", 2);
    assert!(wrong.contains("DynamicResourceAllocation"), "{wrong}");
}

#[test]
fn a_pod_that_is_in_the_cluster_is_planned_anew_and_a_claim_that_is_there_stays() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: train, namespace: team-a}\nspec: {nodeSelector: {example.com/rack: rack-2}, \
               containers: [{name: c, image: i}]}\n---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n\
               metadata: {name: tune, namespace: team-a}\nspec: {devices: {requests: [{name: gpus, exactly: {deviceClassName: slice}}]}}\n";
    let (plan, code) = planned(&["-f", "-"], pod);
    assert_eq!(code, 0, "{plan}");
    assert!(["node-3", "node-4"].contains(&nodes(&plan)["train"].as_str().expect("it fits")), "{plan}");
    let notes: Vec<&str> =
        plan["notes"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(
        notes,
        [
            "pod team-a/train is in the cluster already; the plan is for the pod of the manifest in its place",
            "claim team-a/tune is in the cluster already; the plan uses the claim of the cluster",
        ]
    );
    let freed = plan["nodes"].as_array().expect("a list").iter().find(|node| node["name"] == "node-1");
    assert_eq!(freed.map(|node| &node["after"]["devices"]["gpu.example.com"]["used"]), Some(&json!(0)));
}

#[test]
fn pods_that_wait_already_take_part_in_the_order_of_the_queue() {
    let early = "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: early}\n\
                 spec: {devices: {requests: [{name: gpus, exactly: {deviceClassName: gpu, count: 3}}]}}\n---\n\
                 apiVersion: v1\nkind: Pod\nmetadata: {name: early}\nspec: {containers: [{name: c, image: i}], \
                 resourceClaims: [{name: gpus, resourceClaimName: early}]}\n";
    let folder = env::temp_dir().join(format!("supercargo-plan-queue-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    let file = folder.join("early.yaml");
    fs::write(&file, early).expect("a file can be written");
    let (plan, code) = planned(&["-f", "-", "--state", &file.display().to_string()], &workers(7));
    let _ = fs::remove_dir_all(&folder);
    let others = plan["waitingPods"].as_array().expect("a list");
    assert_eq!(
        (others.len(), &others[0]["name"], &others[0]["node"]),
        (1, &json!("early"), &json!("node-2"))
    );
    assert_eq!((code, &plan["message"]), (3, &json!("4 of 7 pods fit.")));
}

#[test]
fn what_cannot_be_planned_is_said_with_what_could_be() {
    let with = |change: &'static str| vec!["-f", PODS, "--state", STATE, "--with", change];
    let cases: [(Vec<&str>, &str, i32, &str); 15] = [
        (vec!["--state", STATE], "", 2, "there is nothing to plan"),
        (vec!["-f", "-", "--state", STATE], "", 1, "no manifests in stdin"),
        (
            vec!["-f", "-", "--state", STATE],
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: here}\n",
            1,
            "no pods",
        ),
        (vec!["-f", "-", "--state", "-"], "", 2, "stdin can be read once only"),
        (with("drain=nod-1"), "", 1, "node nod-1 does not exist\nhint: did you mean `node-1`?"),
        (with("add-node=node-9"), "", 1, "node node-9 does not exist"),
        (with("add-node=node-1:1000000000"), "", 2, "\"1000000000\" is no number of nodes from 1 to 10000"),
        (with("add-node=node-1:-1"), "", 2, "\"-1\" is no number of nodes"),
        (with("attach=0×gpu@node-1"), "", 2, "\"0\" is no number of devices from 1 to 10000"),
        (with("attach=1×a1000@node-1"), "", 1, "no published device is of class a1000"),
        (
            with("attach=1×gpu@rack-3"),
            "",
            1,
            "no node has the name rack-3 or a label with that value\nhint: did you mean `rack-",
        ),
        (with("priority=tune=hgh"), "", 1, "PriorityClass hgh does not exist\nhint: did you mean `high`?"),
        (with("without=tun"), "", 1, "pod default/tun does not exist\nhint: did you mean `tune`?"),
        (with("drian=node-1"), "", 2, "did you mean `drain`?"),
        (vec!["-f", "no-such-file.yaml", "--state", STATE], "", 1, "cannot read no-such-file.yaml"),
    ];
    for (arguments, stdin, code, expected) in cases {
        let said = complaint(&arguments, stdin, code);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn a_daemon_set_has_a_pod_on_each_node_that_suits_it() {
    let daemons = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}, spec: {selector: {matchLabels: {a: b}}, \
         template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {example.com/rack: rack-2}, \
         containers: [{name: c, image: i}]}}}}";
    let (plan, code) = planned(&["-f", "-"], daemons);
    assert_eq!((code, &plan["message"]), (0, &json!("All 2 pods fit.")), "{plan}");
    let nodes: Vec<Value> = nodes(&plan).into_values().collect();
    assert_eq!(nodes, [json!("node-3"), json!("node-4")], "{plan}");
}

#[test]
fn a_namespace_that_does_not_exist_is_told_if_namespaces_are_known() {
    let saved = fs::read_to_string(root().join(STATE)).expect("the example can be read");
    let named = |state: &str| {
        let pod = env::temp_dir().join(format!("supercargo-plan-namespace-{}.yaml", process::id()));
        fs::copy(root().join(ONE), &pod).expect("a file can be written");
        let output =
            supercargo(&["plan", "-n", "team-c", "-f", &pod.display().to_string(), "--state", "-"], state);
        let _ = fs::remove_file(&pod);
        (output.status.code(), text(&output.stderr))
    };
    let with = format!("{saved}\n---\n{{apiVersion: v1, kind: Namespace, metadata: {{name: team-a}}}}\n");
    let told = "error: namespace team-c does not exist\nhint: did you mean `team-a`?\n";
    assert_eq!(named(&with), (Some(1), told.to_owned()));
    assert_eq!(named(&saved).0, Some(0), "no namespace was saved");
}

#[test]
fn kinds_that_a_saved_state_lacks_are_named() {
    let saved = fs::read_to_string(root().join(STATE)).expect("the example can be read");
    let parts: Vec<&str> = saved.split("---\n").collect();
    let without = |kind: &str| {
        let line = format!("kind: {kind}");
        let kept = parts.iter().filter(|part| !part.contains(&line));
        kept.copied().collect::<Vec<_>>().join("---\n")
    };
    let note = |state: &str| {
        let output = supercargo(&["plan", "--with", "drain=node-3", "--state", "-"], state);
        text(&output.stderr).lines().find(|line| line.contains("the saved state has no")).map(str::to_owned)
    };
    assert_eq!(note(&saved), None);
    let told = note(&without("ResourceSlice")).expect("it is told");
    assert_eq!(
        told,
        "note: the saved state has no resourceslices; if the cluster has some, add the output of \
         `kubectl get resourceslices -A -o yaml`"
    );
}

#[test]
fn capacity_is_the_number_of_pods_that_fit_and_no_more() {
    let (told, code) = planned(&["capacity", "-f", ONE], "");
    assert_eq!((code, &told["count"], &told["complete"]), (0, &json!(7), &json!(true)));
    assert_eq!(
        told["nodes"],
        json!([
            {"name": "node-1", "pods": 2}, {"name": "node-2", "pods": 3}, {"name": "node-3", "pods": 2},
        ])
    );
    let first = &told["runsOut"][0];
    assert_eq!(
        (&first["message"], &first["nodes"]),
        (&json!("devices of class gpu for request gpus"), &json!(3))
    );
    let more = |name: &str| json!({"like": name, "nodes": if name == "node-1" { 3 } else { 1 }, "pods": if name == "node-1" { 4 } else { 2 }, "complete": true});
    assert_eq!(told["oneMoreNode"], json!([more("node-1"), more("node-4")]));
    assert_eq!(planned(&["-f", "-"], &workers(7)).1, 0);
    let (plan, code) = planned(&["-f", "-"], &workers(8));
    assert_eq!((code, &plan["message"]), (3, &json!("7 of 8 pods fit.")));
    let (none, code) = planned(&["capacity", "-f", LARGE], "");
    assert_eq!((code, &none["count"], &none["oneMoreNode"][0]["pods"]), (3, &json!(0), &json!(1)));
}

#[test]
fn capacity_without_devices_is_what_the_nodes_have_left() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i, resources: {requests: {cpu: '7'}}}]}\n";
    let (told, code) = planned(&["capacity", "-f", "-"], pod);
    // 24, 28, 24 and 12 processors are free.
    assert_eq!(
        (code, &told["count"], &told["runsOut"][0]["code"]),
        (0, &json!(11), &json!("InsufficientCpu")),
        "{told}"
    );
    assert_eq!(told["runsOut"][0]["nodes"], 4);
    let two = format!("{pod}---\n{}", pod.replace("{name: p}", "{name: q}"));
    let wrong = complaint(&["capacity", "-f", "-", "--state", STATE], &two, 1);
    assert!(wrong.contains("the manifests have 2 pods, but capacity is computed for one"), "{wrong}");
    assert!(complaint(&["capacity", "--state", STATE], "", 2).contains("needs the manifest of a pod"));
}

/// The moves that are proposed, as `pod from to`.
fn moves(told: &Value) -> Vec<String> {
    let one = |one: &Value| format!("{} {} {}", one["name"], one["from"], one["to"]).replace('"', "");
    told["moves"].as_array().into_iter().flatten().map(one).collect()
}

#[test]
fn the_fewest_moves_are_proposed_and_the_pods_fit_then() {
    let (told, code) = planned(&["defragment", "-f", LARGE], "");
    assert_eq!(
        (code, moves(&told), &told["fewest"]),
        (0, vec!["train node-1 node-2".to_owned()], &json!(true))
    );
    assert_eq!(planned(&["-f", LARGE, "--with", "without=team-a/train"], "").1, 0);
    let (told, code) = planned(&["defragment", "-f", ONE], "");
    assert_eq!((code, moves(&told), &told["moves"]), (0, Vec::new(), &json!([])), "it fits as it is");
}

#[test]
fn moves_keep_to_budgets_and_say_when_there_are_none() {
    let state = fs::read_to_string(root().join(STATE)).expect("the example can be read");
    let told = |state: &str, arguments: &[&str]| -> (Value, Option<i32>) {
        let all = [&["plan", "defragment", "-f", LARGE, "--state", "-", "-o", "json"], arguments].concat();
        let output = supercargo(&all, state);
        (serde_json::from_slice(&output.stdout).expect("the answer is JSON"), output.status.code())
    };
    let budget = "{name: serve, namespace: team-b}";
    let train = state
        .replace("matchLabels: {app: serve}", "matchLabels: {app: train}")
        .replace(budget, "{name: t, namespace: team-a}");
    let (kept, code) = told(&train, &[]);
    assert_eq!((code, moves(&kept)), (Some(0), vec!["tune node-2 node-3".to_owned()]), "{kept}");
    let all = state.replace("matchLabels: {app: serve}", "matchExpressions: [{key: app, operator: Exists}]");
    let first =
        all.rsplit("---\n").next().expect("it is the last").replace(budget, "{name: t, namespace: team-a}");
    let all = format!("{all}\n---\n{first}");
    let (none, code) = told(&all, &[]);
    assert_eq!((code, &none["moves"], &none["fewest"]), (Some(3), &Value::Null, &json!(true)), "{none}");
    assert_eq!(none["message"], "Even up to 5 moves cannot free a place for the pods.");
}

#[test]
fn a_gang_gets_a_place_by_moves_that_make_way_for_each_other() {
    let member = |number: usize| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: member-{number}}}\nspec:\n  schedulingGroup: {{podGroupName: gang}}\n  \
             containers: [{{name: c, image: i}}]\n  resourceClaims: [{{name: gpus, resourceClaimTemplateName: four-gpus}}]\n"
        )
    };
    let template = fs::read_to_string(root().join(LARGE)).expect("the example can be read");
    let template = template.split("---\n").next().expect("it is the first");
    let group = "---\napiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: gang}\nspec: {schedulingPolicy: {gang: {minCount: 2}}}\n";
    let gang = [template, group, &member(0), &member(1)].concat();
    let (told, code) = planned(&["defragment", "-f", "-"], &gang);
    // Two nodes have to be emptied: train needs two GPUs of node-3, so that tune needs one of node-4, for which chat changes its partition.
    assert_eq!(code, 0, "{told}");
    let expected = ["train node-1 node-3", "tune node-2 node-4", "chat node-4 node-4"];
    assert_eq!(
        (moves(&told), &told["fewest"]),
        (expected.map(str::to_owned).to_vec(), &json!(true)),
        "{told}"
    );
    let (few, code) = planned(&["defragment", "--moves", "2", "-f", "-"], &gang);
    assert_eq!((code, &few["moves"]), (3, &Value::Null), "{few}");
}

#[test]
fn a_whole_device_is_freed_by_moving_a_pod_to_another_partition() {
    let (told, code) = planned(&["defragment", "--for-largest-partition"], "");
    assert_eq!((code, moves(&told)), (0, vec!["chat node-4 node-4".to_owned()]), "{told}");
    assert_eq!((&told["partition"], &told["fewest"]), (&json!("gpu.example.com/node-4/gpu-0"), &json!(true)));
    let (free, _) = planned(&["defragment", "--for-largest-partition", "--with", "without=team-b/code"], "");
    assert_eq!((moves(&free), &free["partition"]), (Vec::new(), &json!("gpu.example.com/node-4/gpu-1")));
    let usage = complaint(&["defragment", "--state", STATE], "", 2);
    assert!(usage.contains("needs either manifests or --for-largest-partition"), "{usage}");
    let other = complaint(
        &["defragment", "--for-largest-partition", "--state", "examples/simulate/gpus.yaml"],
        "",
        1,
    );
    assert!(other.contains("no device of the cluster shares counters with others"), "{other}");
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

#[test]
fn a_plan_for_a_cluster_writes_nothing_there() {
    let folder = env::temp_dir().join(format!("supercargo-plan-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    let file = folder.join("kubeconfig").display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
    command.args(["up", "--listen", "127.0.0.1:0", "--write-kubeconfig", &file]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running(command.spawn().expect("the binary was built for this test"), folder);
    let lines = BufReader::new(running.0.stdout.take().expect("it is piped")).lines();
    let waits = |line: &String| line.starts_with("default/giant ") && line.contains(" waits ");
    lines.map_while(Result::ok).find(waits).expect("a pod of the sample cluster waits");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: planned}\nspec: {priorityClassName: system-cluster-critical, \
               containers: [{name: c, image: i, resources: {requests: {cpu: 10m}}}]}\n";
    for _ in 0..2 {
        let output = supercargo(&["plan", "-f", "-", "--kubeconfig", &file, "-o", "json"], pod);
        let plan: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
        assert_eq!(
            (&plan["fits"], &plan["notes"]),
            (&json!(true), &json!([])),
            "it is not there the second time"
        );
        assert!(plan["pods"][0]["node"].is_string(), "{plan}");
    }
    let capacity = supercargo(&["plan", "capacity", "-f", "-", "--kubeconfig", &file, "-o", "json"], pod);
    let told: Value = serde_json::from_slice(&capacity.stdout).expect("the answer is JSON");
    assert!(told["count"].as_u64().is_some_and(|count| count > 0), "{told}");
}
