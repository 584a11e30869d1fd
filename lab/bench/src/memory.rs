//! How much memory a process holds.

use std::fs;

/// Bytes that this process has in memory now, as Linux counts them; nothing on other systems.
pub(crate) fn resident_bytes() -> Option<u64> {
    resident_bytes_of("self")
}

/// The same of another process.
pub(crate) fn resident_bytes_of(process: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}
