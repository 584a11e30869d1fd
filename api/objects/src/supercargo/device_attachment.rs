//! What is attached where: the ledger of a fabric's devices.

use crate::meta::ObjectMeta;
use crate::value::MicroTime;
use crate::wire::wire;

wire! {
    /// A device of a fabric that is attached to a node, or is about to be.
    pub object DeviceAttachment of "supercargo.dev/v1alpha1" {
        metadata: ObjectMeta = "metadata",
        spec: DeviceAttachmentSpec = "spec",
        status: DeviceAttachmentStatus = "status",
    }
}

wire! {
    /// Which device is attached where, and for whom.
    pub struct DeviceAttachmentSpec {
        claim: Option<AttachmentClaim> = "claim",
        driver: String = "driver",
        host: String = "host",
        model: String = "model",
        node: String = "node",
        origin: String = "origin",
        port: String = "port",
        unit: String = "unit",
    }
}

wire! {
    /// The claim that a device is attached for, and what it was given in the pool.
    pub struct AttachmentClaim {
        device: String = "device",
        name: String = "name",
        namespace: String = "namespace",
        pool: String = "pool",
        uid: String = "uid",
    }
}

wire! {
    /// How far it has come.
    pub struct DeviceAttachmentStatus {
        failures: i32 = "failures",
        idle_since: Option<MicroTime> = "idleSince",
        message: String = "message",
        phase: String = "phase",
        retry_at: Option<MicroTime> = "retryAt",
        since: Option<MicroTime> = "since",
    }
}
