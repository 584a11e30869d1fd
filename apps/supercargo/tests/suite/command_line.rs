//! The command as a user meets it: what goes to stdout, what to stderr, and the exit code.

use std::io::pipe;
use std::net::{SocketAddr, TcpStream};
use std::process::{self, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;
use std::{env, fs};

fn supercargo() -> Command {
    Command::new(env!("CARGO_BIN_EXE_supercargo"))
}

fn run(arguments: &[&str]) -> Output {
    supercargo().args(arguments).output().expect("the binary was built for this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn answers_go_to_stdout_and_nothing_to_stderr() {
    for arguments in
        [&["--help"][..], &["up", "--help"], &["help", "up"], &["--version"], &["crds"], &["features"]]
    {
        let output = run(arguments);
        assert!(output.status.success(), "{arguments:?}");
        assert!(!output.stdout.is_empty(), "{arguments:?} answers nothing");
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn the_version_is_one_line() {
    assert_eq!(text(&run(&["--version"]).stdout), format!("supercargo {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_version_tells_the_apis_and_is_json_for_programs() {
    let answer = text(&run(&["version"]).stdout);
    let first = format!("supercargo  {}\n", env!("CARGO_PKG_VERSION"));
    assert!(answer.starts_with(&first) && answer.contains("kubernetes  v1."), "{answer}");
    assert!(answer.contains("supercargo.dev/v1alpha1: DeviceAttachment, NodeTopology"), "{answer}");
    let json: serde_json::Value =
        serde_json::from_slice(&run(&["version", "-o", "json"]).stdout).expect("the answer is JSON");
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["apis"][0]["kinds"][0], "DeviceAttachment");
}

#[test]
fn shells_complete_commands_and_their_options() {
    for (shell, word) in
        [("bash", "complete -F"), ("zsh", "#compdef supercargo"), ("fish", "complete -c supercargo")]
    {
        let output = run(&["completion", shell]);
        let script = text(&output.stdout);
        assert!(output.status.success() && script.contains(word), "{shell}: {script}");
        assert!(script.contains("fabric-emulator") && script.contains("leader-elect"), "{shell}");
    }
    // Where the shell is there, it is asked whether it can read its script.
    let script = run(&["completion", "bash"]).stdout;
    let path = env::temp_dir().join(format!("supercargo-completion-{}", process::id()));
    fs::write(&path, script).expect("a file can be written");
    if let Ok(read) = Command::new("bash").arg("-n").arg(&path).status() {
        assert!(read.success(), "bash cannot read the script");
    }
    fs::remove_file(&path).expect("it is ours");
}

#[test]
fn manual_pages_are_written_to_a_folder() {
    let folder = env::temp_dir().join(format!("supercargo-man-{}", process::id()));
    let output = supercargo().args(["man", "--dir"]).arg(&folder).output().expect("the binary was built");
    assert!(output.status.success());
    let page = fs::read_to_string(folder.join("supercargo-scheduler.1")).expect("each command has a page");
    assert!(page.contains(".TH supercargo-scheduler 1"), "{page}");
    fs::remove_dir_all(&folder).expect("it is ours");
}

#[test]
fn a_wrong_command_line_goes_to_stderr_with_a_hint_and_exit_code_2() {
    let output = run(&["upp"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(text(&output.stderr), "error: there is no command `upp`\nhint: did you mean `up`?\n");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for arguments in [&["--help"][..], &["--version"], &["crds"], &["features"]] {
        let (reader, writer) = pipe().expect("a pipe can be made");
        drop(reader);
        let output =
            supercargo().args(arguments).stdout(writer).output().expect("the binary was built for this test");
        assert!(output.status.success(), "{arguments:?}: {}", output.status);
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn crds_are_one_document_for_each_of_our_kinds() {
    let answer = text(&run(&["crds"]).stdout);
    let names: Vec<&str> = answer.split("---\n").filter_map(name_of_definition).collect();
    let expected = ["deviceattachments", "nodetopologies", "podschedulingcontexts", "workloads"]
        .map(|plural| format!("{plural}.supercargo.dev"));
    assert_eq!(names, expected);
    let json: serde_json::Value =
        serde_json::from_slice(&run(&["crds", "-o", "json"]).stdout).expect("the answer is JSON");
    assert_eq!(json["items"].as_array().map(Vec::len), Some(4));
}

/// The first name in a document, which is that of its metadata.
fn name_of_definition(document: &str) -> Option<&str> {
    document.lines().find_map(|line| line.strip_prefix("  name: "))
}

#[test]
fn features_say_what_a_setting_leads_to() {
    let answer = text(&run(&["features", "--feature-gates=DRAResourcePoolStatus=true"]).stdout);
    let line =
        answer.lines().find(|line| line.starts_with("DRAResourcePoolStatus ")).expect("each gate has a line");
    assert!(line.contains(" off        on "), "{line}");
    let output = run(&["features", "--feature-gates", "DRAResourcePoolStats=true"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    let expected = "error: unknown feature gate DRAResourcePoolStats\nhint: the nearest known gate is DRAResourcePoolStatus\n";
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn a_server_goes_on_when_its_stdout_is_closed() {
    let path = env::temp_dir().join(format!("supercargo-kubeconfig-{}", process::id()));
    let (reader, writer) = pipe().expect("a pipe can be made");
    drop(reader);
    let mut command = supercargo();
    command.args(["apiserver", "--listen", "127.0.0.1:0", "--write-kubeconfig"]).arg(&path);
    let mut server = command.stdout(writer).stderr(Stdio::null()).spawn().expect("the binary was built");
    // The kubeconfig is written before anything is said, so the server has found the pipe closed a moment later.
    let address = wait(|| {
        let text = fs::read_to_string(&path).ok()?;
        let address = text.lines().find_map(|line| line.trim().strip_prefix("server: https://"))?;
        address.parse::<SocketAddr>().ok()
    });
    for _ in 0..5 {
        sleep(Duration::from_millis(50));
        assert!(server.try_wait().expect("it is ours").is_none(), "the server ended");
        TcpStream::connect(address).expect("the server listens");
    }
    server.kill().and_then(|()| server.wait()).expect("it is ours");
    fs::remove_file(&path).expect("it is ours");
}

/// Looks until there is something to see.
fn wait<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..500 {
        if let Some(seen) = look() {
            return seen;
        }
        sleep(Duration::from_millis(20));
    }
    unreachable!("nothing was seen in ten seconds")
}

#[test]
fn a_node_says_what_is_wrong_with_its_directory_its_amounts_and_its_kubeconfig() {
    let amount = run(&["node", "--name", "n", "--capacity", "cpu=many"]);
    assert_eq!(amount.status.code(), Some(2));
    let hint = "hint: write it as in a manifest, such as cpu=8 or memory=32Gi\n";
    assert_eq!(text(&amount.stderr), format!("error: \"many\" is not a valid quantity of cpu\n{hint}"));

    let lost = run(&["node", "--name", "n", "--kubeconfig", "nowhere"]);
    assert_eq!(lost.status.code(), Some(1));
    assert!(text(&lost.stderr).contains("cannot use the kubeconfig nowhere"), "{}", text(&lost.stderr));

    let folder = env::temp_dir().join(format!("supercargo-node-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let kubeconfig = folder.join("kubeconfig");
    let context = "contexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c";
    let cluster =
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\nusers: [{name: u, user: {}}]";
    fs::write(&kubeconfig, format!("apiVersion: v1\nkind: Config\n{cluster}\n{context}\n")).expect("a file");
    fs::write(folder.join("root"), "a file and no folder").expect("a file");
    let root = folder.join("root").display().to_string();
    let kubeconfig = kubeconfig.display().to_string();
    let taken = run(&["node", "--name", "n", "--kubeconfig", &kubeconfig, "--root-dir", &root]);
    assert_eq!(taken.status.code(), Some(1));
    let said = text(&taken.stderr);
    assert!(
        said.contains("for the state of the node") && said.contains("hint: choose another with --root-dir"),
        "{said}"
    );
    fs::remove_dir_all(&folder).expect("it is there");
}
