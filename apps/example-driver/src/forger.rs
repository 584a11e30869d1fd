//! Spoils messages on their way to the kubelet, as the switches say. A driver that keeps to the kit could not send them.

use driver_kit::Forger;
use driver_kit::protocol::dra::v1::NodePrepareResourcesResponse;
use driver_kit::protocol::registration::PluginInfo;

use crate::switches::{Flags, Prepare, Register};

/// More than a kubelet takes in one message.
const TOO_MANY_BYTES: usize = 5 << 20;

/// Spoils what the switches say at that moment.
pub(crate) struct Spoiler(pub(crate) Flags);

impl Forger for Spoiler {
    fn registration(&self, plugin: &mut PluginInfo) {
        if self.0.now().is_ok_and(|switches| switches.register == Register::BadName) {
            plugin.name = "Not A Name!".to_owned();
        }
    }

    fn prepared(&self, answer: &mut NodePrepareResourcesResponse) {
        let Ok(switches) = self.0.now() else { return };
        match switches.prepare {
            Prepare::Ok | Prepare::Fail | Prepare::Hang | Prepare::Crash => {}
            Prepare::WrongUid => {
                let claims = std::mem::take(&mut answer.claims).into_values();
                answer.claims =
                    claims.enumerate().map(|(at, one)| (format!("not-your-claim-{at}"), one)).collect();
            }
            Prepare::DuplicateDevice => {
                for claim in answer.claims.values_mut() {
                    claim.devices.extend(claim.devices.clone());
                }
            }
            Prepare::Oversize => {
                for device in answer.claims.values_mut().flat_map(|claim| &mut claim.devices) {
                    device.cdi_device_ids.push(format!("example.com/large={}", "x".repeat(TOO_MANY_BYTES)));
                }
            }
        }
    }
}
