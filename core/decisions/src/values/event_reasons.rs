//! The reasons of events and conditions about pods, which stay the same in all versions. Those that Kubernetes has are Kubernetes' own.
//!
//! Invariant: an event and a condition about the same thing have the same reason.

use model::code::Code;

/// A pod has a node.
pub const SCHEDULED: Code = Code {
    name: "Scheduled",
    meaning: "The pod is bound to a node, or the pods of a group are (event).",
    advice: "Nothing.",
};

/// No node will do.
pub const FAILED_SCHEDULING: Code = Code {
    name: "FailedScheduling",
    meaning: "No node suits the pod or the pod group (event).",
    advice: "Read the message, or run `supercargo explain POD`.",
};

/// Another pod took the place.
pub const PREEMPTED: Code = Code {
    name: "Preempted",
    meaning: "The pod was preempted by a pod or pod group of higher priority (event).",
    advice: "Raise the priority of the pod, or add nodes.",
};

/// Devices are not ready.
pub const BINDING_CONDITIONS_PENDING: Code = Code {
    name: "BindingConditionsPending",
    meaning: "The pod has a node and waits for binding conditions of its devices (event and condition PodScheduled).",
    advice: "Wait; if it stays so, check the controller that prepares the devices.",
};

/// Pods of a gang are let go.
pub const GANG_RELEASED: Code = Code {
    name: "GangReleased",
    meaning: "Too few pods of the group could be bound, so the others gave their nodes back (event).",
    advice: "Read the message; the scheduler retries the group.",
};

/// A pod group is ignored.
pub const POD_GROUP_IGNORED: Code = Code {
    name: "PodGroupIgnored",
    meaning: "The pod names a pod group that the scheduler does not look at (event).",
    advice: "Turn on the feature gate that the message names.",
};

/// Drivers are asked.
pub const WAITING_FOR_RESOURCE_DRIVER: Code = Code {
    name: "WaitingForResourceDriver",
    meaning: "The controller of a driver is asked for devices of the pod (event and condition PodScheduled).",
    advice: "Wait; if it stays so, check the controller of the driver.",
};

/// No node will do, as a condition says it.
pub const UNSCHEDULABLE: Code = Code {
    name: "Unschedulable",
    meaning: "No node suits the pod (condition PodScheduled).",
    advice: "Read the message, or run `supercargo explain POD`.",
};

/// Something went wrong.
pub const SCHEDULER_ERROR: Code = Code {
    name: "SchedulerError",
    meaning: "The scheduler failed to look for a node (condition PodScheduled).",
    advice: "Read the message and the log of the scheduler; the scheduler retries the pod.",
};

/// It is not known yet.
pub const SCHEDULING_IN_PROGRESS: Code = Code {
    name: "SchedulingInProgress",
    meaning: "The search for a node takes long and continues (condition PodScheduled).",
    advice: "Wait.",
};

/// All of them.
pub const ALL: [Code; 10] = [
    SCHEDULED,
    FAILED_SCHEDULING,
    PREEMPTED,
    BINDING_CONDITIONS_PENDING,
    GANG_RELEASED,
    POD_GROUP_IGNORED,
    WAITING_FOR_RESOURCE_DRIVER,
    UNSCHEDULABLE,
    SCHEDULER_ERROR,
    SCHEDULING_IN_PROGRESS,
];
