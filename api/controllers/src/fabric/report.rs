//! What claims are told: that a device is attached, or that it will not be, and why.

use std::collections::BTreeMap;

use objects::Time;
use objects::meta::Condition;
use objects::resource::allocation::AllocatedDeviceStatus;
use serde_json::json;

use super::FabricAction;
use super::names::{ATTACH_FAILED, ATTACHED};
use super::scene::{Scene, Want};

/// Why a pod is sent round again, in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    /// It is attached, and the node's driver publishes it: take it from there.
    AttachedToNode,
    /// One that was attached for the claim before waits to be taken.
    AttachedAlready,
    /// The fabric could not attach it.
    AttachFailed,
    /// No device of the model is free any more.
    NoFreeDevice,
    /// The node can have no more devices of the model.
    NodeFull,
    /// The node is no host of the fabric.
    NotInFabric,
    /// The node's driver does not say which devices of the fabric its devices are.
    NoIdentity,
    /// The device was taken away while it was in use.
    DeviceLost,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Self::AttachedToNode => "AttachedToNode",
            Self::AttachedAlready => "AttachedAlready",
            Self::AttachFailed => "AttachFailed",
            Self::NoFreeDevice => "NoFreeDevice",
            Self::NodeFull => "NodeFull",
            Self::NotInFabric => "NotInFabric",
            Self::NoIdentity => "NoIdentity",
            Self::DeviceLost => "DeviceLost",
        }
    }
}

/// Why nothing is handed over in place on a node, in a sentence.
pub(super) fn no_identity(scene: &Scene<'_>, node: &str) -> String {
    format!(
        "{}, so no device can be handed over in place there; hint: have the driver publish the attribute, or name the one \
         that it publishes with --unit-attribute",
        scene.namelessness(node)
    )
}

/// Reports to write, gathered by claim, because a claim is written once.
#[derive(Default)]
pub(super) struct Reports(BTreeMap<String, Vec<AllocatedDeviceStatus>>);

impl Reports {
    /// The device is attached.
    pub(super) fn ready(&mut self, scene: &Scene<'_>, want: &Want<'_>, unit: &str) {
        let message = format!("attached to node {}", want.node.unwrap_or_default());
        let conditions = vec![condition(scene, ATTACHED, "True", "Attached", message)];
        let data = json!({ "unit": unit }).to_string();
        let data = serde_json::from_str(&data).expect("what was just written can be read");
        self.add(want, conditions, Some(data), scene);
    }

    /// The pod is sent round again.
    pub(super) fn failed(&mut self, scene: &Scene<'_>, want: &Want<'_>, reason: Reason, message: String) {
        let conditions = vec![
            condition(scene, ATTACHED, "False", reason.name(), message.clone()),
            condition(scene, ATTACH_FAILED, "True", reason.name(), message),
        ];
        self.add(want, conditions, None, scene);
    }

    fn add(
        &mut self,
        want: &Want<'_>,
        conditions: Vec<Condition>,
        data: Option<objects::Raw>,
        scene: &Scene<'_>,
    ) {
        let (driver, pool, device) =
            (scene.options.driver.clone(), want.pool.to_owned(), want.device.to_owned());
        let status = AllocatedDeviceStatus { conditions, data, device, driver, pool, ..Default::default() };
        self.0.entry(want.claim.metadata.uid.clone()).or_default().push(status);
    }

    /// One write for each claim; what others report of its devices stays.
    pub(super) fn into_actions(mut self, scene: &Scene<'_>) -> Vec<FabricAction> {
        let claims = scene.view.claims.iter();
        claims
            .filter_map(|claim| {
                let reports = self.0.remove(&claim.metadata.uid)?;
                let mut claim = (*claim).clone();
                for report in reports {
                    let is_same = |old: &AllocatedDeviceStatus| {
                        (&old.driver, &old.pool, &old.device)
                            == (&report.driver, &report.pool, &report.device)
                    };
                    match claim.status.devices.iter_mut().find(|old| is_same(old)) {
                        Some(old) => merge(old, report),
                        None => claim.status.devices.push(report),
                    }
                }
                Some(FabricAction::Report(Box::new(claim)))
            })
            .collect()
    }
}

fn merge(old: &mut AllocatedDeviceStatus, new: AllocatedDeviceStatus) {
    old.conditions.retain(|one| !new.conditions.iter().any(|other| other.type_ == one.type_));
    old.conditions.extend(new.conditions);
    old.data = new.data.or(old.data.take());
}

fn condition(scene: &Scene<'_>, name: &str, status: &str, reason: &str, message: String) -> Condition {
    Condition {
        last_transition_time: Some(Time(scene.now)),
        message,
        reason: reason.to_owned(),
        status: status.to_owned(),
        type_: name.to_owned(),
        ..Condition::default()
    }
}
