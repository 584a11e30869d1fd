//! The `supercargo` command.

fn main() {}
