//! What this process takes from the machine, as the kernel tells it. Where there is no `/proc`, nothing is written.

use std::fs;

use super::family::heading;
use super::number;

/// The unit of the kernel's clock in `/proc`; it is the same on every machine that we build for.
const TICKS_PER_SECOND: f64 = 100.0;

/// Adds the metrics that every exporter has of itself.
pub(super) fn write(out: &mut String) {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let stat = read("/proc/self/stat");
    let boot = boot_seconds(&read("/proc/stat"));
    let status = read("/proc/self/status");
    let limits = read("/proc/self/limits");
    let open = fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as f64);
    let started = boot.zip(ticks(&stat, 22)).map(|(boot, ticks)| boot + ticks / TICKS_PER_SECOND);
    let spent = ticks(&stat, 14).zip(ticks(&stat, 15)).map(|(user, own)| (user + own) / TICKS_PER_SECOND);
    let all = [
        ("process_cpu_seconds_total", "Total user and system CPU time spent, in seconds.", "counter", spent),
        ("process_max_fds", "Maximum number of open file descriptors.", "gauge", files_max(&limits)),
        ("process_open_fds", "Number of open file descriptors.", "gauge", open),
        (
            "process_resident_memory_bytes",
            "Resident memory size, in bytes.",
            "gauge",
            bytes(&status, "VmRSS:"),
        ),
        (
            "process_start_time_seconds",
            "Start time of the process since unix epoch, in seconds.",
            "gauge",
            started,
        ),
        (
            "process_virtual_memory_bytes",
            "Virtual memory size, in bytes.",
            "gauge",
            bytes(&status, "VmSize:"),
        ),
    ];
    for (name, help, kind, value) in all {
        if let Some(value) = value {
            heading(out, name, help, kind);
            out.push_str(&format!("{name} {}\n", number::text(value)));
        }
    }
}

/// A field of `/proc/self/stat` by its number in the kernel's manual, from the third on. The second is the name of the
/// program in brackets, which may hold anything.
fn ticks(stat: &str, field: usize) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(field.checked_sub(3)?)?.parse().ok()
}

fn boot_seconds(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// A line such as `VmRSS:    1234 kB`.
fn bytes(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0)
}

/// A line such as `Max open files            1024                 4096                 files`.
fn files_max(limits: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{boot_seconds, bytes, files_max, ticks};

    #[test]
    fn fields_are_found_behind_a_name_with_brackets_and_spaces() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 9 0 0 0 250 50 0 0 20 0 3 0 123456 1 1";
        assert_eq!(ticks(stat, 14), Some(250.0));
        assert_eq!(ticks(stat, 15), Some(50.0));
        assert_eq!(ticks(stat, 22), Some(123_456.0));
        assert_eq!(ticks("", 14), None);
    }

    #[test]
    fn what_the_kernel_tells_is_read_in_its_units() {
        assert_eq!(bytes("VmPeak: 9 kB\nVmRSS:\t    1234 kB\n", "VmRSS:"), Some(1_263_616.0));
        assert_eq!(boot_seconds("cpu 1 2\nbtime 1700000000\n"), Some(1_700_000_000.0));
        assert_eq!(
            files_max("Max open files            1024                 4096                 files"),
            Some(1024.0)
        );
        assert_eq!(
            files_max("Max open files            unlimited            unlimited            files"),
            None
        );
    }
}
