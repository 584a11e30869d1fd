//! Files that a server leaves for others and for its next start: kubeconfigs, keys, and the journal beside them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Output, Stdio};

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("supercargo-files-{name}-{}", process::id()));
        fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is left to the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A cluster that goes when it is dropped, and where it says its kubeconfig is.
struct Running(Child, PathBuf);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn up(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
    command.args(["up", "--no-examples", "--listen", "127.0.0.1:0"]).args(arguments);
    command.env("XDG_STATE_HOME", &folder.0).stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    command
}

fn start(folder: &Folder, arguments: &[&str]) -> Running {
    let mut child = up(folder, arguments).spawn().expect("the binary was built for this test");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let path = lines.find_map(|line| line.ok()?.strip_prefix("kubeconfig  ").map(PathBuf::from));
    Running(child, path.expect("it says where the kubeconfig is"))
}

fn settle(folder: &Folder, arguments: &[&str]) -> Output {
    up(folder, arguments).arg("--exit-when-settled").output().expect("it ends")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("the file is ours");
}

#[test]
fn a_second_cluster_leaves_the_kubeconfig_of_the_first_alone() {
    let folder = Folder::new("second");
    let first = start(&folder, &[]);
    let written = fs::read_to_string(&first.1).expect("it is there");
    let second = start(&folder, &[]);
    assert_eq!(second.1, first.1.with_file_name("kubeconfig-2"));
    let named = settle(&folder, &["--write-kubeconfig", &first.1.display().to_string()]);
    let said = String::from_utf8_lossy(&named.stderr).into_owned();
    assert_eq!(named.status.code(), Some(1));
    let expected =
        format!("error: {} is the kubeconfig of another running server\nhint: ", first.1.display());
    assert!(said.starts_with(&expected) && said.contains("--write-kubeconfig"), "{said}");
    assert_eq!(fs::read_to_string(&first.1).expect("it is there"), written, "and nobody touched it");
    assert_eq!((mode(&first.1), mode(&second.1)), (0o600, 0o600));

    // A server that is gone, however it went, leaves its name to the next.
    let path = first.1.clone();
    drop(first);
    open_to_all(&path);
    let third = start(&folder, &[]);
    assert_eq!((&third.1, mode(&path)), (&path, 0o600));
    assert_ne!(fs::read_to_string(&path).expect("it is there"), written);
}

#[test]
fn a_kubeconfig_that_is_not_ours_is_not_overwritten() {
    let folder = Folder::new("foreign");
    let path = folder.0.join("config");
    let theirs = "apiVersion: v1\nkind: Config\ncurrent-context: production\n";
    fs::write(&path, theirs).expect("the folder is ours");
    let name = path.display().to_string();
    for command in ["up", "apiserver"] {
        let mut server = Command::new(env!("CARGO_BIN_EXE_supercargo"));
        server.args([command, "--listen", "127.0.0.1:0", "--write-kubeconfig", &name]).stdin(Stdio::null());
        let refused = server.env("XDG_STATE_HOME", &folder.0).output().expect("it ends");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{command}: {said}");
        let expected =
            format!("error: {name} exists, and supercargo did not write it\nhint: choose another file");
        assert!(said.contains(&expected), "{command}: {said}");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), theirs, "{command}");
    }
    fs::write(&path, "").expect("the file is ours");
    assert_eq!(settle(&folder, &["--write-kubeconfig", &name]).status.code(), Some(0));
    assert_eq!(settle(&folder, &["--write-kubeconfig", &name]).status.code(), Some(0), "it is ours now");
}

#[test]
fn keys_without_a_journal_are_no_fresh_start() {
    let folder = Folder::new("keys");
    let data_dir = folder.0.join("data");
    let (journal, pki) = (data_dir.join("journal"), data_dir.join("pki"));
    let arguments = ["--data-dir", &data_dir.display().to_string()];
    assert_eq!(settle(&folder, &arguments).status.code(), Some(0));
    open_to_all(&pki.join("admin.key"));
    assert_eq!(settle(&folder, &arguments).status.code(), Some(0), "the journal is there");
    assert_eq!(mode(&pki.join("admin.key")), 0o600, "a key is private again");

    for entry in fs::read_dir(&journal).expect("it is there") {
        let path = entry.expect("it can be read").path();
        if path.extension().is_some() {
            fs::remove_file(path).expect("the file is ours");
        }
    }
    for turn in ["without segments", "without its directory"] {
        let refused = settle(&folder, &arguments);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{turn}: {said}");
        let expected = format!(
            "the journal in {} is missing\nhint: restore the journal from a backup",
            journal.display()
        );
        assert!(said.contains(&expected), "{turn}: {said}");
        fs::remove_dir_all(&journal).or_else(|_| fs::create_dir(&journal)).expect("the folder is ours");
    }
    fs::remove_dir_all(&pki).expect("the folder is ours");
    let _ = fs::remove_dir_all(&journal);
    assert_eq!(settle(&folder, &arguments).status.code(), Some(0), "and without keys all is new");
}
