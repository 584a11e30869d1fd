//! One line of a watch: what happened, and to what.
//!
//! Servers say what happened first, so the object is read straight into its type, in one pass over the line. A line that begins
//! otherwise is looked through before.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Gone;
use super::any::{Readers, SomeObject};
use crate::answer::Status;

/// A line that was read.
pub(crate) enum Line {
    /// An object is new or has changed.
    Applied(SomeObject),
    /// An object is gone.
    Deleted(SomeObject),
    /// Everything up to this version has been said.
    Bookmark { version: String, initial_end: bool },
    /// The watch ends, and why.
    Error(Status),
    /// There is an object that cannot be read.
    Unreadable { object: Gone, version: String, why: String },
}

/// Reads a line. A line that does not even name an object is an error.
pub(crate) fn read(readers: Readers, line: &[u8]) -> Result<Line, String> {
    if let Some(Ok(read)) = usual(line).map(|(happened, object)| content(readers, happened, object)) {
        return Ok(read);
    }
    let envelope: Envelope<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let (Some(happened), Some(object)) = (envelope.happened, envelope.object) else {
        return Err("a line of the watch says nothing".to_owned());
    };
    content(readers, happened, object.get().as_bytes()).or_else(|error| {
        let named: NamedObject = serde_json::from_str(object.get()).map_err(|_| error.to_string())?;
        let (object, version) = named.identity();
        Ok(Line::Unreadable { object, version, why: error.to_string() })
    })
}

/// Reads the objects of a page one by one, after reading them all at once has failed.
pub(crate) fn read_page(readers: Readers, json: &[u8]) -> Result<(Vec<Line>, objects::ListMeta), String> {
    #[derive(Deserialize)]
    struct Page<'a> {
        metadata: objects::ListMeta,
        #[serde(borrow)]
        items: Vec<&'a RawValue>,
    }
    let page: Page<'_> = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let read = |raw: &&RawValue| match (readers.read)(raw.get().as_bytes()) {
        Ok(object) => Ok(Line::Applied(object)),
        Err(error) => {
            let named: NamedObject = serde_json::from_str(raw.get()).map_err(|_| error.to_string())?;
            let (object, version) = named.identity();
            Ok(Line::Unreadable { object, version, why: error.to_string() })
        }
    };
    let lines: Result<Vec<_>, String> = page.items.iter().map(read).collect();
    Ok((lines?, page.metadata))
}

/// The least that must be readable of an object.
#[derive(Deserialize)]
struct NamedObject {
    metadata: Name,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Name {
    #[serde(default)]
    namespace: String,
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    resource_version: String,
}

impl NamedObject {
    fn identity(self) -> (Gone, String) {
        let Name { namespace, name, uid, resource_version } = self.metadata;
        (Gone { namespace, name, uid }, resource_version)
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Happened {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

#[derive(Deserialize)]
struct BookmarkObject {
    metadata: BookmarkMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMeta {
    resource_version: String,
    #[serde(default)]
    annotations: Option<Annotations>,
}

#[derive(Default, Deserialize)]
struct Annotations {
    #[serde(default, rename = "k8s.io/initial-events-end")]
    initial_events_end: String,
}

/// What happened, and to what, which is not read yet.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    happened: Option<Happened>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
}

/// How servers begin a line, and what that says.
const BEGINNINGS: [(&[u8], Happened); 3] = [
    (br#"{"type":"ADDED","object":"#, Happened::Added),
    (br#"{"type":"MODIFIED","object":"#, Happened::Modified),
    (br#"{"type":"DELETED","object":"#, Happened::Deleted),
];

/// The object of a line that begins as servers begin them, and what happened to it. The line is not looked through for that, so
/// what is taken for the object may be none.
fn usual(line: &[u8]) -> Option<(Happened, &[u8])> {
    let (happened, object) = BEGINNINGS
        .iter()
        .find_map(|(beginning, happened)| Some((*happened, line.strip_prefix(*beginning)?)))?;
    Some((happened, object.trim_ascii_end().strip_suffix(b"}")?))
}

/// Reads the object of an event of which is known what happened.
fn content(readers: Readers, happened: Happened, object: &[u8]) -> Result<Line, serde_json::Error> {
    Ok(match happened {
        Happened::Added | Happened::Modified => Line::Applied((readers.read)(object)?),
        Happened::Deleted => Line::Deleted((readers.read)(object)?),
        Happened::Error => Line::Error(serde_json::from_slice(object)?),
        Happened::Bookmark => {
            let meta = serde_json::from_slice::<BookmarkObject>(object)?.metadata;
            let initial_end = meta.annotations.is_some_and(|marks| marks.initial_events_end == "true");
            Line::Bookmark { version: meta.resource_version, initial_end }
        }
    })
}

#[cfg(test)]
mod tests {
    use objects::core::pod::Pod;

    use super::{Line, Readers, read};

    fn said(line: &str) -> String {
        match read(Readers::of::<Pod>(), line.as_bytes()) {
            Ok(Line::Applied(pod)) => format!("applied {}", pod.metadata().name),
            Ok(Line::Deleted(pod)) => format!("deleted {}", pod.metadata().name),
            Ok(Line::Bookmark { version, initial_end }) => format!("bookmark {version} {initial_end}"),
            Ok(Line::Error(status)) => format!("{:?}", status.into_answer::<()>(None, None)),
            Ok(Line::Unreadable { object, version, .. }) => {
                format!("unreadable {} at {version}", object.name)
            }
            Err(_) => "broken".to_owned(),
        }
    }

    #[test]
    fn a_line_says_what_happened_to_which_object() {
        let pod =
            r#""object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","resourceVersion":"7"}}"#;
        let table = [
            (format!(r#"{{"type":"ADDED",{pod}}}"#), "applied a"),
            (format!(r#"{{"type":"MODIFIED",{pod}}}"#), "applied a"),
            (format!(r#"{{"type":"DELETED",{pod}}}"#), "deleted a"),
            (format!(r#"{{{pod},"type":"DELETED"}}"#), "deleted a"),
            (format!(r#"{{ "type": "ADDED", {pod} }}"#), "applied a"),
            (format!("{{\"type\":\"ADDED\",{pod}}}\n"), "applied a"),
            (format!(r#"{{"type":"ADDED",{pod},"more":{{"a":1}}}}"#), "applied a"),
            (format!(r#"{{"type":"ADDED",{pod}}}}}"#), "broken"),
            (format!(r#"{{"type":"ADDED",{pod}"#), "broken"),
            (r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9"}}}"#.to_owned(), "bookmark 9 false"),
            (
                r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#
                    .to_owned(),
                "bookmark 9 true",
            ),
            (r#"{"type":"ERROR","object":{"code":410,"message":"too old"}}"#.to_owned(), r#"Gone("too old")"#),
            (
                r#"{"type":"ADDED","object":{"metadata":{"name":"b","resourceVersion":"8","labels":7}}}"#.to_owned(),
                "unreadable b at 8",
            ),
            (r#"{"type":"ADDED","object":{"metadata":{"na"#.to_owned(), "broken"),
            ("{}".to_owned(), "broken"),
        ];
        for (line, expected) in table {
            assert_eq!(said(&line), expected, "{line}");
        }
    }
}
