//! The example of a composable fabric runs by itself, and shows what it says that it shows.

use std::path::Path;
use std::process::Command;

#[test]
fn devices_are_attached_waited_for_and_detached_in_the_example() {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate lies two folders deep");
    let output = Command::new("sh")
        .arg(root.join("examples/fabric/run.sh"))
        .env("SUPERCARGO", env!("CARGO_BIN_EXE_supercargo"))
        .output()
        .expect("there is a shell");
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{complained}");
    for word in ["waits until", "attached", "is ready to be used", "detached"] {
        let lines = said.lines().filter(|line| line.contains(word) && !line.starts_with("what"));
        assert!(lines.count() >= 3, "each of three pods should have {word:?}: {said}");
    }
    assert!(said.ends_with("every device is back in the fabric\n"), "{said}");
}

#[test]
fn wrong_addresses_and_inventories_are_told_before_anything_starts() {
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_supercargo")).args(arguments).output();
        let output = output.expect("the binary was built for this test");
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let answer = run(&["fabric", "--manager", "nowhere", "--driver", "gpu.example.com"]);
    assert!(answer.starts_with("error: cannot use \"nowhere\" as the URL of a fabric manager"), "{answer}");
    let answer = run(&["fabric-emulator", "--inventory", "/dev/null"]);
    assert!(answer.starts_with("error: /dev/null: cannot read the inventory of the fabric"), "{answer}");
}
