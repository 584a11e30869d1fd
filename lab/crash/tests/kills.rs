//! The crash test in short: the long form is `cargo run --release -p crash`.

use std::process::Command;

#[test]
fn a_server_that_is_killed_three_times_keeps_what_it_acknowledged() {
    let run = Command::new(env!("CARGO_BIN_EXE_crash")).args(["--kills", "3", "--seed", "7"]).output();
    let run = run.expect("the crash test can be run");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    let acknowledged =
        said.lines().find_map(|line| line.strip_prefix("writes acknowledged")?.trim().parse().ok());
    assert!(acknowledged.is_some_and(|count: u64| count > 0), "nothing was written: {said}");
}
