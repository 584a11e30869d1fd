//! What things are called: pools, devices in them, slices, entries of the ledger, conditions.
//!
//! Invariant: pools of devices that are attached sort before pools of free ones, because schedulers take the first that fits, and
//! both after the pools of nodes, because both have conditions. A device's name is a number and says nothing about which one
//! it is.

/// The label of nodes that belong to a fabric, and of what is published for it; its value is the fabric's name.
pub const FABRIC_LABEL: &str = "supercargo.dev/fabric";

/// The label of a node that says which host it is, if they do not have the same name.
pub const HOST_LABEL: &str = "supercargo.dev/fabric-host";

/// The attribute by which the node's driver says which device of the fabric a device is, unless another is agreed on.
pub const UNIT_ATTRIBUTE: &str = "supercargo.dev/fabricUnit";

/// The condition that says that a device is attached.
pub const ATTACHED: &str = "supercargo.dev/FabricAttached";

/// The condition that sends a pod round again.
pub const ATTACH_FAILED: &str = "supercargo.dev/FabricAttachFailed";

/// The taint of a device that could not be attached lately.
pub const RESTING: &str = "supercargo.dev/fabric-attach-failed";

/// The taint of a device that a node publishes and that nobody may take: it is about to be detached, or is another's.
pub const GUARDED: &str = "supercargo.dev/fabric-guarded";

/// The annotation of a slice that is kept empty, with the reason.
pub const WITHHELD: &str = "supercargo.dev/fabric-withheld";

/// The longest part of a name that is made of something else's name.
const PART_BYTES_MAX: usize = 40;

/// A pool of ours.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pool {
    /// Free devices of a model.
    Free {
        /// The model, as [`part`] has it.
        model: String,
    },
    /// Devices of a model that are attached to a node, and idle.
    Attached {
        /// The model, as [`part`] has it.
        model: String,
        /// The node.
        node: String,
    },
}

impl Pool {
    /// Its name.
    pub fn name(&self, fabric: &str) -> String {
        match self {
            Self::Free { model } => format!("{fabric}.free.{model}"),
            Self::Attached { model, node } => format!("{fabric}.attached.{model}.{node}"),
        }
    }

    /// The pool of a name, if it is one of this fabric.
    pub fn parse(name: &str, fabric: &str) -> Option<Self> {
        let rest = name.strip_prefix(fabric)?.strip_prefix('.')?;
        let (kind, rest) = rest.split_once('.')?;
        match kind {
            "free" => Some(Self::Free { model: rest.to_owned() }),
            "attached" => {
                let (model, node) = rest.split_once('.')?;
                Some(Self::Attached { model: model.to_owned(), node: node.to_owned() })
            }
            _ => None,
        }
    }

    /// The model, as [`part`] has it.
    pub fn model(&self) -> &str {
        match self {
            Self::Free { model } | Self::Attached { model, .. } => model,
        }
    }
}

/// The name of a device in a pool.
pub fn slot(number: usize) -> String {
    format!("slot-{number}")
}

/// A model as a part of other names: a DNS label. Models that differ in case alone are one model.
pub fn part(model: &str) -> String {
    label(&model.to_ascii_lowercase())
}

/// A name as a part of other names: a DNS label. Names that differ have labels that differ.
fn label(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
    let text: String = name.to_ascii_lowercase().chars().map(plain).take(PART_BYTES_MAX).collect();
    let text = text.trim_matches('-');
    if text == name {
        text.to_owned()
    } else {
        format!("{text}-{:08x}", digest(name)).trim_matches('-').to_owned()
    }
}

/// The name of a unit's entry in the ledger, and of the rule that guards it.
pub fn entry(fabric: &str, unit: &str) -> String {
    format!("{fabric}-{}", label(unit))
}

/// FNV-1a: stable over releases, because names that were written must be found again.
fn digest(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
