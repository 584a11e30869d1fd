//! Objects in protobuf, as kubectl sends them for some commands and as clients written in Go like to get them.
//!
//! Kubernetes wraps a message in an envelope that names its kind. The table knows the fields' numbers, so reading and
//! writing are walks over it. A kind of which any field has no number is read and written as JSON alone.

mod read;
mod write;

pub use read::{NotProtobuf, parse_protobuf};
pub(crate) use write::Message;
pub use write::{watch_frame, write_protobuf};

/// What Kubernetes writes before every envelope.
const PREFIX: &[u8] = b"k8s\0";
