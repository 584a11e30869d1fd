//! The fields of a manifest, checked against its kind before anything else: a misspelt one is named with its place and the nearest
//! field that there is.
//!
//! Invariant: what is complained of here is what an API server would refuse with strict field validation.

use model::nearest::near;
use schema::yaml::tree::{self, Node};
use schema::{Kind, Mismatch, Oddity, Path, conform, table};

use crate::manifest::{BadInput, Manifest, tree_at};
use crate::shelf::kind_of;

/// Checks that every field of a manifest is known and of the right type. Manifests of unknown kinds are left alone.
///
/// # Errors
/// The first field that is not.
pub fn check_fields(manifest: &Manifest) -> Result<(), BadInput> {
    let Ok(kind) = kind_of(&manifest.value) else { return Ok(()) };
    let mut oddities = Vec::new();
    if let Err(mismatch) = conform(table(), kind.object, manifest.value.clone(), &mut oddities) {
        let Mismatch { path, expected, found } = mismatch;
        return Err(located(
            manifest,
            &path,
            Part::Value,
            format!("{path}: expected {expected}, found {found}"),
        ));
    }
    let Some(Oddity { path, within }) = oddities.first() else { return Ok(()) };
    // Of a map, such as labels, only the last part is the name of a field.
    let name = path.rsplit('.').next().unwrap_or(path);
    let known = table().get(*within).fields.iter().map(|field| field.name.as_str());
    let hint = match near(name, known) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("`kubectl explain {}` lists the fields that exist", holder_of(kind, path)),
    };
    Err(located(manifest, path, Part::Key, format!("unknown field {path:?}; hint: {hint}")))
}

/// The field that holds another, as `kubectl explain` wants it.
fn holder_of(kind: &Kind, path: &str) -> String {
    let names = path.split('.').map(|part| part.split('[').next().unwrap_or(part));
    let mut names: Vec<&str> = std::iter::once(kind.plural.as_str()).chain(names).collect();
    names.pop();
    names.join(".")
}

/// Whether the key of a field is wrong, or its value.
#[derive(Clone, Copy)]
enum Part {
    Key,
    Value,
}

/// A complaint about a field, with its spot in the text if it can be found there.
fn located(manifest: &Manifest, path: &str, part: Part, what: String) -> BadInput {
    let spot = manifest.text.as_ref().and_then(|text| {
        let tree = tree_at(text, manifest.place.line)?;
        let object = object_in(&tree, manifest)?;
        Some((text, find(object, &Path::ROOT, path, part)?))
    });
    match spot {
        Some((text, at)) => BadInput::in_text(&manifest.place.file, text, at, what),
        None => BadInput::at(manifest.place.clone(), what),
    }
}

/// The part of a document that a manifest was read from: all of it, or an element of a list.
fn object_in<'t>(document: &'t Node, manifest: &Manifest) -> Option<&'t Node> {
    let Some(tree::Value::List(items)) = entry(document, "items").map(|items| &items.value) else {
        return Some(document);
    };
    let name = |node: &Node| match &entry(entry(node, "metadata")?, "name")?.value {
        tree::Value::Text(name) => Some(name.clone()),
        _ => None,
    };
    let wanted = manifest.value["metadata"]["name"].as_str();
    items.iter().find(|item| item.at.line >= manifest.place.line && name(item).as_deref() == wanted)
}

fn entry<'t>(node: &'t Node, key: &str) -> Option<&'t Node> {
    let tree::Value::Map(entries) = &node.value else { return None };
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
}

/// Where the text has what a path names.
fn find(node: &Node, here: &Path<'_>, path: &str, part: Part) -> Option<tree::Place> {
    match &node.value {
        tree::Value::Map(entries) => entries.iter().find_map(|entry| {
            // Fields and keys of maps are written differently, and only the schema knows which it is.
            [here.field(&entry.key), here.key(&entry.key)].iter().find_map(|inner| {
                let told = inner.to_string();
                if told == path {
                    return Some(match part {
                        Part::Key => entry.at,
                        Part::Value => entry.node.at,
                    });
                }
                path.starts_with(&told).then(|| find(&entry.node, inner, path, part)).flatten()
            })
        }),
        tree::Value::List(nodes) => nodes.iter().enumerate().find_map(|(index, node)| {
            let inner = here.index(index);
            let told = inner.to_string();
            if told == path {
                return Some(node.at);
            }
            path.starts_with(&told).then(|| find(node, &inner, path, part)).flatten()
        }),
        _ => None,
    }
}
