//! Devices as a driver for accelerators publishes them, in a form that both evaluators can be given.
//!
//! Every device has the attributes that the selectors name, except the one that they test for with `has`, so no evaluation
//! fails and both do all of the work.

use anyhow::Context;
use model::quantity::Quantity;
use selector::{AttributeValue, Device};

use crate::random::Random;

/// The domain of all names.
pub(crate) const DOMAIN: &str = "gpu.example.com";

const MODELS: [&str; 4] = ["A100-SXM4-80GB", "H100-SXM5-80GB", "H200-SXM5-141GB", "L40S-PCIE-48GB"];
const ARCHITECTURES: [&str; 3] = ["Ampere", "Hopper", "Ada Lovelace"];
const MEMORY: [&str; 4] = ["40Gi", "81559Mi", "141Gi", "48Gi"];
const DRIVER_VERSIONS: [&str; 3] = ["550.54.14", "565.57.1", "570.124.6"];
const RAILS: [&str; 8] = ["rail-0", "rail-1", "rail-2", "rail-3", "rail-4", "rail-5", "rail-6", "rail-7"];

/// The value of an attribute.
#[derive(Clone, Debug)]
pub(crate) enum Described {
    Int(i64),
    Bool(bool),
    Text(String),
    Version(&'static str),
    Texts(Vec<&'static str>),
}

/// A device.
#[derive(Clone, Debug)]
pub(crate) struct Published {
    pub(crate) driver: &'static str,
    pub(crate) attributes: Vec<(&'static str, Described)>,
    pub(crate) capacity: Vec<(&'static str, &'static str)>,
}

/// As many devices as wanted, always the same for a seed.
pub(crate) fn published(count: usize, seed: u64) -> Vec<Published> {
    let mut random = Random::new(seed);
    (0..count).map(|index| device((index % 8) as i64, &mut random)).collect()
}

fn device(index: i64, random: &mut Random) -> Published {
    let text = |text: &str| Described::Text(text.to_owned());
    let mut attributes = vec![
        ("type", text("gpu")),
        ("uuid", Described::Text(format!("GPU-{}", random.uid()))),
        ("productName", text(random.pick(&MODELS))),
        ("architecture", text(random.pick(&ARCHITECTURES))),
        ("brand", text("Example")),
        ("index", Described::Int(index)),
        ("minor", Described::Int(index)),
        ("cudaComputeCapability", Described::Version("9.0.0")),
        ("driverVersion", Described::Version(random.pick(&DRIVER_VERSIONS))),
        ("pcieRoot", Described::Text(format!("pci0000:{:02x}", random.below(8) * 16))),
        ("rails", Described::Texts((0..4).map(|_| random.pick(&RAILS)).collect())),
    ];
    if random.below(4) > 0 {
        attributes.push(("shared", Described::Bool(random.below(2) == 0)));
    }
    Published {
        driver: if random.below(4) > 0 { DOMAIN } else { "partition.example.com" },
        attributes,
        capacity: vec![("memory", random.pick(&MEMORY)), ("multiprocessors", "132")],
    }
}

impl Published {
    /// The device in the form that our selectors read.
    pub(crate) fn ours(&self) -> anyhow::Result<Device> {
        let mut device = Device::new(self.driver, false);
        for (id, value) in &self.attributes {
            let value = match value {
                Described::Int(value) => AttributeValue::Int(*value),
                Described::Bool(value) => AttributeValue::Bool(*value),
                Described::Text(text) => AttributeValue::String(text),
                Described::Version(text) => AttributeValue::Version(text),
                Described::Texts(texts) => AttributeValue::Strings(texts),
            };
            device.attribute(&format!("{DOMAIN}/{id}"), &value)?;
        }
        for (id, amount) in &self.capacity {
            let amount: Quantity = amount.parse().context("the capacity is a quantity")?;
            device.capacity(&format!("{DOMAIN}/{id}"), amount);
        }
        Ok(device)
    }
}

#[cfg(test)]
mod tests {
    use super::published;

    #[test]
    fn every_published_device_can_be_evaluated() {
        for device in published(100, 5) {
            device.ours().expect("the published values are valid");
        }
        assert_eq!(format!("{:?}", published(100, 5)), format!("{:?}", published(100, 5)));
    }
}
