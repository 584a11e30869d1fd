//! Texts such as `DRAResourcePoolStatus=true,AllBeta=false` to sets of gates.
//!
//! Invariant: what comes out keeps every lock and satisfies every dependency.

use std::collections::BTreeMap;
use std::str::FromStr;

use model::nearest::near;
use thiserror::Error;

use crate::{FeatureStage, Gate, Gates, Preset};

/// Sets all alpha gates that are not set by name.
const ALL_ALPHA: &str = "AllAlpha";
/// Sets all beta gates that are not set by name.
const ALL_BETA: &str = "AllBeta";

/// Gates of earlier releases whose behaviour lives on without them, and where it went.
const RETIRED: [(&str, &str); 3] = [
    ("GangScheduling", "gangs are part of GenericWorkload"),
    ("SchedulerQueueingHints", "queueing hints are always on"),
    ("WorkloadAwarePreemption", "preemption of and by gangs is part of GenericWorkload"),
];

/// Why a text does not describe a set of gates.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GateError {
    /// No gate has this name.
    #[error("unknown feature gate {name}; hint: {}", advice(*nearest))]
    Unknown {
        /// The name as written.
        name: String,
        /// The known name that is near, if one is.
        nearest: Option<&'static str>,
    },
    /// The gate existed once.
    #[error("feature gate {name} no longer exists; hint: remove it, {instead}")]
    Retired {
        /// The name.
        name: &'static str,
        /// Where its behaviour went.
        instead: &'static str,
    },
    /// The item is a name alone.
    #[error("feature gate {item} has no value; hint: write {item}=true or {item}=false")]
    NoValue {
        /// The item as written.
        item: String,
    },
    /// The value is no boolean.
    #[error(
        "feature gate {item} has a value that is neither true nor false; hint: write {name}=true or {name}=false"
    )]
    BadValue {
        /// The item as written.
        item: String,
        /// The name in it.
        name: String,
    },
    /// The gate cannot be changed.
    #[error("feature gate {gate} cannot be turned off; hint: remove it, the gate is locked on")]
    Locked {
        /// The gate.
        gate: Gate,
    },
    /// The gate is on and something it needs is not.
    #[error(
        "feature gate {gate} is on but needs {}; hint: set {}",
        names(missing, ""),
        names(missing, "=true")
    )]
    Needs {
        /// The gate.
        gate: Gate,
        /// What it needs and what is off.
        missing: Vec<Gate>,
    },
}

fn advice(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("the nearest known gate is {nearest}"),
        None => "`supercargo features` lists the gates".to_owned(),
    }
}

fn names(gates: &[Gate], after: &str) -> String {
    let names: Vec<_> = gates.iter().map(|gate| format!("{gate}{after}")).collect();
    names.join(",")
}

impl FromStr for Gates {
    type Err = GateError;

    /// Applies the settings to the defaults. Empty items are skipped and the last setting of a name counts.
    fn from_str(text: &str) -> Result<Self, GateError> {
        Settings::parse(text)?.apply()
    }
}

impl Gates {
    /// Applies the settings to the defaults and turns on what is needed besides, with all that it needs itself, as far as no
    /// setting turns it off. What was turned on is told, in the order of needs.
    ///
    /// # Errors
    /// The settings do not describe a set of gates.
    pub fn with_needed(
        text: &str,
        needed: impl IntoIterator<Item = Gate>,
    ) -> Result<(Self, Vec<Gate>), GateError> {
        let mut settings = Settings::parse(text)?;
        let mut turned_on = Vec::new();
        for gate in needed {
            if settings.may_be_on(gate) {
                settings.turn_on(gate, &mut turned_on);
            }
        }
        Ok((settings.apply()?, turned_on))
    }
}

#[derive(Default)]
struct Settings {
    all_alpha: Option<bool>,
    all_beta: Option<bool>,
    by_name: BTreeMap<Gate, bool>,
}

impl Settings {
    fn parse(text: &str) -> Result<Self, GateError> {
        let mut settings = Self::default();
        for item in text.split(',').filter(|item| !item.is_empty()) {
            settings.read(item)?;
        }
        Ok(settings)
    }

    /// What is said of a gate, by its name or by its stage.
    fn said(&self, gate: Gate) -> Option<bool> {
        let by_stage = match gate.spec().stage {
            FeatureStage::Alpha => self.all_alpha,
            FeatureStage::Beta => self.all_beta,
            FeatureStage::Ga => None,
        };
        self.by_name.get(&gate).copied().or(by_stage)
    }

    /// Whether nothing turns the gate off, or another that it needs.
    fn may_be_on(&self, gate: Gate) -> bool {
        self.said(gate) != Some(false) && gate.spec().needs.iter().all(|need| self.may_be_on(*need))
    }

    fn turn_on(&mut self, gate: Gate, turned_on: &mut Vec<Gate>) {
        for need in gate.spec().needs {
            self.turn_on(*need, turned_on);
        }
        if self.said(gate).is_none() && !gate.spec().preset.is_on() {
            self.by_name.insert(gate, true);
            turned_on.push(gate);
        }
    }

    fn read(&mut self, item: &str) -> Result<(), GateError> {
        let Some((name, value)) = item.split_once('=') else {
            return Err(GateError::NoValue { item: item.trim().to_owned() });
        };
        let name = name.trim();
        let on = match value.trim() {
            "1" | "t" | "T" | "true" | "True" | "TRUE" => true,
            "0" | "f" | "F" | "false" | "False" | "FALSE" => false,
            _ => return Err(GateError::BadValue { item: item.trim().to_owned(), name: name.to_owned() }),
        };
        match name {
            ALL_ALPHA => self.all_alpha = Some(on),
            ALL_BETA => self.all_beta = Some(on),
            _ => {
                let gate = Gate::named(name).ok_or_else(|| unknown(name))?;
                self.by_name.insert(gate, on);
            }
        }
        Ok(())
    }

    fn apply(&self) -> Result<Gates, GateError> {
        let mut gates = Gates::default();
        for gate in Gate::ALL {
            let spec = gate.spec();
            let Some(on) = self.said(*gate) else { continue };
            if !on && spec.preset == Preset::LockedOn {
                return Err(GateError::Locked { gate: *gate });
            }
            gates = gates.with(*gate, on);
        }
        match gates.iter().find(|gate| gates.missing_for(*gate).next().is_some()) {
            Some(gate) => Err(GateError::Needs { gate, missing: gates.missing_for(gate).collect() }),
            None => Ok(gates),
        }
    }
}

fn unknown(name: &str) -> GateError {
    if let Some((name, instead)) = RETIRED.into_iter().find(|(retired, _)| *retired == name) {
        return GateError::Retired { name, instead };
    }
    let known = Gate::ALL.iter().map(|gate| gate.name()).chain([ALL_ALPHA, ALL_BETA]);
    GateError::Unknown { name: name.to_owned(), nearest: near(name, known) }
}
