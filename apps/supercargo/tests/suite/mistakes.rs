//! The likeliest mistakes, and what is answered: what is wrong, with which object, and what to do next.
//!
//! Each answer is compared as a whole, so that it is read when it changes.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is typed after `supercargo`, and what is wrong and the hint, without `error: ` and `hint: `.
type Mistake = (&'static str, &'static str, &'static str);

/// The command line is wrong: exit code 2.
const USAGE: &[Mistake] = &[
    (
        "zzz",
        "there is no command `zzz`",
        "`supercargo --help` lists the commands, `supercargo help COMMAND` describes one",
    ),
    ("upp", "there is no command `upp`", "did you mean `up`?"),
    (
        "help zzz",
        "there is no command `zzz`",
        "`supercargo --help` lists the commands, `supercargo help COMMAND` describes one",
    ),
    ("--versoin", "`--versoin` is not expected here", "did you mean `--version`?"),
    (
        "up --nodes abc",
        "invalid value 'abc' for '--nodes <N>': must be a whole number from 0 to 10000",
        "`supercargo up --help` describes its options, with examples",
    ),
    (
        "up --nodes 1000000",
        "invalid value '1000000' for '--nodes <N>': must be a whole number from 0 to 10000",
        "`supercargo up --help` describes its options, with examples",
    ),
    (
        "up --nodes -1",
        "`-1` is not expected here",
        "`supercargo up --help` describes its options, with examples",
    ),
    (
        "up --listen 6443",
        "invalid value '6443' for '--listen <ADDRESS:PORT>': must be an IP address and a port, such as 127.0.0.1:6443",
        "`supercargo up --help` describes its options, with examples",
    ),
    (
        "up --listen localhost:6443",
        "invalid value 'localhost:6443' for '--listen <ADDRESS:PORT>': must be an IP address and a port, such as 127.0.0.1:6443",
        "`supercargo up --help` describes its options, with examples",
    ),
    (
        "up --run-seconds -1",
        "invalid value '-1' for '--run-seconds <SECONDS>': must be zero or more seconds",
        "`supercargo up --help` describes its options, with examples",
    ),
    (
        "up --run-seconds soon",
        "invalid value 'soon' for '--run-seconds <SECONDS>': must be a number of seconds, such as 0.3",
        "`supercargo up --help` describes its options, with examples",
    ),
    ("up --node 3", "`--node` is not expected here", "did you mean `--nodes`?"),
    (
        "up extra",
        "`extra` is not expected here",
        "`supercargo up --help` describes its options, with examples",
    ),
    (
        "apiserver --listen 0.0.0.0:99999",
        "invalid value '0.0.0.0:99999' for '--listen <ADDRESS:PORT>': must be an IP address and a port, such as 127.0.0.1:6443",
        "`supercargo apiserver --help` describes its options, with examples",
    ),
    (
        "features --feature-gates=qwertyuiop=true",
        "unknown feature gate qwertyuiop",
        "`supercargo features` lists the gates",
    ),
    (
        "features --feature-gates=DRAAdminAcces=true",
        "unknown feature gate DRAAdminAcces",
        "the nearest known gate is DRAAdminAccess",
    ),
    (
        "features --feature-gates=DRAAdminAccess",
        "feature gate DRAAdminAccess has no value",
        "write DRAAdminAccess=true or DRAAdminAccess=false",
    ),
    (
        "features --feature-gates=DRAAdminAccess=yes",
        "feature gate DRAAdminAccess=yes has a value that is neither true nor false",
        "write DRAAdminAccess=true or DRAAdminAccess=false",
    ),
    (
        "features --feature-gates=DynamicResourceAllocation=false",
        "feature gate DynamicResourceAllocation cannot be turned off",
        "remove it, the gate is locked on",
    ),
    (
        "features --feature-gates=GangScheduling=true",
        "feature gate GangScheduling no longer exists",
        "remove it, gangs are part of GenericWorkload",
    ),
    (
        "features --feature-gates=CompositePodGroup=true",
        "feature gate CompositePodGroup is on but needs GenericWorkload,TopologyAwareWorkloadScheduling",
        "set GenericWorkload=true,TopologyAwareWorkloadScheduling=true",
    ),
    (
        "explain",
        "missing <POD|KIND/NAME>",
        "`supercargo explain --help` describes its options, with examples",
    ),
    (
        "explain service/web --state examples/devices",
        "invalid value 'service/web' for '<POD|KIND/NAME>': \"service\" is not a kind that can be explained",
        "use pod, claim, podgroup, compositepodgroup or workload",
    ),
    (
        "devices --state examples/devices --output xml",
        "invalid value 'xml' for '--output <OUTPUT>'",
        "choose one of table, wide, json, yaml",
    ),
    (
        "devices --state examples/devices --outptu wide",
        "`--outptu` is not expected here",
        "did you mean `--output`?",
    ),
    (
        "topology --state examples/devices --at yesterday",
        "invalid value 'yesterday' for '--at <TIME>': \"yesterday\" is not a time such as 2026-01-02T03:04:05Z",
        "`supercargo topology --help` describes its options, with examples",
    ),
    ("simulate", "missing <FILE>...", "`supercargo simulate --help` describes its options, with examples"),
    ("node", "missing --name <NAME>", "`supercargo node --help` describes its options, with examples"),
    (
        "node --name n1 --capacity cpu",
        "invalid value 'cpu' for '--capacity <NAME=AMOUNT>': must have the form KEY=VALUE",
        "`supercargo node --help` describes its options, with examples",
    ),
    (
        "node --name n1 --capacity cpu=many",
        "\"many\" is not a valid quantity of cpu",
        "write it as in a manifest, such as cpu=8 or memory=32Gi",
    ),
    (
        "node --name n1 --label rack",
        "invalid value 'rack' for '--label <KEY=VALUE>': must have the form KEY=VALUE",
        "`supercargo node --help` describes its options, with examples",
    ),
    (
        "controllers --controllers jobs",
        "unknown controller \"jobs\"",
        "the controllers are resourceclaim-controller, podschedulingcontext-cleaner-controller, device-taint-eviction-controller, ephemeral-volume-controller, job-controller, taint-eviction-controller, nodetopology-controller, node-lifecycle-controller, supercargo-workload-controller, pod-garbage-collector-controller, podgroup-protection-controller, persistentvolume-binder-controller, workload-controller",
    ),
    (
        "controllers --node-monitor-grace-period 50",
        "invalid value '50' for '--node-monitor-grace-period <TIME>': each number needs a unit: ns, us, ms, s, m or h",
        "`supercargo controllers --help` describes its options, with examples",
    ),
    (
        "scheduler --leader-elect=maybe",
        "invalid value 'maybe' for '--leader-elect [<BOOL>]'",
        "choose one of true, false",
    ),
    (
        "scheduler --secure-port 99999",
        "invalid value '99999' for '--secure-port <PORT>': 99999 is not in 0..=65535",
        "`supercargo scheduler --help` describes its options, with examples",
    ),
    (
        "scheduler --logging-format xml",
        "invalid value 'xml' for '--logging-format <FORMAT>': \"xml\" is not a log format",
        "choose text or json",
    ),
    (
        "fabric",
        "missing --manager <URL> and --driver <NAME>",
        "`supercargo fabric --help` describes its options, with examples",
    ),
    (
        "fabric --manager http://127.0.0.1:1 --driver d --hand-over later",
        "invalid value 'later' for '--hand-over <HOW>'",
        "choose one of in-place, re-pick",
    ),
    ("crds -o table", "invalid value 'table' for '--output <OUTPUT>'", "choose one of yaml, json"),
];

/// The command line is right, and something that it names is not: exit code 1.
const FAILED: &[Mistake] = &[
    (
        "record -o -",
        "a recording cannot be written to stdout",
        "name a file: supercargo record -o cluster.recording",
    ),
    (
        "explain x --state examples/devices",
        "pod default/x not found",
        "check the name, and the namespace with -n",
    ),
    (
        "explain latecomr -n team-b --state examples/devices",
        "pod team-b/latecomr not found",
        "did you mean `latecomer`?",
    ),
    (
        "explain latecomer --state examples/devices",
        "pod default/latecomer not found",
        "namespace team-b has one of this name: use -n team-b",
    ),
    (
        "explain claim/train --state examples/devices",
        "claim default/train not found",
        "namespace team-a has one of this name: use -n team-a",
    ),
    (
        "devices --state examples/devices --class gpuu",
        "there is no DeviceClass \"gpuu\"",
        "did you mean `gpu`?",
    ),
    ("devices --state examples/devices --node nod-1", "there is no node \"nod-1\"", "did you mean `node-1`?"),
    (
        "devices --state examples/devices --driver amd",
        "there is no driver \"amd\"",
        "choose one of gpu.example.com, nic.example.com, recorder.example.com",
    ),
    (
        "topology --state examples/devices --level example.com/rak",
        "no node has the label \"example.com/rak\"",
        "did you mean `example.com/rack`?",
    ),
    (
        "topology --state examples/devices --level floor",
        "no node has the label \"floor\"",
        "choose one of example.com/rack, kubernetes.io/hostname, topology.kubernetes.io/zone",
    ),
    (
        "scheduler --kubeconfig nowhere",
        "cannot use the kubeconfig nowhere: failed to read kubeconfig from '\"nowhere\"': No such file or directory (os error 2)",
        "choose another file, or check it with `kubectl config view --kubeconfig nowhere`",
    ),
    (
        "scheduler",
        "cannot use the service account of the pod: failed to read an incluster environment variable: environment variable not found",
        "run in a pod with a service account, or set --kubeconfig",
    ),
    (
        "fabric --manager ftp://fabric --driver d",
        "cannot use \"ftp://fabric\" as the URL of a fabric manager: it must begin with https:// or http://",
        "write it as http://127.0.0.1:8008",
    ),
    (
        "apiserver --data-dir README.md --listen 127.0.0.1:0",
        "cannot create README.md/journal: Not a directory (os error 20)",
        "choose a directory with --data-dir",
    ),
    (
        "node --name n1 --kubeconfig nowhere",
        "cannot use the kubeconfig nowhere: failed to read kubeconfig from '\"nowhere\"': No such file or directory (os error 2)",
        "choose another file, or check it with `kubectl config view --kubeconfig nowhere`",
    ),
];

fn root() -> PathBuf {
    let ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    ancestors.into_iter().nth(2).expect("the crate lies two folders deep").to_owned()
}

/// The exit code, and what is written to stderr. Nothing may be written to stdout.
fn answer(line: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
    command.args(line.split_whitespace()).current_dir(root());
    // No cluster of the machine on which this runs is to be found.
    command.env("HOME", "/nonexistent").env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST");
    let output = command.output().expect("the binary was built for this test");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{line}");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn check(code: i32, mistakes: &[Mistake]) {
    let mut wrong = String::new();
    for (line, error, hint) in mistakes {
        let expected = format!("error: {error}\nhint: {hint}\n");
        let actual = answer(line);
        if actual != (Some(code), expected.clone()) {
            wrong
                .push_str(&format!("$ supercargo {line}\nexpected {code}:\n{expected}actual {actual:?}\n\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_wrong_command_line_is_explained() {
    check(2, USAGE);
}

#[test]
fn a_wrong_name_is_explained() {
    check(1, FAILED);
}

#[test]
fn a_port_in_use_is_named_with_what_to_do() {
    let held = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = held.local_addr().expect("it listens");
    let advice = "stop the process that uses the port, or choose another with --listen";
    for command in ["apiserver", "up --no-examples"] {
        let expected = format!(
            "error: cannot listen on {address}: Address already in use (os error 98)\nhint: {advice}\n"
        );
        assert_eq!(answer(&format!("{command} --listen {address}")), (Some(1), expected), "{command}");
    }
}
