//! Reads the table's text.
//!
//! ```text
//! package resource.v1                          the structures below are resource.v1.NAME
//! serves resource.k8s.io/v1                    the kinds below are of this version
//! kind ResourceClaim resourceclaims namespaced status short=rc categories=all
//! type DeviceRequest atomic                    a structure; atomic: applied as one value
//!   name string! required                      !  always written    ?  optional, zero is kept
//!   adminAccess bool?                          ~  null when unset   (none) left out when zero
//!   selectors []DeviceSelector atomic          [] list of           {} map of
//!   conditions []meta.v1.Condition keys=type patch=merge:type
//! ```

use std::collections::BTreeMap;

use thiserror::Error;

use crate::table::{Field, Kind, ListKind, Patch, Presence, Scalar, Scope, Shape, Struct, StructId, Table};

/// The files of the table: name and text.
pub(crate) const SOURCES: &[(&str, &str)] = &[
    ("meta.v1", include_str!("../tables/meta.v1.table")),
    ("core.v1", include_str!("../tables/core.v1.table")),
    ("apps.v1", include_str!("../tables/apps.v1.table")),
    ("batch.v1", include_str!("../tables/batch.v1.table")),
    ("coordination.v1", include_str!("../tables/coordination.v1.table")),
    ("events.v1", include_str!("../tables/events.v1.table")),
    ("policy.v1", include_str!("../tables/policy.v1.table")),
    ("resource.v1", include_str!("../tables/resource.v1.table")),
    ("resource.v1beta2", include_str!("../tables/resource.v1beta2.table")),
    ("resource.v1beta1", include_str!("../tables/resource.v1beta1.table")),
    ("resource.v1alpha3", include_str!("../tables/resource.v1alpha3.table")),
    ("scheduling.v1", include_str!("../tables/scheduling.v1.table")),
    ("scheduling.v1beta1", include_str!("../tables/scheduling.v1beta1.table")),
    ("scheduling.v1alpha3", include_str!("../tables/scheduling.v1alpha3.table")),
    ("storage.v1", include_str!("../tables/storage.v1.table")),
    ("supercargo.v1alpha1", include_str!("../tables/supercargo.v1alpha1.table")),
];

/// A line of the table that makes no sense.
#[derive(Debug, Error)]
#[error("{file}:{line}: {what}")]
pub(crate) struct BadLine {
    file: String,
    line: usize,
    what: String,
}

/// Reads all files; structures may refer to structures of any file.
pub(crate) fn read(sources: &[(&str, &str)]) -> Result<Table, BadLine> {
    let names = names(sources);
    let mut structs: Vec<Struct> = Vec::new();
    let mut kinds = Vec::new();
    for (file, text) in sources {
        let mut reader = Reader { names: &names, package: "", api_version: "" };
        for (at, line) in text.lines().enumerate() {
            let bad = |what: String| BadLine { file: (*file).to_owned(), line: at + 1, what };
            match reader.line(line).map_err(bad)? {
                Line::Nothing => {}
                Line::Kind(kind) => kinds.push(kind),
                Line::Struct(new) => structs.push(new),
                Line::Field(field) => {
                    let last = structs.last_mut().ok_or_else(|| bad("a field before any type".to_owned()))?;
                    last.fields.push(field);
                }
            }
        }
    }
    for each in &mut structs {
        each.fields.sort_by(|a, b| a.name.cmp(&b.name));
    }
    Ok(Table::new(structs, names, kinds))
}

fn names(sources: &[(&str, &str)]) -> BTreeMap<String, StructId> {
    let mut names = BTreeMap::new();
    let mut next = 0;
    for (_, text) in sources {
        let mut package = "";
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("package ") {
                package = name.trim();
            } else if let Some(rest) = line.strip_prefix("type ") {
                let name = rest.split(' ').next().unwrap_or(rest);
                names.insert(format!("{package}.{name}"), StructId(next));
                next += 1;
            }
        }
    }
    names
}

enum Line {
    Nothing,
    Kind(Kind),
    Struct(Struct),
    Field(Field),
}

struct Reader<'t> {
    names: &'t BTreeMap<String, StructId>,
    package: &'t str,
    api_version: &'t str,
}

