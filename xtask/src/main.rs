//! Checks and chores of this workspace, run as `cargo xtask <name>`.

fn main() {}
