//! Whole Tables, of a list or of one object.

use model::timestamp::Timestamp;
use schema::Kind;
use serde_json::{Map, Value};

use crate::column::Column;
use crate::fields;
use crate::kinds::{cells, columns, default_class, mark_default, row_conditions};
use crate::partial::partial;

/// The bookmark that ends the initial events of a watch keeps its metadata, because clients look for this.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// The version of `meta.k8s.io` that the client asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetaVersion {
    /// `meta.k8s.io/v1`.
    #[default]
    V1,
    /// `meta.k8s.io/v1beta1`.
    V1Beta1,
}

impl MetaVersion {
    /// The version of this name within `meta.k8s.io`.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        }
    }

    /// Such as `meta.k8s.io/v1`.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// How much of its object each row carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// Nothing.
    None,
    /// The metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

impl IncludeObject {
    /// Reads the query parameter `includeObject`, which may be empty.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" | "Metadata" => Some(Self::Metadata),
            "None" => Some(Self::None),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

/// What the client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// The version of the Table.
    pub version: MetaVersion,
    /// How much of its object each row carries.
    pub include: IncludeObject,
    /// The Table says what its columns are; in a watch only the first one does.
    pub headers: bool,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { version: MetaVersion::default(), include: IncludeObject::default(), headers: true }
    }
}

/// The Table of a list of objects, with the metadata of the list.
///
/// The objects are in the version in which the client asked for them, and say their `apiVersion` and `kind`, which
/// rows repeat even though the items of a plain list do not.
pub fn table_of_list<'a, I>(
    kind: &Kind,
    objects: I,
    list_meta: Value,
    now: Timestamp,
    options: TableOptions,
) -> Value
where
    I: IntoIterator<Item = &'a Value>,
    I::IntoIter: Clone,
{
    let objects = objects.into_iter();
    // Only in a list can one class be told to be the default among several.
    let default = if is_storage_class(kind) { default_class(objects.clone()) } else { None };
    let rows = objects.map(|object| {
        let mut cells = cells(kind, object, now);
        mark_default(&mut cells, default);
        row(kind, object, cells, options)
    });
    table(kind, rows.collect(), list_meta, options)
}

/// The Table of one object, which is also what an event of a watch carries.
pub fn table_of_one(kind: &Kind, object: &Value, now: Timestamp, options: TableOptions) -> Value {
    let mut metadata = Map::new();
    if let Some(revision) = object["metadata"].get("resourceVersion") {
        metadata.insert("resourceVersion".to_owned(), revision.clone());
    }
    let row = row(kind, object, cells(kind, object, now), options);
    table(kind, vec![row], Value::Object(metadata), options)
}

fn table(kind: &Kind, rows: Vec<Value>, metadata: Value, options: TableOptions) -> Value {
    let definitions = || columns(kind).iter().map(Column::definition).collect();
    fields::object([
        ("kind", "Table".into()),
        ("apiVersion", options.version.api_version().into()),
        ("metadata", metadata),
        ("columnDefinitions", if options.headers { Value::Array(definitions()) } else { Value::Null }),
        ("rows", rows.into()),
    ])
}

fn row(kind: &Kind, object: &Value, cells: Vec<Value>, options: TableOptions) -> Value {
    let ends_initial_events = || object["metadata"]["annotations"][INITIAL_EVENTS_END] == "true";
    let shown = match options.include {
        IncludeObject::Object => object.clone(),
        IncludeObject::Metadata => partial(object, options.version),
        IncludeObject::None if ends_initial_events() => partial(object, options.version),
        IncludeObject::None => Value::Null,
    };
    let mut row = fields::object([("cells", cells.into()), ("object", shown)]);
    if kind.kind == "Pod"
        && let Some(conditions) = row_conditions(object)
    {
        row["conditions"] = conditions;
    }
    row
}

fn is_storage_class(kind: &Kind) -> bool {
    kind.kind == "StorageClass"
}

#[cfg(test)]
mod tests {
    use model::timestamp::Timestamp;
    use serde_json::{Value, json};

    use super::{IncludeObject, MetaVersion, TableOptions, table_of_list, table_of_one};