impl<'t> Reader<'t> {
    fn line(&mut self, line: &'t str) -> Result<Line, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        Ok(match words.as_slice() {
            [] => Line::Nothing,
            [first, ..] if first.starts_with('#') => Line::Nothing,
            [name, shape, flags @ ..] if line.starts_with("  ") => {
                Line::Field(self.field(name, shape, flags)?)
            }
            ["package", name] => {
                self.package = name;
                Line::Nothing
            }
            ["serves", api_version] => {
                self.api_version = api_version;
                Line::Nothing
            }
            ["kind", kind, plural, scope, rest @ ..] => Line::Kind(self.kind(kind, plural, scope, rest)?),
            ["type", name, rest @ ..] => Line::Struct(Struct {
                name: format!("{}.{name}", self.package),
                fields: Vec::new(),
                atomic: rest.contains(&"atomic"),
            }),
            _ => return Err(format!("cannot read {line:?}")),
        })
    }

    fn kind(&self, kind: &str, plural: &str, scope: &str, rest: &[&str]) -> Result<Kind, String> {
        let list = |prefix: &str| -> Vec<String> {
            let found = rest.iter().find_map(|word| word.strip_prefix(prefix));
            found.map(|text| text.split(',').map(str::to_owned).collect()).unwrap_or_default()
        };
        Ok(Kind {
            api_version: self.api_version.to_owned(),
            kind: kind.to_owned(),
            plural: if plural == "-" { String::new() } else { plural.to_owned() },
            scope: match scope {
                "namespaced" => Scope::Namespaced,
                "cluster" => Scope::Cluster,
                other => return Err(format!("unknown scope {other:?}")),
            },
            status: rest.contains(&"status"),
            short: list("short="),
            categories: list("categories="),
            object: self.reference(kind)?,
        })
    }

    fn reference(&self, name: &str) -> Result<StructId, String> {
        let full = if name.contains('.') { name.to_owned() } else { format!("{}.{name}", self.package) };
        self.names.get(&full).copied().ok_or_else(|| format!("unknown type {full:?}"))
    }

    fn field(&self, name: &str, shape: &str, flags: &[&str]) -> Result<Field, String> {
        let bare = shape.trim_end_matches(['!', '?', '~']);
        let shape_read = self.shape(bare)?;
        let presence = match &shape[bare.len()..] {
            "" => Presence::OmitZero,
            "?" => Presence::Optional,
            "!" => Presence::Always,
            "~" | "?~" => Presence::Null,
            other => return Err(format!("unknown mark {other:?}")),
        };
        let mut field = Field {
            name: name.to_owned(),
            shape: shape_read,
            presence,
            required: false,
            list: ListKind::Atomic,
            atomic: false,
            patch: Patch::Plain,
            default: None,
            allowed: Vec::new(),
            ours: None,
        };
        for flag in flags {
            set_flag(&mut field, flag)?;
        }
        Ok(field)
    }

    fn shape(&self, text: &str) -> Result<Shape, String> {
        if let Some(rest) = text.strip_prefix("[]") {
            return Ok(Shape::List(Box::new(self.shape(rest)?)));
        }
        if let Some(rest) = text.strip_prefix("{}") {
            return Ok(Shape::Map(Box::new(self.shape(rest)?)));
        }
        Ok(Shape::Scalar(match text {
            "any" => return Ok(Shape::Any),
            "string" => Scalar::String,
            "bool" => Scalar::Bool,
            "int32" => Scalar::Int32,
            "int64" => Scalar::Int64,
            "double" => Scalar::Double,
            "quantity" => Scalar::Quantity,
            "time" => Scalar::Time,
            "microtime" => Scalar::MicroTime,
            "bytes" => Scalar::Bytes,
            "intorstring" => Scalar::IntOrString,
            other => return self.reference(other).map(Shape::Struct),
        }))
    }
}

fn set_flag(field: &mut Field, flag: &str) -> Result<(), String> {
    let (word, argument) = flag.split_once('=').unwrap_or((flag, ""));
    let words = |text: &str, separator: char| text.split(separator).map(str::to_owned).collect::<Vec<_>>();
    match word {
        "required" => field.required = true,
        "atomic" => field.list = ListKind::Atomic,
        "set" => field.list = ListKind::Set,
        "keys" => field.list = ListKind::Keys(words(argument, ',')),
        "atomicmap" => field.atomic = true,
        "granularmap" => field.atomic = false,
        "default" => field.default = Some(serde_json::from_str(argument).map_err(|error| error.to_string())?),
        "enum" => {
            field.allowed = words(argument, '|').into_iter().filter(|value| value != "\"\"").collect();
        }
        "ours" => field.ours = Some(argument.to_owned()),
        "patch" => field.patch = patch(argument)?,
        other => return Err(format!("unknown flag {other:?}")),
    }
    Ok(())
}

fn patch(argument: &str) -> Result<Patch, String> {
    let (strategy, key) = match argument.split_once(':') {
        Some((strategy, key)) => (strategy, Some(key.to_owned())),
        None => (argument, None),
    };
    Ok(match strategy {
        "merge" => Patch::Merge { key, retain_keys: false },
        "merge,retainKeys" => Patch::Merge { key, retain_keys: true },
        "retainKeys" => Patch::RetainKeys,
        "replace" => Patch::Replace,
        other => return Err(format!("unknown patch strategy {other:?}")),
    })
}

#[cfg(test)]
mod tests {
    use super::{SOURCES, read};
    use crate::table::{Presence, Shape};

    #[test]
    fn the_table_that_ships_can_be_read() {
        let table = read(SOURCES).expect("every line of the table is well formed");
        let kind = table.kind("resource.k8s.io/v1", "ResourceClaim").expect("claims are served");
        assert!(kind.status);
        let claim = table.get(kind.object);
        assert_eq!(claim.field("spec").map(|field| field.presence), Some(Presence::Always));
    }

    #[test]
    fn every_kind_that_is_served_has_metadata() {
        let table = read(SOURCES).expect("every line of the table is well formed");
        for kind in table.kinds() {
            let meta = table.get(kind.object).field("metadata").map(|field| &field.shape);
            assert_eq!(meta, table.find("meta.v1.ObjectMeta").map(Shape::Struct).as_ref(), "{}", kind.kind);
        }
    }

    #[test]
    fn a_reference_to_an_unknown_type_names_the_line() {
        let error = read(&[("x", "package p\ntype A\n  b Missing?\n")]).expect_err("Missing is not there");
        assert_eq!(error.to_string(), "x:3: unknown type \"p.Missing\"");
    }
}
