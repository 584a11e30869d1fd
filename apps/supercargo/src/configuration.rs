//! The configuration file of a scheduler, with its mistakes as people read them.

use std::fs;
use std::path::Path;

use config::{Fault, SchedulerSettings};
use gates::Gates;

use crate::failure::Failure;

/// Reads a KubeSchedulerConfiguration. Each mistake is a line with its place.
pub(crate) fn read(path: &Path, gates: Gates) -> Result<SchedulerSettings, Failure> {
    let failed = |wrong: String| Failure::Failed { wrong, hint: String::new() };
    let text = fs::read_to_string(path)
        .map_err(|error| failed(format!("cannot read {}: {error}", path.display())))?;
    SchedulerSettings::read(&text, gates).map_err(|bad| {
        let told = |fault: &Fault| {
            let (file, at) = (path.display(), fault.at);
            let field = if fault.path.is_empty() { String::new() } else { format!("{}: ", fault.path) };
            format!("{file}:{}:{}: {field}{}", at.line, at.column, fault.problem)
        };
        failed(bad.faults.iter().map(told).collect::<Vec<_>>().join("\n"))
    })
}
