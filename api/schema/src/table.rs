//! The table's types, and the table itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde_json::Value;

use crate::text;

/// Every structure and kind that is served.
#[derive(Debug)]
pub struct Table {
    structs: Vec<Struct>,
    by_name: BTreeMap<String, StructId>,
    kinds: Vec<Kind>,
}

/// The position of a structure in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StructId(pub(crate) u32);

/// A JSON object with known fields.
#[derive(Debug)]
pub struct Struct {
    /// Package and name, such as `resource.v1.Device`.
    pub name: String,
    /// The fields in order of name.
    pub fields: Vec<Field>,
    /// Server-side apply owns this structure as one value.
    pub atomic: bool,
    /// What it is, in a sentence; empty where nobody wrote one.
    pub description: String,
    /// What must hold between its fields.
    pub rules: Vec<Rule>,
    /// The positions of the fields that are written even if nobody set them.
    pub(crate) written: Vec<usize>,
    /// The positions of the fields that may have a default, of their own or inside.
    pub(crate) defaulted: Vec<usize>,
}

/// Something that must hold between the fields of a structure, for servers that know the structure by its schema alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// A CEL expression over `self`.
    pub expression: String,
    /// What to tell whoever broke it.
    pub message: String,
}

/// The limits of a field. They are those that admission keeps, for servers that know the field by its schema alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The least number of elements.
    pub items_min: Option<u32>,
    /// The most elements, or the most entries of a map.
    pub items_max: Option<u32>,
    /// The least number of characters, of a text or of each text in a list.
    pub length_min: Option<u32>,
    /// The most characters, of a text or of each text in a list.
    pub length_max: Option<u32>,
    /// The least value.
    pub value_min: Option<i64>,
    /// The largest value.
    pub value_max: Option<i64>,
    /// The form of a text, or of each text in a list.
    pub pattern: Option<String>,
}

/// One field of a structure.
#[derive(Debug)]
pub struct Field {
    /// The name in JSON.
    pub name: String,
    /// Its numbers in protobuf from the outside in: several where a message is inlined in JSON, none for what is ours.
    pub numbers: Vec<u64>,
    /// What the field holds.
    pub shape: Shape,
    /// What is written when the field is unset or zero.
    pub presence: Presence,
    /// OpenAPI lists the field as required.
    pub required: bool,
    /// How server-side apply tells the list's elements apart.
    pub list: ListKind,
    /// Server-side apply owns the map or structure as one value.
    pub atomic: bool,
    /// How a strategic merge patch treats the field.
    pub patch: Patch,
    /// The value documented as default.
    pub default: Option<Value>,
    /// The documented values; empty when any will do.
    pub allowed: Vec<String>,
    /// The gate of a field that is ours and that Kubernetes does not have.
    pub ours: Option<String>,
    /// What it is, in a sentence; empty where nobody wrote one.
    pub description: String,
    /// The limits of its value.
    pub limits: Limits,
}

impl Field {
    /// Those who read protobuf do not know the field: it is ours, or says of an inner object what its type says already.
    pub fn is_json_only(&self) -> bool {
        let names_type = matches!(self.name.as_str(), "apiVersion" | "kind");
        self.numbers.is_empty() && (self.ours.is_some() || names_type)
    }
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A single value.
    Scalar(Scalar),
    /// A structure of the table.
    Struct(StructId),
    /// A list.
    List(Box<Shape>),
    /// A map with string keys.
    Map(Box<Shape>),
    /// Any JSON value, kept as it is.
    Any,
}

/// The kinds of single values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Text.
    String,
    /// `true` or `false`.
    Bool,
    /// A 32-bit integer.
    Int32,
    /// A 64-bit integer.
    Int64,
    /// A floating-point number.
    Double,
    /// An amount such as `80Gi`.
    Quantity,
    /// A time to the second.
    Time,
    /// A time to the microsecond, always with six decimals.
    MicroTime,
    /// Bytes in base64.
    Bytes,
    /// A 32-bit integer or text.
    IntOrString,
}

/// What is written for a field that is unset or zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Left out when zero or empty.
    OmitZero,
    /// Left out when unset; a zero that was set is kept.
    Optional,
    /// Always written, with its zero value if need be.
    Always,
    /// Written as `null` when unset.
    Null,
}

/// How the elements of a list are told apart when several managers own parts of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// The list is one value.
    Atomic,
    /// Each element is its own key.
    Set,
    /// These fields of an element are its key.
    Keys(Vec<String>),
}

/// How a strategic merge patch treats a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Patch {
    /// Structures are merged, lists replaced.
    Plain,
    /// Lists are merged: of structures by this key, of scalars by value.
    Merge {
        /// The merge key of structures.
        key: Option<String>,
        /// Fields that the patch does not name are dropped from the element.
        retain_keys: bool,
    },
    /// The value is replaced whole; only the keys that the patch names stay.
    RetainKeys,
    /// The value is replaced whole.
    Replace,
}

/// Whether objects of a kind live in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// In no namespace.
    Cluster,
}

