//! What people should know: events about pods and about the node itself.
//!
//! Invariant: an event about a driver names the driver, and says what to do.

use client::{Report, reference};
use objects::Object;
use objects::core::node::Node;
use objects::core::pod::Pod;

/// Who reports.
const CONTROLLER: &str = "kubelet";

/// The claims of a pod are not ready.
pub(crate) fn unprepared(pod: &Pod, why: &str) -> Report {
    let note = format!("Failed to prepare dynamic resources: prepare dynamic resources: {why}");
    warning(pod, "FailedPrepareDynamicResources", "Preparing", note)
}

/// The claims of a pod cannot be taken back, so that it cannot end.
pub(crate) fn kept(pod: &Pod, why: &str) -> Report {
    let note = format!("Failed to unprepare dynamic resources: unprepare dynamic resources: {why}");
    warning(pod, "FailedUnprepareDynamicResources", "Unpreparing", note)
}

/// The claims of a pod that is gone cannot be taken back.
pub(crate) fn orphaned(node: &Node, uid: &str, why: &str) -> Report {
    let note = format!("Failed to unprepare dynamic resources of deleted pod {uid}: {why}");
    warning(node, "FailedUnprepareDynamicResources", "Unpreparing", note)
}

/// A plugin was not registered.
pub(crate) fn rejected(node: &Node, why: &str) -> Report {
    warning(node, "FailedPluginRegistration", "Registering", why.to_owned())
}

/// What the node kept is damaged.
pub(crate) fn damaged(node: &Node, why: &str) -> Report {
    warning(node, "DamagedCheckpoint", "Starting", why.to_owned())
}

fn warning<K: Object>(about: &K, reason: &'static str, action: &'static str, note: String) -> Report {
    Report {
        controller: CONTROLLER.to_owned(),
        regarding: reference(about),
        related: None,
        reason,
        action,
        is_warning: true,
        is_once: false,
        note,
    }
}
