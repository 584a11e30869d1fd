//! `supercargo simulate` as a user meets it: answers, complaints and exit codes.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const BAD_YAML: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [\n";

fn simulate(arguments: &[&str], stdin: &str) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("it lies two folders deep");
    let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
    command.arg("simulate").args(arguments).current_dir(root.join("examples/simulate"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary was built for this test");
    // A command that does not read its stdin may be gone by now.
    let _ = child.stdin.take().expect("it is piped").write_all(stdin.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("the answer is JSON")
}

#[test]
fn when_every_pod_has_a_node_the_exit_code_is_0() {
    let output = simulate(&["gpus.yaml", "-o", "json"], "");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let answer = answer(&output);
    let first = json!({ "namespace": "default", "name": "reader", "node": "node-1", "reason": null });
    assert_eq!((answer["pods"].as_array().map(Vec::len), &answer["pods"][0]), (Some(3), &first));
    let device =
        json!({ "request": "gpu", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0" });
    let shared = json!({ "namespace": "default", "name": "shared", "devices": [device] });
    assert_eq!(answer["claims"][0], shared);
}

#[test]
fn when_a_pod_waits_its_reason_is_told_and_the_exit_code_is_3() {
    // A folder stands for the files in it.
    let output = simulate(&[".", "-o", "json"], "");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(3), ""));
    let late = &answer(&output)["pods"][0];
    assert_eq!((&late["name"], &late["node"]), (&json!("latecomer"), &Value::Null));
    let reason = late["reason"].as_str().expect("it says why");
    assert!(reason.starts_with("0/2 nodes are available: 2 cannot allocate all claims."), "{reason}");
}

#[test]
fn yaml_says_the_same_as_json_and_stdin_is_read_once_it_is_asked_for() {
    let cluster = include_str!("../../../../examples/simulate/gpus.yaml");
    let output = simulate(&["-", "-o", "yaml"], cluster);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let yaml = schema::parse_yaml(&text(&output.stdout)).expect("the answer is YAML").value;
    assert_eq!(yaml, answer(&simulate(&["gpus.yaml", "-o", "json"], "")));
}

#[test]
fn what_cannot_be_read_is_named_with_its_line_and_the_exit_code_is_1() {
    let refused = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: []}\n";
    let typo =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  contaners:\n  - {name: c, image: i}\n";
    let many = format!("{{kind: A}}\n---\n{}\n", BAD_YAML.replace("containers: [", "containers: }"));
    let cases: [(&[&str], &str, &str); 9] = [
        (
            &["gpus.yaml", "-"],
            BAD_YAML,
            "stdin:5:15: unclosed bracket '['\n  5 |   containers: [\n    |               ^\n",
        ),
        (&["-"], &many, "stdin:7:15: misplaced bracket\n  7 |   containers: }\n    |               ^\n"),
        (&["-"], "{\"apiVersion\": \"v1\",\n \"kind\": }\n", "stdin:1: a manifest needs kind\n"),
        (
            &["gpus.yaml", "-"],
            typo,
            "stdin:5:3: unknown field \"spec.contaners\"\n  5 |   contaners:\n    |   ^\nhint: did you mean `containers`?\n",
        ),
        (&["gpus.yaml", "-"], refused, "stdin:1: spec.containers: "),
        (&["nowhere.yaml"], "", "cannot read nowhere.yaml: "),
        (
            &["-"],
            "",
            "no manifests in stdin\nhint: a manifest is an object in YAML or JSON with apiVersion and kind; ",
        ),
        (
            &["-"],
            "{apiVersion: v1, kind: Node, metadata: {name: a}}",
            "no pods to place in stdin\nhint: add a manifest of kind Pod, Deployment, StatefulSet, DaemonSet, Job, CronJob, \
             ReplicaSet or ReplicationController\n",
        ),
        (&["-"], "- kind: Pod\n", "stdin:1: a manifest is an object with apiVersion and kind\n"),
    ];
    for (arguments, stdin, expected) in cases {
        let output = simulate(arguments, stdin);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""), "{arguments:?}");
        let told = text(&output.stderr);
        assert!(told.starts_with(&format!("error: {expected}")), "{told}");
    }
}

#[test]
fn a_folder_without_manifests_is_an_error() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("without-manifests");
    std::fs::create_dir_all(&folder).expect("the test directory is writable");
    std::fs::write(folder.join("notes.txt"), "kind: Pod\n").expect("the test directory is writable");
    std::fs::write(folder.join("empty.yaml"), "# nothing\n---\n").expect("the test directory is writable");
    let path = folder.to_str().expect("the path is a text");
    let output = simulate(&["gpus.yaml", path], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).starts_with(&format!("error: no manifests in {path}\nhint: ")),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn waiting_pods_are_explained_as_explain_does_and_devices_are_summed_up() {
    let output = simulate(&[".", "--explain"], "");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(3), ""));
    let told = text(&output.stdout);
    let explained = "