    fn kind(api_version: &str, kind: &str) -> &'static schema::Kind {
        schema::table().kind(api_version, kind).expect("a kind of the table")
    }

    fn now() -> Timestamp {
        Timestamp::parse("2026-01-01T00:01:00Z").expect("valid")
    }

    fn claim() -> Value {
        json!({
            "kind": "ResourceClaim",
            "apiVersion": "resource.k8s.io/v1",
            "metadata": {"name": "c", "resourceVersion": "5", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {},
        })
    }

    #[test]
    fn a_row_carries_as_much_of_its_object_as_was_asked_for() {
        let claim = claim();
        let shown = |include| {
            let options = TableOptions { include, ..TableOptions::default() };
            let kind = kind("resource.k8s.io/v1", "ResourceClaim");
            table_of_one(kind, &claim, now(), options)["rows"][0]["object"].clone()
        };
        assert_eq!(shown(IncludeObject::None), Value::Null);
        assert_eq!(shown(IncludeObject::Object), claim);
        assert_eq!(
            shown(IncludeObject::Metadata),
            json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": claim["metadata"],
            })
        );
    }

    #[test]
    fn the_bookmark_after_the_initial_events_always_carries_its_metadata() {
        let mut claim = claim();
        claim["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        let options = TableOptions { include: IncludeObject::None, ..TableOptions::default() };
        let table = table_of_one(kind("resource.k8s.io/v1", "ResourceClaim"), &claim, now(), options);
        assert_eq!(table["rows"][0]["object"]["metadata"], claim["metadata"]);
    }

    #[test]
    fn later_events_of_a_watch_do_not_repeat_the_headings() {
        let options =
            TableOptions { headers: false, version: MetaVersion::V1Beta1, ..TableOptions::default() };
        let table = table_of_one(kind("resource.k8s.io/v1", "ResourceClaim"), &claim(), now(), options);
        assert_eq!(table["columnDefinitions"], Value::Null);
        assert_eq!(table["apiVersion"], "meta.k8s.io/v1beta1");
        assert_eq!(table["metadata"], json!({"resourceVersion": "5"}));
        assert_eq!(table["rows"][0]["cells"], json!(["c", "pending", "60s"]));
        assert_eq!(table["rows"][0]["object"]["apiVersion"], "meta.k8s.io/v1beta1");
    }

    #[test]
    fn an_empty_list_has_headings_and_no_rows() {
        let kind = kind("v1", "ServiceAccount");
        let meta = json!({"resourceVersion": "9", "continue": "x", "remainingItemCount": 2});
        let table = table_of_list(kind, &[], meta.clone(), now(), TableOptions::default());
        assert_eq!(table["metadata"], meta);
        assert_eq!(table["rows"], json!([]));
        assert_eq!(table["columnDefinitions"][0]["format"], "name");
        assert_eq!(table["columnDefinitions"][1]["name"], "Age");
    }

    #[test]
    fn a_pod_that_came_to_its_end_has_a_row_that_says_so() {
        let pod = json!({"metadata": {"name": "p"}, "status": {"phase": "Failed"}});
        let table = table_of_one(kind("v1", "Pod"), &pod, now(), TableOptions::default());
        assert_eq!(table["rows"][0]["conditions"][0]["type"], "Completed");
        assert_eq!(table["rows"][0]["conditions"][0]["reason"], "Failed");
        assert_eq!(table["metadata"], json!({}));
    }

    #[test]
    fn only_a_list_tells_which_storage_class_is_the_default() {
        let class = |name: &str, created: &str, default: &str| {
            let annotations = json!({"storageclass.kubernetes.io/is-default-class": default});
            json!({"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}})
        };
        let classes = [
            class("a", "2026-01-01T00:00:00Z", "true"),
            class("c", "2026-01-01T00:00:05Z", "true"),
            class("b", "2026-01-01T00:00:05Z", "true"),
            class("d", "2026-01-01T00:00:09Z", "false"),
        ];
        let kind = kind("storage.k8s.io/v1", "StorageClass");
        let table = table_of_list(kind, &classes, json!({}), now(), TableOptions::default());
        let names = table["rows"].as_array().expect("rows").iter().map(|row| &row["cells"][0]);
        assert_eq!(names.collect::<Vec<_>>(), ["a", "c", "b (default)", "d"]);
        let one = table_of_one(kind, &classes[2], now(), TableOptions::default());
        assert_eq!(one["rows"][0]["cells"][0], "b");
    }
}
