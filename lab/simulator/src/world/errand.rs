//! A write on its way, and how it is told in a history.

use scheduler::write::{Consumer, Write, WriteId};
use scheduling::protocol::Delivery;
use scheduling::request::ApiCall;

/// A write on its way.
#[derive(Clone, Debug)]
pub(crate) struct Errand {
    /// The scheduler that wants it.
    pub replica: usize,
    pub id: WriteId,
    pub delivery: Delivery,
}

/// A call in a few words.
pub(crate) fn told(call: &ApiCall) -> String {
    let part = call.subresource.map(|part| format!("/{part}")).unwrap_or_default();
    format!("{:?} {}{part} {}", call.verb, call.kind, call.name)
}

fn names(consumers: &[Consumer]) -> String {
    consumers.iter().map(|consumer| &*consumer.name).collect::<Vec<_>>().join(", ")
}

/// A write in a few words.
pub(crate) fn shown(write: &Write) -> String {
    match write {
        Write::Allocate { claim, allocation, consumers, .. } => {
            let devices: Vec<String> =
                allocation.grants.iter().map(|grant| grant.device.to_string()).collect();
            format!("allocate {claim} for {}: {}", names(consumers), devices.join(", "))
        }
        Write::Reserve { claim, consumers, .. } => format!("reserve {claim} for {}", names(consumers)),
        Write::Release { claim, consumers, .. } => format!("release {claim} from {}", names(consumers)),
        Write::Bind { pod, node, .. } => format!("bind {pod} to {node}"),
        other => format!("{other:?}"),
    }
}
