//! What the server says it serves: groups, versions and resources, and its own version.
//!
//! Every document is read off the schema table, so that a kind of the table is announced, and nothing else is.
//! Nothing here knows of HTTP: paths and headers are text, and documents are values.

mod accept;
mod aggregated;
mod answer;
mod groups;
mod legacy;
mod resource;
mod version;

pub use aggregated::{aggregated_core, aggregated_groups};
pub use answer::{DiscoveryResponse, Document, Form, Media, Server, answer};
pub use legacy::{core_versions, group, groups, resources};
pub use version::{Build, kubernetes_version, version};