pod default/latecomer waits:
  0/2 nodes are available: 2 cannot allocate all claims.";
    assert!(told.contains(explained), "{told}");
    for line in [
        "  smallest set of constraints that conflict:",
        "FRAGMENTATION",
        "gpu.example.com: 2 of 2 devices allocated (100%), 0 free",
    ] {
        assert!(told.contains(line), "{line} is not in {told}");
    }
    let answer = answer(&simulate(&[".", "--explain", "-o", "json"], ""));
    assert_eq!(answer["explanations"][0]["pod"], "default/latecomer");
    let sentence = answer["explanations"][0]["explanation"]["message"].as_str().expect("a sentence");
    assert!(told.contains(sentence), "{sentence}");
    assert_eq!(answer["inventory"]["devices"].as_array().map(Vec::len), Some(2));
}

#[test]
fn pods_that_ask_for_the_same_are_explained_once() {
    let template = "template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 99}}}]}}";
    let deployment = format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web}}, spec: {{replicas: 8, selector: {{matchLabels: {{app: x}}}}, {template}}}}}"
    );
    let output = simulate(&["gpus.yaml", "-", "--explain"], &deployment);
    assert_eq!(text(&output.stderr), "note: 8 pods from Deployment default/web\n");
    let told = text(&output.stdout);
    assert_eq!(told.matches("waits:\n").count(), 1, "{told}");
    assert!(
        told.contains("\n  7 more pods ask for the same: default/web-") && told.contains(" and 2 more\n"),
        "{told}"
    );
}

#[test]
fn a_feature_that_is_off_is_off_in_the_simulation_too() {
    let tainted = include_str!("../../../../examples/simulate/gpus.yaml")
        .replace("{name: gpu-0}", "{name: gpu-0, taints: [{key: example.com/worn, effect: NoSchedule}]}");
    assert_eq!(simulate(&["-"], &tainted).status.code(), Some(3));
    let output =
        simulate(&["-", "--feature-gates=DRADeviceTaints=false,DRADeviceTaintRules=false"], &tainted);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let output = simulate(&["-", "--feature-gates=Nothing=true"], &tainted);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: unknown feature gate Nothing\nhint: "));
}

/// A GPU of which one pod wants a part for itself, and another a part that others cannot be beside.
const SCHEMES: &str = "
{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {allocatable: {cpu: '4', memory: 4Gi, pods: '10'}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: mig}, spec: {selectors: [{cel: {expression: \"device.attributes['gpu.example.com'].kind == 'mig'\"}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: vgpu}, spec: {selectors: [{cel: {expression: \"device.attributes['gpu.example.com'].kind == 'vgpu'\"}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: counters}
spec:
  {driver: gpu.example.com, nodeName: node-1, pool: {name: node-1, generation: 1, resourceSliceCount: 2}, sharedCounters: [{name: gpu-0, counters: {memory: {value: 80Gi}}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: parts}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 2}
  devices:
  - {name: mig-0, attributes: {kind: {string: mig}}, consumesCounters: [{counterSet: gpu-0, compatibilityGroups: [mig], counters: {memory: {value: 10Gi}}}]}
  - {name: vgpu-0, attributes: {kind: {string: vgpu}}, consumesCounters: [{counterSet: gpu-0, compatibilityGroups: [vgpu], counters: {memory: {value: 10Gi}}}]}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: mig}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: mig}}]}}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: vgpu}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: vgpu}}]}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {resourceClaims: [{name: c, resourceClaimName: mig}], containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {resourceClaims: [{name: c, resourceClaimName: vgpu}], containers: [{name: c, image: i}]}}
";

