//! A scheduler that takes part: how it is started, and what it has used so far.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use caller::Launched;
use serde_json::json;

/// A scheduler that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entrant {
    /// `supercargo scheduler`.
    Ours(PathBuf),
    /// A kube-scheduler.
    Theirs(PathBuf),
}

/// A scheduler at work. Dropped, it is killed.
pub(crate) struct AtWork {
    running: Launched,
}

/// What a scheduler has used since it was started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    /// Time on processors.
    pub(crate) cpu: Duration,
    /// The most memory that it ever held.
    pub(crate) bytes: u64,
}

impl Entrant {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Ours(_) => "supercargo",
            Self::Theirs(_) => "kube-scheduler",
        }
    }

    /// Starts it with the same configuration as any other. Both ask as often as they like: a limit of requests would be all that
    /// is measured.
    pub(crate) fn start(&self, kubeconfig: &Path, features: &[String], dir: &Path) -> anyhow::Result<AtWork> {
        let configuration = dir.join("scheduler.json");
        let document = json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": { "kubeconfig": kubeconfig, "qps": 5000, "burst": 10_000 },
            "leaderElection": { "leaderElect": false },
        });
        fs::write(&configuration, document.to_string())?;
        let mut command = match self {
            Self::Ours(path) => {
                let mut command = Command::new(path);
                command.arg("scheduler");
                command
            }
            Self::Theirs(path) => Command::new(path),
        };
        command.arg("--config").arg(configuration).arg("--secure-port=0");
        if !features.is_empty() {
            command.arg(format!("--feature-gates={}", features.join(",")));
        }
        let log = fs::File::create(dir.join("scheduler.log"))?;
        command.stdout(Stdio::null()).stderr(log);
        Ok(AtWork { running: Launched::start(&mut command)? })
    }
}

impl AtWork {
    /// What it has used so far.
    pub(crate) fn used(&mut self) -> anyhow::Result<Used> {
        ensure!(self.running.runs()?, "the scheduler has ended");
        let read = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", self.running.id()));
        let stat = read("stat").context("only Linux tells what a process has used")?;
        let cpu = ticks(&stat).context("cannot read /proc/*/stat")?;
        let status = read("status")?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = peak.and_then(|peak| peak.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        Ok(Used { cpu, bytes: kilobytes.context("cannot read /proc/*/status")? * 1024 })
    }
}

/// The time on processors that a line of /proc/PID/stat tells. Linux counts it in hundredths of a second, whatever its own clock
/// does.
fn ticks(stat: &str) -> Option<Duration> {
    // The name of the program, in parentheses, may have spaces of its own.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks(11)? + ticks(12)?) * 10))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::ticks;

    #[test]
    fn time_on_processors_is_that_in_and_out_of_the_kernel() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 10 0 0 0 250 31 9 9 20 0 5 0 100 0 0";
        assert_eq!(ticks(stat), Some(Duration::from_millis(2_810)));
        assert_eq!(ticks("7 (short) S 1"), None);
    }
}
