//! The shape of every served kind, as one table, and the walks over it.
//!
//! The table in `tables/` is the only place that knows which fields a kind has, which of them are always
//! written, and how lists merge. Decoding, pruning, patching, server-side apply, OpenAPI and the CRDs are
//! walks over it, so a new field is one new line.

mod conform;
mod defaults;
mod fill;
mod json;
pub mod names;
pub mod openapi;
mod path;
mod protobuf;
mod scalar;
mod table;
mod text;
pub mod yaml;

pub use conform::{Mismatch, Oddity, conform};
pub use defaults::apply_defaults;
pub use fill::fill;
pub use json::{Document, NotJson, parse};
pub use path::Path;
pub use protobuf::{NotProtobuf, parse_protobuf, watch_frame, write_protobuf};
pub use table::{
    Field, Kind, Limits, ListKind, Part, PartVerb, Patch, Presence, Rule, Scalar, Scope, Selectable, Shape,
    Struct, StructId, Table, table,
};
pub use yaml::{NotYaml, parse_yaml};
