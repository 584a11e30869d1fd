//! Reads the table's text.
//!
//! ```text
//! package resource.v1                          the structures below are resource.v1.NAME
//! serves resource.k8s.io/v1                    the kinds below are of this version
//! kind ResourceClaim resourceclaims namespaced status short=rc categories=all
//! kind Pod pods namespaced returned post=binding:Binding,eviction:policy/v1/Eviction
//!                                              returned: a deletion is answered with the object; singly: one at a time
//!                                              upsert: a PUT can make it; sentonly: it can only be POSTed
//!                                              post=, put=: paths below an object, and the kind that is sent there
//! select spec.nodeName name=metadata.name      the kind above can be selected by these fields; name= where it differs
//!
//! # What somebody asks for.                    directly above a type or a field: its description
//! type DeviceRequest atomic                    a structure; atomic: applied as one value
//!   name string! required                      !  always written    ?  optional, zero is kept
//!   count@4 int64                              @4 its number in protobuf; @2.4 inside of message 2, inlined here
//!                                              (none: it has no form there, such as `any` where upstream has fields)
//!   adminAccess bool?                          ~  null when unset   (none) left out when zero
//!   selectors []DeviceSelector atomic          [] list of           {} map of
//!   conditions []meta.v1.Condition keys=type patch=merge:type
//!   names []string minitems=1 maxitems=8 minlength=1 maxlength=63 pattern=dnslabel
//!   count int32 minimum=1
//!   ensure has(self.a) != has(self.b) :: set exactly one of a and b
//! ```
//!
//! A structure that has no description takes those of the structure of the same name in the group's first version here.

use std::collections::BTreeMap;
use std::num::ParseIntError;
use std::str::FromStr;

use thiserror::Error;

use crate::table::{
    Field, Kind, Limits, ListKind, Part, PartVerb, Patch, Presence, Rule, Scalar, Scope, Selectable, Shape,
    Struct, StructId, Table,
};

/// The files of the table: name and text.
pub(crate) const SOURCES: &[(&str, &str)] = &[
    ("meta.v1", include_str!("../tables/meta.v1.table")),
    ("core.v1", include_str!("../tables/core.v1.table")),
    ("apps.v1", include_str!("../tables/apps.v1.table")),
    ("autoscaling.v2", include_str!("../tables/autoscaling.v2.table")),
    ("batch.v1", include_str!("../tables/batch.v1.table")),
    ("coordination.v1", include_str!("../tables/coordination.v1.table")),
    ("coordination.v1beta1", include_str!("../tables/coordination.v1beta1.table")),
    ("coordination.v1alpha2", include_str!("../tables/coordination.v1alpha2.table")),
    ("events.v1", include_str!("../tables/events.v1.table")),
    ("networking.v1", include_str!("../tables/networking.v1.table")),
    ("policy.v1", include_str!("../tables/policy.v1.table")),
    ("resource.v1", include_str!("../tables/resource.v1.table")),
    ("resource.v1beta2", include_str!("../tables/resource.v1beta2.table")),
    ("resource.v1beta1", include_str!("../tables/resource.v1beta1.table")),
    ("resource.v1alpha3", include_str!("../tables/resource.v1alpha3.table")),
    ("reviews.v1", include_str!("../tables/reviews.v1.table")),
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
        let mut comment = String::new();
        for (at, line) in text.lines().enumerate() {
            let bad = |what: String| BadLine { file: (*file).to_owned(), line: at + 1, what };
            if let Some(words) = line.trim_start().strip_prefix('#') {
                comment.push_str(if comment.is_empty() { "" } else { " " });
                comment.push_str(words.trim());
                continue;
            }
            let description = std::mem::take(&mut comment);
            let last = |structs: &'_ mut Vec<Struct>| -> Result<usize, BadLine> {
                structs.len().checked_sub(1).ok_or_else(|| bad("a field before any type".to_owned()))
            };
            match reader.line(line).map_err(bad)? {
                Line::Nothing => {}
                Line::Kind(kind) => kinds.push(kind),
                Line::Select(fields) => {
                    let kind: Option<&mut Kind> = kinds.last_mut();
                    kind.ok_or_else(|| bad("select before any kind".to_owned()))?.selectable.extend(fields);
                }
                Line::Struct(new) => structs.push(Struct { description, ..new }),
                Line::Field(field) => {
                    let at = last(&mut structs)?;
                    structs[at].fields.push(Field { description, ..field });
                }
                Line::Rule(rule) => {
                    let at = last(&mut structs)?;
                    structs[at].rules.push(rule);
                }
            }
        }
    }
    structs.iter_mut().for_each(Struct::settle);
    describe_like_first_version(&mut structs);
    Ok(Table::new(structs, names, kinds))
}

