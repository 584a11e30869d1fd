//! What the driver makes of inventories.

use std::fs;
use std::process::Command;

use crate::stage::{folder, root};

fn check(inventory: &str) -> (bool, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_example-driver"))
        .args(["--check", "--inventory", inventory])
        .current_dir(root())
        .output()
        .expect("the binary was built for this test");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_example_has_gpus_in_three_forms_nics_and_an_fpga() {
    let (is_good, devices, _) = check("examples/driver/inventory.yaml");
    assert!(is_good);
    let devices: Vec<&str> = devices.lines().collect();
    let of = |begin: &str| devices.iter().filter(|name| name.starts_with(begin)).count();
    assert_eq!((of("gpu-0-mig-1g-5gb-"), of("gpu-0-mig-3g-20gb-")), (7, 2));
    assert_eq!((of("gpu-1"), of("nic-"), of("fpga-0")), (11, 2, 1), "{devices:?}");
    assert!(devices.contains(&"gpu-0") && devices.contains(&"gpu-1-vgpu"));
}

#[test]
fn a_mistake_is_shown_with_file_line_and_caret() {
    let dir = folder("inventory");
    let file = dir.join("bad.yaml");
    fs::write(&file, "gpus:\n- name: gpu\n  model: A100\n  memory: 40Gi\n  mig: [1g.5gb, 9g.5gb]\n")
        .expect("a file");
    let (is_good, _, told) = check(&file.display().to_string());
    assert!(!is_good);
    let expected = format!(
        "error: {}:5:17: \"9g.5gb\" is not a MIG profile such as 1g.5gb\n  |\n5 |   mig: [1g.5gb, 9g.5gb]\n  |                 \
                       ^\n",
        file.display()
    );
    assert_eq!(told, expected);
    fs::remove_dir_all(dir).expect("ours");
}
