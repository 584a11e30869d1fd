//! Sets of fields, as trees of path elements.
//!
//! Invariant: the path elements of a level are sorted and different, and every node is a member or has members below it.

use std::cmp::Ordering;

use serde_json::{Map, Value};
use thiserror::Error;

use super::path_element::PathElement;

/// A set of places in an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldSet<'a> {
    pub(super) nodes: Vec<Node<'a>>,
}

/// A place that is in the set, or is on the way to one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node<'a> {
    pub path_element: PathElement<'a>,
    pub member: bool,
    pub children: FieldSet<'a>,
}

/// Managed fields that cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("managed fields: {0}")]
pub struct BadFields(pub(super) String);

impl<'a> FieldSet<'a> {
    /// The set of these paths of field names.
    pub fn of(paths: &[&[&'a str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(path);
        }
        set
    }

    fn insert(&mut self, path: &[&'a str]) {
        let Some((first, rest)) = path.split_first() else { return };
        let path_element = PathElement::Field(first);
        let at =
            self.nodes.binary_search_by(|node| node.path_element.cmp(&path_element)).unwrap_or_else(|at| {
                self.nodes.insert(at, Node { path_element, member: false, children: Self::default() });
                at
            });
        if rest.is_empty() {
            self.nodes[at].member = true;
        } else {
            self.nodes[at].children.insert(rest);
        }
    }

    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether every place of the set is at the top.
    pub(super) fn is_flat(&self) -> bool {
        self.nodes.iter().all(|node| node.children.is_empty())
    }

    /// The set of the one place at `path_element`.
    pub(super) fn only(path_element: PathElement<'a>) -> Self {
        Self { nodes: vec![Node { path_element, member: true, children: Self::default() }] }
    }

    /// Adds a place whose path element is greater than all path elements of the level. A place without members is left out.
    pub(super) fn push(&mut self, path_element: PathElement<'a>, member: bool, children: Self) {
        debug_assert!(
            self.nodes.last().is_none_or(|last| last.path_element < path_element),
            "steps come in order"
        );
        if member || !children.is_empty() {
            self.nodes.push(Node { path_element, member, children });
        }
    }

    /// The node at `path_element`.
    pub(super) fn get(&self, path_element: &PathElement<'_>) -> Option<&Node<'a>> {
        self.nodes.binary_search_by(|node| node.path_element.cmp(path_element)).ok().map(|at| &self.nodes[at])
    }

    /// What is in either set.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let mut nodes = Vec::with_capacity(self.nodes.len() + other.nodes.len());
        let (mut left, mut right) = (self.nodes.into_iter().peekable(), other.nodes.into_iter().peekable());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            match a.path_element.cmp(&b.path_element) {
                Ordering::Less => nodes.extend(left.next()),
                Ordering::Greater => nodes.extend(right.next()),
                Ordering::Equal => nodes.extend(left.next().zip(right.next()).map(|(a, b)| Node {
                    path_element: a.path_element,
                    member: a.member || b.member,
                    children: a.children.union(b.children),
                })),
            }
        }
        nodes.extend(left);
        nodes.extend(right);
        Self { nodes }
    }

    /// What is in both sets.
    #[must_use]
    pub fn intersection(&self, other: &FieldSet<'_>) -> Self {
        let mut set = Self::default();
        let mut theirs = other.nodes.iter().peekable();
        for node in &self.nodes {
            while theirs.next_if(|their| their.path_element < node.path_element).is_some() {}
            if let Some(their) = theirs.next_if(|their| their.path_element == node.path_element) {
                let children = node.children.intersection(&their.children);
                set.push(node.path_element.clone(), node.member && their.member, children);
            }
        }
        set
    }

    /// What is in this set and not in the other.
    #[must_use]
    pub fn difference(mut self, other: &FieldSet<'_>) -> Self {
        self.subtract(other, |node, their| {
            node.member &= !their.member;
            node.children = std::mem::take(&mut node.children).difference(&their.children);
        });
        self
    }

    /// What is in this set and neither in the other nor below a place of the other.
    #[must_use]
    pub fn outside(mut self, other: &FieldSet<'_>) -> Self {
        self.subtract(other, |node, their| {
            node.member &= !their.member;
            let children = std::mem::take(&mut node.children);
            node.children = if their.member { Self::default() } else { children.outside(&their.children) };
        });
        self
    }

    fn subtract<'b>(&mut self, other: &'b FieldSet<'_>, reduce: impl Fn(&mut Node<'a>, &'b Node<'_>)) {
        if other.is_empty() {
            return;
        }
        let mut theirs = other.nodes.iter().peekable();
        self.nodes.retain_mut(|node| {
            while theirs.next_if(|their| their.path_element < node.path_element).is_some() {}
            if let Some(their) = theirs.next_if(|their| their.path_element == node.path_element) {
                reduce(node, their);
            }
            node.member || !node.children.is_empty()
        });
    }

    /// Every path of the set as messages write it: the members of a level before those below it.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect("", &mut paths);
        paths
    }

    fn collect(&self, prefix: &str, paths: &mut Vec<String>) {
        paths.extend(
            self.nodes.iter().filter(|node| node.member).map(|node| format!("{prefix}{}", node.path_element)),
        );
        for node in self.nodes.iter().filter(|node| !node.children.is_empty()) {
            node.children.collect(&format!("{prefix}{}", node.path_element), paths);
        }
    }

    /// Reads the JSON of managed fields.
    ///
    /// # Errors
    /// When a path element is malformed or the JSON is of another shape.
    pub fn from_json(fields: &'a Value) -> Result<Self, BadFields> {
        read(fields).map(|(set, _)| set)
    }

    /// Writes the JSON of managed fields.
    pub fn to_json(&self) -> Value {
        Value::Object(self.nodes.iter().map(write).collect())
    }
}