/// Later versions in the order of the files borrow the descriptions of the first one.
fn describe_like_first_version(structs: &mut [Struct]) {
    let mut known: BTreeMap<(String, String, String), String> = BTreeMap::new();
    for each in structs {
        let mut parts = each.name.split('.');
        let group = parts.next().unwrap_or_default().to_owned();
        let name = parts.next_back().unwrap_or_default().to_owned();
        let Struct { description, fields, .. } = each;
        let own = std::iter::once((String::new(), description));
        for (field, text) in own.chain(fields.iter_mut().map(|f| (f.name.clone(), &mut f.description))) {
            let key = (group.clone(), name.clone(), field);
            if text.is_empty() {
                text.clone_from(known.get(&key).unwrap_or(&String::new()));
            } else {
                known.entry(key).or_insert_with(|| text.clone());
            }
        }
    }
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
    Select(Vec<Selectable>),
    Struct(Struct),
    Field(Field),
    Rule(Rule),
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
            ["ensure", ..] => Line::Rule(rule(line)?),
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
            ["select", fields @ ..] => Line::Select(fields.iter().map(|field| selectable(field)).collect()),
            ["type", name, rest @ ..] => Line::Struct(Struct {
                name: format!("{}.{name}", self.package),
                fields: Vec::new(),
                atomic: rest.contains(&"atomic"),
                description: String::new(),
                rules: Vec::new(),
                written: Vec::new(),
                defaulted: Vec::new(),
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
            returns_deleted: rest.contains(&"returned"),
            deleted_singly: rest.contains(&"singly"),
            made_by_replacing: rest.contains(&"upsert"),
            sent_only: rest.contains(&"sentonly"),
            parts: [("post=", PartVerb::Create), ("put=", PartVerb::Update)]
                .into_iter()
                .flat_map(|(prefix, verb)| list(prefix).into_iter().map(move |text| part(&text, verb, kind)))
                .collect(),
            selectable: Vec::new(),
            protobuf: false,
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
        let (name, numbers) = name.split_once('@').unwrap_or((name, ""));
        let numbers = numbers.split('.').filter(|number| !number.is_empty()).map(str::parse);
        let mut field = Field {
            name: name.to_owned(),
            numbers: numbers.collect::<Result<_, _>>().map_err(|_| format!("{name} has a bad number"))?,
            shape: shape_read,
            presence,
            required: false,
            list: ListKind::Atomic,
            atomic: false,
            patch: Patch::Plain,
            default: None,
            allowed: Vec::new(),
            ours: None,
            description: String::new(),
            limits: Limits::default(),
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

/// `binding:Binding`, `eviction:policy/v1/Eviction`, or `finalize` to which the kind itself is sent.
fn part(text: &str, verb: PartVerb, own: &str) -> Part {
    let (name, of) = text.split_once(':').unwrap_or((text, own));
    let (api_version, kind) = match of.rsplit_once('/') {
        Some((api_version, kind)) => (Some(api_version.to_owned()), kind),
        None => (None, of),
    };
    Part { name: name.to_owned(), verb, api_version, kind: kind.to_owned() }
}

/// `spec.nodeName`, or `name=metadata.name` where a selector has another name for the field.
fn selectable(text: &str) -> Selectable {
    let (name, path) = text.split_once('=').unwrap_or((text, text));
    Selectable { name: name.to_owned(), path: format!("/{}", path.replace('.', "/")), unset: "" }
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
        "pattern" => field.limits.pattern = Some(pattern(argument)?),
        "minitems" => field.limits.items_min = Some(number(argument)?),
        "maxitems" => field.limits.items_max = Some(number(argument)?),
        "minlength" => field.limits.length_min = Some(number(argument)?),
        "maxlength" => field.limits.length_max = Some(number(argument)?),
        "minimum" => field.limits.value_min = Some(number(argument)?),
        "maximum" => field.limits.value_max = Some(number(argument)?),
        other => return Err(format!("unknown flag {other:?}")),
    }
    Ok(())
}

fn number<T: FromStr<Err = ParseIntError>>(argument: &str) -> Result<T, String> {
    argument.parse().map_err(|error| format!("{argument:?}: {error}"))
}

/// The forms of names by what they are called; with a question mark an empty text will do too.
fn pattern(form: &str) -> Result<String, String> {
    const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
    if let Some(form) = form.strip_suffix('?') {
        return pattern(form).map(|inner| format!("^({})?$", inner.trim_matches(['^', '$'])));
    }
    let subdomain = format!(r"{LABEL}(\.{LABEL})*");
    Ok(match form {
        "dnslabel" => format!("^{LABEL}$"),
        "dnssubdomain" => format!("^{subdomain}$"),
        "labelkey" => format!("^({subdomain}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$"),
        "attribute" => r"^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*/[A-Za-z_][A-Za-z0-9_]{0,31}$".to_owned(),
        "reason" => "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$".to_owned(),
        "truth" => "^(True|False|Unknown)$".to_owned(),
        other => return Err(format!("unknown form {other:?}")),
    })
}

fn rule(line: &str) -> Result<Rule, String> {
    let text = line.trim().trim_start_matches("ensure").trim();
    let (expression, message) =
        text.split_once(" :: ").ok_or_else(|| format!("a rule without a message: {text:?}"))?;
    Ok(Rule { expression: expression.trim().to_owned(), message: message.trim().to_owned() })
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
    fn the_versions_of_a_kind_differ_in_shape_alone() {
        let table = read(SOURCES).expect("every line of the table is well formed");
        for kind in table.kinds() {
            let versions = table.kinds().iter().filter(|other| {
                (other.kind == kind.kind && other.group() == kind.group()) && !kind.group().is_empty()
            });
            for other in versions {
                assert_eq!(
                    (other.returns_deleted, other.made_by_replacing, &other.selectable, &other.parts),
                    (kind.returns_deleted, kind.made_by_replacing, &kind.selectable, &kind.parts),
                    "{} in {} and {}",
                    kind.kind,
                    kind.api_version,
                    other.api_version
                );
            }
        }
    }

    #[test]
    fn only_our_own_kinds_and_those_we_just_keep_have_no_protobuf_form() {
        let table = read(SOURCES).expect("every line of the table is well formed");
        let without: Vec<&str> =
            table.kinds().iter().filter(|kind| !kind.protobuf).map(|kind| kind.kind.as_str()).collect();
        let ours = ["DeviceAttachment", "NodeTopology", "PodSchedulingContext", "Workload"];
        assert_eq!(without, [&["HorizontalPodAutoscaler", "Ingress"], &ours[..]].concat());
    }

    #[test]
    fn a_kind_says_what_it_can_be_selected_by_and_what_it_is_when_unset() {
        let table = read(SOURCES).expect("every line of the table is well formed");
        let unset = |kind: &str, name: &str| {
            let kind = table.kind("v1", kind).expect("served");
            let field = kind.selectable.iter().find(|field| field.name == name).expect("selectable");
            (field.path.as_str(), field.unset)
        };
        assert_eq!(unset("Pod", "spec.hostNetwork"), ("/spec/hostNetwork", "false"));
        assert_eq!(unset("Pod", "spec.nodeName"), ("/spec/nodeName", ""));
        assert_eq!(unset("ReplicationController", "status.replicas"), ("/status/replicas", "0"));
        assert_eq!(unset("Namespace", "name"), ("/metadata/name", ""));
    }

    #[test]
    fn a_comment_directly_above_a_line_describes_it() {
        let text = "# The file.\n\npackage g.v1\n# Lost.\n\n# What it\n# is.\ntype A\n  # How many.\n  b int32\n  c int32\n";
        let later = "package g.v1beta1\ntype A\n  b int32\n";
        let table = read(&[("g.v1", text), ("g.v1beta1", later)]).expect("the lines are well formed");
        for name in ["g.v1.A", "g.v1beta1.A"] {
            let id = table.find(name).expect("the type is there");
            assert_eq!(table.get(id).description, "What it is.");
            assert_eq!(table.get(id).field("b").map(|field| field.description.as_str()), Some("How many."));
        }
        let id = table.find("g.v1.A").expect("the type is there");
        assert_eq!(table.get(id).field("c").map(|field| field.description.as_str()), Some(""));
    }

    #[test]
    fn limits_and_rules_are_read() {
        let text = "package g.v1\ntype A\n  ensure self.b > 1 :: b is too small\n  b []string maxitems=3 pattern=dnslabel\n";
        let table = read(&[("g.v1", text)]).expect("the lines are well formed");
        let a = &table.structs()[0];
        assert_eq!(a.rules[0].expression, "self.b > 1");
        assert_eq!(a.rules[0].message, "b is too small");
        assert_eq!(a.fields[0].limits.items_max, Some(3));
        assert!(read(&[("x", "package p\ntype A\n  ensure self.b\n")]).is_err());
    }

    #[test]
    fn a_reference_to_an_unknown_type_names_the_line() {
        let error = read(&[("x", "package p\ntype A\n  b Missing?\n")]).expect_err("Missing is not there");
        assert_eq!(error.to_string(), "x:3: unknown type \"p.Missing\"");
    }
}