/// A kind in one of its versions.
#[derive(Debug)]
pub struct Kind {
    /// Such as `resource.k8s.io/v1`.
    pub api_version: String,
    /// Such as `ResourceSlice`.
    pub kind: String,
    /// Such as `resourceslices`; empty for kinds that are only sent to subresources.
    pub plural: String,
    /// Where its objects live.
    pub scope: Scope,
    /// It has a `/status` subresource.
    pub status: bool,
    /// Short names for kubectl.
    pub short: Vec<String>,
    /// Categories for kubectl, such as `all`.
    pub categories: Vec<String>,
    /// A deletion is answered with the object that is gone; for other kinds with a `Status`.
    pub returns_deleted: bool,
    /// Its objects are deleted one at a time, because each of them takes others along.
    pub deleted_singly: bool,
    /// A replacement of an object that is not there makes it.
    pub made_by_replacing: bool,
    /// Its objects are sent and never read.
    pub sent_only: bool,
    /// What else its objects have paths for, besides `/status`, in order of name.
    pub parts: Vec<Part>,
    /// The fields that objects can be selected by, besides name and namespace.
    pub selectable: Vec<Selectable>,
    /// Every field of its objects has a number, or need not be known to those who read protobuf, so that they can be written in protobuf.
    pub protobuf: bool,
    /// The structure of its objects.
    pub object: StructId,
}

/// A part of an object with a path of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The last part of the path, such as `binding`.
    pub name: String,
    /// What can be done there.
    pub verb: PartVerb,
    /// The kind that is sent there and answered, if it is of another group: `policy/v1`.
    pub api_version: Option<String>,
    /// The kind that is sent there and answered.
    pub kind: String,
}

/// What can be done with a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartVerb {
    /// Something is sent to it.
    Create,
    /// It is replaced.
    Update,
}

/// A field that objects can be selected by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selectable {
    /// The name that a selector has for it, such as `spec.nodeName`.
    pub name: String,
    /// Where it is in the object as it is stored, as a JSON pointer.
    pub path: String,
    /// What counts as its value when it is not there.
    pub unset: &'static str,
}

impl Kind {
    /// The group, empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// The version within the group.
    pub fn version(&self) -> &str {
        self.api_version.split_once('/').map_or(self.api_version.as_str(), |(_, version)| version)
    }
}

impl Struct {
    /// The field `name`, if the structure has it.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.binary_search_by(|field| field.name.as_str().cmp(name)).ok().map(|at| &self.fields[at])
    }

    /// Brings the fields into order, and notes which of them matter even if they are not set, which are few.
    pub(crate) fn settle(&mut self) {
        self.fields.sort_by(|a, b| a.name.cmp(&b.name));
        let places = |wanted: fn(&Field) -> bool| {
            let fields = self.fields.iter().enumerate();
            fields.filter(|(_, field)| wanted(field)).map(|(at, _)| at).collect()
        };
        self.written = places(|field| matches!(field.presence, Presence::Always | Presence::Null));
        self.defaulted = places(|field| {
            let inside = matches!(field.shape, Shape::Struct(_)) && field.presence == Presence::Always;
            field.default.is_some() || inside
        });
    }
}

impl Table {
    pub(crate) fn new(structs: Vec<Struct>, by_name: BTreeMap<String, StructId>, kinds: Vec<Kind>) -> Self {
        let mut table = Self { structs, by_name, kinds: Vec::new() };
        let complete = |kind: Kind| {
            let protobuf = table.is_numbered(kind.object, &mut BTreeSet::new());
            Kind { protobuf, ..table.with_unset_values(kind) }
        };
        table.kinds = kinds.into_iter().map(complete).collect();
        table
    }

    /// Every field of the structure and of all structures in it has a number, unless it is for JSON only.
    fn is_numbered(&self, id: StructId, seen: &mut BTreeSet<StructId>) -> bool {
        !seen.insert(id)
            || self.get(id).fields.iter().all(|field| {
                let mut shape = &field.shape;
                while let Shape::List(inner) | Shape::Map(inner) = shape {
                    shape = inner;
                }
                let mut inside = || match shape {
                    Shape::Struct(id) => self.is_numbered(*id, seen),
                    _ => true,
                };
                field.is_json_only() || (!field.numbers.is_empty() && inside())
            })
    }

    /// The kind with the values that its selectable fields have when nothing is there, which follow from their types.
    fn with_unset_values(&self, mut kind: Kind) -> Kind {
        for field in &mut kind.selectable {
            let mut steps = field.path.trim_start_matches('/').split('/');
            let found = steps.try_fold(Shape::Struct(kind.object), |within, step| match within {
                Shape::Struct(id) => self.get(id).field(step).map(|field| field.shape.clone()),
                _ => None,
            });
            field.unset = match found {
                Some(Shape::Scalar(Scalar::Bool)) => "false",
                Some(Shape::Scalar(Scalar::Int32 | Scalar::Int64)) => "0",
                _ => "",
            };
        }
        kind
    }

    /// The structure at `id`.
    pub fn get(&self, id: StructId) -> &Struct {
        &self.structs[id.0 as usize]
    }

    /// The structure of a package and name such as `resource.v1.Device`.
    pub fn find(&self, name: &str) -> Option<StructId> {
        self.by_name.get(name).copied()
    }

    /// All kinds, in the table's order.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// All structures.
    pub fn structs(&self) -> &[Struct] {
        &self.structs
    }

    /// The kind of an `apiVersion` and `kind`.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<&Kind> {
        self.kinds.iter().find(|entry| entry.kind == kind && entry.api_version == api_version)
    }

    /// The kind that is served under a group, version and plural.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Kind> {
        self.kinds
            .iter()
            .find(|kind| kind.plural == plural && kind.group() == group && kind.version() == version)
    }
}

/// The table of everything that is served.
///
/// # Panics
/// Never for a table that its test accepts: the text is part of the program.
pub fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| text::read(text::SOURCES).unwrap_or_else(|error| unreachable!("table: {error}")))
}
