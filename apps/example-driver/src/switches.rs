//! Switches that make the driver fail, one for each step, from the command line or from a file that may change at any time.
//!
//! Invariant: the file is read whenever a switch is looked at, and what it does not set is as the command line says.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Deserialize;

/// How often the control file is looked at.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How claims are prepared.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Prepare {
    /// As they should be
    #[default]
    Ok,
    /// Each call fails
    Fail,
    /// No call ends while this is so
    Hang,
    /// The process ends in the middle of a call, with the CDI file written
    Crash,
    /// The answer is about another claim
    WrongUid,
    /// The answer names each device twice
    DuplicateDevice,
    /// The answer has more than 4 MiB, which is more than a kubelet takes
    Oversize,
}

/// How claims are unprepared.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Unprepare {
    /// As they should be
    #[default]
    Ok,
    /// Each call fails
    Fail,
    /// No call ends while this is so
    Hang,
    /// The process ends in the middle of a call, with the CDI file still there
    Crash,
}

/// How devices are published.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Publish {
    /// As they should be
    #[default]
    Ok,
    /// With a device whose name is bad, which is refused; what was published before stays
    Fail,
    /// Not at all: what was published is withdrawn
    Nothing,
}

/// How the driver registers.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Register {
    /// As it should
    #[default]
    Ok,
    /// With a name that no driver may have
    BadName,
}

/// How the controller negotiates.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Negotiate {
    /// As it should
    #[default]
    Ok,
    /// It gives nothing, whatever it said before
    Fail,
    /// It says of every node the opposite
    Wrong,
    /// It neither answers nor gives anything while this is so
    Dead,
}

/// Switches as people type them.
#[derive(Args, Clone, Debug)]
pub(crate) struct Flags {
    /// How to prepare claims
    #[arg(long, value_enum, default_value = "ok", value_name = "HOW")]
    prepare: Prepare,
    /// How to unprepare claims
    #[arg(long, value_enum, default_value = "ok", value_name = "HOW")]
    unprepare: Unprepare,
    /// How to publish devices
    #[arg(long, value_enum, default_value = "ok", value_name = "HOW")]
    publish: Publish,
    /// How to register with the kubelet
    #[arg(long, value_enum, default_value = "ok", value_name = "HOW")]
    register: Register,
    /// How to negotiate, as a controller
    #[arg(long, value_enum, default_value = "ok", value_name = "HOW")]
    negotiate: Negotiate,
    /// How long each call takes, in milliseconds
    #[arg(long, default_value_t = 0, value_name = "MS")]
    delay_ms: u64,
    /// Devices that are not well; can be repeated
    #[arg(long, value_name = "DEVICE")]
    unhealthy: Vec<String>,
    /// A file in YAML with any of these switches, such as `prepare: hang`; may change at any time
    #[arg(long, value_name = "FILE")]
    control: Option<PathBuf>,
}

/// Switches as the control file sets them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct Control {
    prepare: Option<Prepare>,
    unprepare: Option<Unprepare>,
    publish: Option<Publish>,
    register: Option<Register>,
    negotiate: Option<Negotiate>,
    delay_ms: Option<u64>,
    unhealthy: Option<BTreeSet<String>>,
}

/// Switches at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Switches {
    pub(crate) prepare: Prepare,
    pub(crate) unprepare: Unprepare,
    pub(crate) publish: Publish,
    pub(crate) register: Register,
    pub(crate) negotiate: Negotiate,
    pub(crate) delay: Duration,
    pub(crate) unhealthy: BTreeSet<String>,
}

impl Flags {
    /// The switches as they are now.
    ///
    /// # Errors
    /// What is wrong with the control file. That there is none sets nothing.
    pub(crate) fn now(&self) -> Result<Switches, String> {
        let control = match &self.control {
            None => Control::default(),
            Some(path) => match fs::read_to_string(path) {
                Ok(text) if text.trim().is_empty() => Control::default(),
                Ok(text) => serde_saphyr::from_str(&text)
                    .map_err(|error| format!("{} is not a valid control file: {error}", path.display()))?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => Control::default(),
                Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
            },
        };
        Ok(Switches {
            prepare: control.prepare.unwrap_or(self.prepare),
            unprepare: control.unprepare.unwrap_or(self.unprepare),
            publish: control.publish.unwrap_or(self.publish),
            register: control.register.unwrap_or(self.register),
            negotiate: control.negotiate.unwrap_or(self.negotiate),
            delay: Duration::from_millis(control.delay_ms.unwrap_or(self.delay_ms)),
            unhealthy: control.unhealthy.unwrap_or_else(|| self.unhealthy.iter().cloned().collect()),
        })
    }
}
