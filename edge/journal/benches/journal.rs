//! Measures the journal on a real disk.

fn main() {}
