//! How an engine is started: its settings as people wrote them, and what else its decisions depend on.

use std::sync::Arc;

use config::SchedulerSettings;
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::{Gate, Gates};
use model::timestamp::Timestamp;
use scheduler::engine::Engine;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::line::UnreadableLine;

/// How an engine is started.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EngineStart {
    /// When, in microseconds.
    pub at: i64,
    /// A number that no other engine of the recording has.
    pub engine: u64,
    /// The version of the program.
    pub version: String,
    /// The features that are on.
    pub gates: Vec<String>,
    /// The settings.
    pub settings: StartSettings,
    /// How many considerations may be under way at once.
    pub considerations_max: usize,
    /// How much work is done at once for a pod or gang, if not as much as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_max: Option<u64>,
}

/// Settings of an engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum StartSettings {
    /// Those of a KubeSchedulerConfiguration.
    Configuration(Value),
    /// One profile about which nothing was said but its name.
    #[serde(rename_all = "camelCase")]
    Plain {
        /// The name.
        profile: String,
        /// How many steps a search for devices on one node may take.
        search_steps_max: u64,
    },
}

impl EngineStart {
    /// An engine of this version that starts at a time with these features and settings.
    #[must_use]
    pub fn new(at: Timestamp, engine: u64, gates: Gates, settings: StartSettings) -> EngineStart {
        EngineStart {
            at: at.micros(),
            engine,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            gates: gates.iter().map(|gate| gate.name().to_owned()).collect(),
            settings,
            considerations_max: 1,
            slice_max: None,
        }
    }

    /// Whether this version recorded it, so that nothing may differ.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.version == env!("CARGO_PKG_VERSION")
    }

    /// The features that are on.
    ///
    /// # Errors
    /// This version does not know one of them.
    pub fn features(&self) -> Result<Gates, UnreadableLine> {
        let unknown = |name: &String| {
            UnreadableLine(format!("it was recorded with feature {name}, which this version does not have"))
        };
        self.gates.iter().map(|name| Gate::named(name).ok_or_else(|| unknown(name))).collect()
    }

    /// The settings.
    ///
    /// # Errors
    /// They mean nothing to this version.
    pub fn settings(&self) -> Result<Settings, UnreadableLine> {
        let gates = self.features()?;
        match &self.settings {
            StartSettings::Configuration(document) => {
                let read = SchedulerSettings::read(&document.to_string(), gates);
                let read = read.map_err(|bad| {
                    let why = bad.faults.first().map(|fault| format!("{}: {}", fault.path, fault.problem));
                    UnreadableLine(format!(
                        "its configuration is not valid here: {}",
                        why.unwrap_or_default()
                    ))
                })?;
                Ok(crate::settings(&read, gates))
            }
            StartSettings::Plain { profile, search_steps_max } => Ok(Settings {
                profiles: vec![Arc::new(Profile::named(profile))],
                gates,
                patience: Patience::default(),
                search_steps_max: *search_steps_max,
            }),
        }
    }

    /// The engine.
    ///
    /// # Errors
    /// Its settings mean nothing to this version.
    pub fn engine(&self) -> Result<Engine, UnreadableLine> {
        let engine = Engine::new(self.settings()?).with_considerations_max(self.considerations_max);
        Ok(match self.slice_max {
            Some(nanos) => engine.with_slice_max(nanos),
            None => engine,
        })
    }
}
