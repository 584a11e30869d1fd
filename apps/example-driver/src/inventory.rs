//! The inventory: which devices there are to simulate, as a file in YAML.
//!
//! Invariant: a mistake in the file is shown with its line and a caret, and nothing is guessed.

mod mistake;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_saphyr::Spanned;

pub(crate) use mistake::Mistake;

/// Everything that is simulated.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Inventory {
    /// GPUs, each of which can be used whole, cut into MIG partitions, or shared as vGPUs.
    pub(crate) gpus: Vec<Gpu>,
    /// Network interfaces.
    pub(crate) nics: Vec<Nic>,
    /// FPGAs.
    pub(crate) fpgas: Vec<Fpga>,
}

/// GPUs of one kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gpu {
    /// Devices are named `NAME-0`, `NAME-1` and so on.
    pub(crate) name: Spanned<String>,
    #[serde(default = "one")]
    pub(crate) count: usize,
    pub(crate) model: String,
    /// Such as `40Gi`.
    pub(crate) memory: Spanned<String>,
    /// MIG profiles such as `1g.5gb`: compute slices of seven, and memory.
    #[serde(default)]
    pub(crate) mig: Vec<Spanned<String>>,
    /// The GPU can be shared by parts of its memory.
    #[serde(default)]
    pub(crate) vgpu: bool,
}

/// Network interfaces of one kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nic {
    pub(crate) name: Spanned<String>,
    #[serde(default = "one")]
    pub(crate) count: usize,
    /// Such as `100G`, in bits a second.
    pub(crate) bandwidth: Spanned<String>,
}

/// FPGAs of one kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fpga {
    pub(crate) name: Spanned<String>,
    #[serde(default = "one")]
    pub(crate) count: usize,
    pub(crate) family: String,
}

fn one() -> usize {
    1
}

/// How many devices of a kind are simulated at most.
const COUNT_MAX: usize = 10_000;

/// A MIG profile: `1g.5gb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    /// Compute slices of the seven that a GPU has.
    pub(crate) compute: u32,
    /// Memory in GiB.
    pub(crate) gib: u32,
}

impl Profile {
    /// Reads a profile.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (compute, memory) = text.split_once("g.")?;
        let compute = compute.parse().ok().filter(|compute| (1..=7).contains(compute))?;
        let gib = memory.strip_suffix("gb")?.parse().ok().filter(|gib| (1..=1024).contains(gib))?;
        Some(Self { compute, gib })
    }
}

impl Inventory {
    /// Reads an inventory.
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, Mistake> {
        let options = serde_saphyr::options! { with_snippet: false };
        let inventory: Self = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let place = error.location().map_or((1, 1), |at| (at.line(), at.column()));
            Mistake::new(file, text, place, &mistake::first_line(&error.to_string()))
        })?;
        inventory.check().map_err(|(place, what)| Mistake::new(file, text, place, &what))?;
        Ok(inventory)
    }

    fn check(&self) -> Result<(), ((u64, u64), String)> {
        let place = |text: &Spanned<String>| (text.referenced.line(), text.referenced.column());
        let gpus = self.gpus.iter().map(|gpu| (&gpu.name, gpu.count));
        let nics = self.nics.iter().map(|nic| (&nic.name, nic.count));
        let fpgas = self.fpgas.iter().map(|fpga| (&fpga.name, fpga.count));
        let mut names = BTreeMap::new();
        for (name, count) in gpus.chain(nics).chain(fpgas) {
            let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let is_name = !name.value.is_empty() && name.value.len() <= 30 && name.value.chars().all(is_good);
            if !is_name || name.value.starts_with('-') || name.value.ends_with('-') {
                let what = format!(
                    "{:?} is not a valid name: use up to 30 lower case letters, digits and -",
                    name.value
                );
                return Err((place(name), what));
            }
            if let Some(line) = names.insert(&*name.value, place(name).0) {
                return Err((
                    place(name),
                    format!("{:?} is defined twice, first on line {line}", name.value),
                ));
            }
            if !(1..=COUNT_MAX).contains(&count) {
                let what = format!("count of {:?} is {count} and must be from 1 to {COUNT_MAX}", name.value);
                return Err((place(name), what));
            }
        }
        let memories = self.gpus.iter().map(|gpu| &gpu.memory);
        for amount in memories.chain(self.nics.iter().map(|nic| &nic.bandwidth)) {
            driver_kit::quantity(&amount.value).map_err(|error| (place(amount), error.to_string()))?;
        }
        for profile in self.gpus.iter().flat_map(|gpu| &gpu.mig) {
            if Profile::parse(&profile.value).is_none() {
                let what = format!("{:?} is not a MIG profile such as 1g.5gb", profile.value);
                return Err((place(profile), what));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Inventory, Profile};

    fn told(text: &str) -> String {
        Inventory::read("inventory.yaml", text).expect_err("it is wrong").to_string()
    }

    #[test]
    fn a_mistake_is_shown_where_it_is() {
        assert_eq!(
            told("nics:\n- name: nic\n  bandwith: 100G\n"),
            "inventory.yaml:3:3: unknown field `bandwith`, expected one of name, count, bandwidth\n\
             \x20 |\n3 |   bandwith: 100G\n\x20 |   ^"
        );
        let lots = told("gpus:\n- name: gpu\n  model: A100\n  memory: lots\n");
        assert!(lots.starts_with("inventory.yaml:4:11: \"lots\" is not a quantity"), "{lots}");
        assert!(lots.ends_with("\n  |\n4 |   memory: lots\n  |           ^"), "{lots}");
        assert!(
            told("gpus: [{name: a, model: m, memory: 1Gi, mig: [9g.5gb]}]").contains("is not a MIG profile")
        );
        assert!(told("fpgas: [{name: a, family: x}, {name: a, family: y}]").contains("is defined twice"));
        assert!(told("fpgas: [{name: A, family: x}]").contains("is not a valid name"));
        assert!(told("fpgas: [").starts_with("inventory.yaml:1:"));
    }

    #[test]
    fn profiles_are_read() {
        assert_eq!(Profile::parse("3g.20gb"), Some(Profile { compute: 3, gib: 20 }));
        for text in ["", "g.gb", "8g.5gb", "1g.5", "1g.0gb"] {
            assert_eq!(Profile::parse(text), None, "{text}");
        }
    }
}