#[test]
fn features_that_manifests_need_are_on_unless_they_are_turned_off_and_either_is_told() {
    let output = simulate(&["-"], SCHEMES);
    assert_eq!(output.status.code(), Some(3), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(
        text(&output.stdout).contains("0 compatible with devices that share their counters"),
        "{}",
        text(&output.stdout)
    );
    let expected = "\
note: turned on feature gate DRADeviceCompatibilityGroups, which ResourceSlice parts (stdin:14) needs
hint: a cluster has these feature gates off by default; to simulate it without one, pass --feature-gates NAME=false
";
    assert_eq!(text(&output.stderr), expected);
    let setting = "--feature-gates=DRADeviceCompatibilityGroups=true";
    let output = simulate(&["-", setting], SCHEMES);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(3), ""));
    let ignored = "so the simulation ignores what needs it in ResourceSlice";
    for setting in ["DRADeviceCompatibilityGroups=false", "AllAlpha=false"] {
        let output = simulate(&["-", "--feature-gates", setting], SCHEMES);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
        let expected = format!(
            "warning: feature gate DRADeviceCompatibilityGroups is off, {ignored} parts (stdin:14)\n"
        );
        assert_eq!(text(&output.stderr), expected);
    }
    let output = simulate(&["-", "--feature-gates", "DRAPartitionableDevices=false"], SCHEMES);
    let expected = format!(
        "warning: feature gate DRADeviceCompatibilityGroups is off, {ignored} parts (stdin:14)\n\
         warning: feature gate DRAPartitionableDevices is off, {ignored} counters (stdin:8)\n"
    );
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn what_the_answer_does_not_take_into_account_is_said_beside_it() {
    let scaler = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web}}}\n---\n{apiVersion: example.com/v1, kind: Boat, metadata: {name: p}}";
    let output = simulate(&["gpus.yaml", "-", "-o", "json"], scaler);
    assert_eq!(answer(&output), answer(&simulate(&["gpus.yaml", "-o", "json"], "")));
    let expected = "warning: ignored 1 object of the unknown kind Boat (example.com/v1)\n\
                    warning: the simulation ignores objects of kind HorizontalPodAutoscaler; a cluster would use them\n";
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn a_workload_of_an_unknown_version_is_an_error_if_nothing_else_makes_pods() {
    let node = "{apiVersion: v1, kind: Node, metadata: {name: n}}";
    let old = "{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: web}}";
    let output = simulate(&["-"], &format!("{node}\n---\n{old}"));
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.starts_with("error: stdin:3: there is no Deployment in apiVersion \"apps/v1beta1\""),
        "{said}"
    );
}

#[test]
fn pods_are_placed_by_the_profile_that_they_name() {
    let config = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scheduler.yaml");
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    let packing = "profiles:
  - schedulerName: packing
    pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]
";
    std::fs::write(&config, format!("{head}{packing}")).expect("the test directory is writable");
    let pod = |name: &str, scheduler: &str| {
        let resources = "{requests: {cpu: 1, memory: 1Gi}}";
        format!(
            "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{schedulerName: {scheduler}, \
             containers: [{{name: c, image: i, resources: {resources}}}]}}}}\n"
        )
    };
    let node = |name: &str, cpu: u32| {
        format!(
            "---\n{{apiVersion: v1, kind: Node, metadata: {{name: {name}}}, status: {{allocatable: {{cpu: {cpu}, \
             memory: {cpu}Gi, pods: 10}}}}}}\n"
        )
    };
    let cluster =
        [node("large", 16), node("small", 4), pod("p", "packing"), pod("q", "default-scheduler")].concat();
    let file = config.to_str().expect("the path is a text");
    let output = simulate(&["-", "--config", file, "-o", "json"], &cluster);
    let pods = answer(&output)["pods"].clone();
    assert_eq!((&pods[0]["node"], &pods[1]["node"]), (&json!("small"), &Value::Null), "{pods}");
    let reason = "it asks for the scheduler \"default-scheduler\", and that is not here";
    assert_eq!(pods[1]["reason"], *reason);
    let alone = answer(&simulate(&["-", "-o", "json"], &cluster));
    assert_eq!((&alone["pods"][0]["node"], &alone["pods"][1]["node"]), (&json!("large"), &json!("large")));
    std::fs::write(&config, format!("{head}profile: []\n")).expect("the test directory is writable");
    let output = simulate(&["-", "--config", file], &cluster);
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert!(told.starts_with("error: ") && told.contains("scheduler.yaml:3:1: profile: "), "{told}");
}

#[test]
fn a_pod_that_matters_more_takes_the_device_of_another_and_who_went_is_told() {
    let output = simulate(&["../preemption/gpus.yaml", "-o", "json"], "");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(3), ""), "one pod has no place");
    let answer = answer(&output);
    let pods: Vec<_> =
        answer["pods"].as_array().expect("a list").iter().map(|pod| (&pod["name"], &pod["node"])).collect();
    let (server, trainer, urgent) = (json!("server"), json!("trainer"), json!("urgent"));
    let (first, second) = (json!("node-1"), json!("node-2"));
    assert_eq!(pods, [(&server, &first), (&trainer, &Value::Null), (&urgent, &second)]);
    let reason = "it was preempted by pod default/urgent, which goes to node node-2";
    assert_eq!(answer["pods"][1]["reason"], reason);
    let claims = answer["claims"].as_array().expect("a list");
    let pool = |name: &str| {
        let claim = claims.iter().find(|claim| claim["name"] == name).expect("every claim is told of");
        claim["devices"][0]["pool"].clone()
    };
    assert_eq!((pool("server"), pool("trainer"), pool("urgent")), (first, Value::Null, second));
}