fn write(node: &Node<'_>) -> (String, Value) {
    let mut fields: Map<String, Value> = node.children.nodes.iter().map(write).collect();
    if node.member && !fields.is_empty() {
        fields.insert(".".to_owned(), Value::Object(Map::new()));
    }
    (node.path_element.text(), Value::Object(fields))
}

/// What is below a place, and whether the place itself is in the set.
fn read(fields: &Value) -> Result<(FieldSet<'_>, bool), BadFields> {
    let fields = match fields {
        Value::Object(fields) => fields,
        Value::Null => return Ok((FieldSet::default(), true)),
        other => return Err(BadFields(format!("{other} is no set of fields"))),
    };
    let mut nodes: Vec<Node<'_>> = Vec::with_capacity(fields.len());
    let mut member = false;
    for (text, below) in fields {
        if text == "." {
            member = true;
        } else if let Some(path_element) = PathElement::read(text).map_err(BadFields)? {
            let (children, member) = read(below)?;
            nodes.push(Node { path_element, member, children });
        }
    }
    // The order of texts is that of path elements except where a key or item is a number.
    if !nodes.is_sorted_by(|a, b| a.path_element < b.path_element) {
        nodes.sort_by(|a, b| a.path_element.cmp(&b.path_element));
        nodes.dedup_by(|b, a| a.path_element == b.path_element);
    }
    let member = member || nodes.is_empty();
    Ok((FieldSet { nodes }, member))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::FieldSet;

    fn set(fields: &Value) -> FieldSet<'_> {
        FieldSet::from_json(fields).expect("well formed")
    }

    #[test]
    fn a_set_is_written_as_it_was_read() {
        let fields = json!({"f:spec": {"f:containers": {
            "k:{\"name\":\"a\"}": {".": {}, "f:image": {}, "f:ports": {"k:{\"p\":443}": {}, "k:{\"p\":80}": {}}},
        }}});
        assert_eq!(set(&fields).to_json(), fields);
        assert!(FieldSet::from_json(&json!({"f:a": 1})).is_err());
    }

    #[test]
    fn operations_treat_a_place_and_what_is_below_it_apart() {
        let (a, b) = (json!({"f:x": {".": {}, "f:y": {}}}), json!({"f:x": {}, "f:z": {}}));
        assert_eq!(set(&a).union(set(&b)).to_json(), json!({"f:x": {".": {}, "f:y": {}}, "f:z": {}}));
        assert_eq!(set(&a).intersection(&set(&b)).to_json(), json!({"f:x": {}}));
        assert_eq!(set(&a).difference(&set(&b)).to_json(), json!({"f:x": {"f:y": {}}}));
        assert_eq!(set(&a).outside(&set(&b)).to_json(), json!({}));
        assert_eq!(set(&b).difference(&set(&a)).to_json(), json!({"f:z": {}}));
    }

    #[test]
    fn paths_are_told_level_by_level() {
        let fields = json!({"f:a": {"f:c": {}}, "f:b": {}, "f:l": {"k:{\"name\":\"x\"}": {}, "v:1": {}}});
        assert_eq!(set(&fields).paths(), [".b", ".a.c", ".l[name=\"x\"]", ".l[=1]"]);
        assert_eq!(FieldSet::of(&[&["b"], &["a", "c"]]).paths(), [".b", ".a.c"]);
    }
}
