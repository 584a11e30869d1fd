//! What a path and its query ask for.

use std::collections::BTreeMap;

use schema::{Kind, Scope, table};

use crate::status::Failure;

/// A resource, an object or a part of one.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub kind: &'static Kind,
    /// Empty for kinds that live in no namespace, and for all namespaces.
    pub namespace: String,
    pub name: Option<String>,
    pub subresource: Option<String>,
}

impl Target {
    /// Reads a path below `/api` or `/apis`.
    pub(crate) fn read(path: &str) -> Result<Self, Failure> {
        // A slash that was escaped separates all the same: no name has one.
        let path = decode(path);
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return Err(Failure::no_such_path()),
        };
        // `namespaces/x/status` is a part of the namespace, `namespaces/x/pods` a resource in it.
        let of_namespace = |part: &str| group.is_empty() && matches!(part, "status" | "finalize");
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if rest.first().is_some_and(|part| !of_namespace(part)) => {
                (*namespace, rest)
            }
            rest => ("", rest),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (*plural, None, None),
            [plural, name] => (*plural, Some(*name), None),
            [plural, name, subresource] => (*plural, Some(*name), Some(*subresource)),
            _ => return Err(Failure::no_such_path()),
        };
        let kind = table().resource(group, version, plural).ok_or_else(Failure::no_such_path)?;
        let placed = match kind.scope {
            Scope::Cluster => namespace.is_empty(),
            Scope::Namespaced => !namespace.is_empty() || (name.is_none() && subresource.is_none()),
        };
        let served = match subresource {
            None => true,
            Some("status") => kind.status,
            Some(name) => kind.parts.iter().any(|part| part.name == name),
        };
        if !placed || !served || name.is_some_and(str::is_empty) {
            return Err(Failure::no_such_path());
        }
        Ok(Self {
            kind,
            namespace: namespace.to_owned(),
            name: name.map(str::to_owned),
            subresource: subresource.map(str::to_owned),
        })
    }
}

/// A part of a path with its percent signs resolved.
fn decode(part: &str) -> String {
    let bytes = part.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| part.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// A request's options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(BTreeMap<String, Vec<String>>);

impl Query {
    pub(crate) fn read(query: Option<&str>) -> Self {
        let mut options: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            options.entry(name.into_owned()).or_default().push(value.into_owned());
        }
        Self(options)
    }

    /// The first value, empty if there is none.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).and_then(|values| values.first()).map_or("", String::as_str)
    }

    pub(crate) fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// An integer, if the option is there.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, Failure> {
        match self.get(name) {
            "" => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|_| Failure::bad_request(format!("{name} must be an integer, not {text:?}"))),
        }
    }

    /// A flag: there and neither `false` nor `0`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.has(name) && !matches!(self.get(name), "false" | "0" | "False" | "FALSE")
    }
}

#[cfg(test)]
mod tests {
    use super::{Query, Target};

    #[test]
    fn paths_are_read_as_kubernetes_builds_them() {
        let read = |path: &str| {
            Target::read(path).map(|target| {
                (
                    target.kind.kind.clone(),
                    target.namespace,
                    target.name.unwrap_or_default(),
                    target.subresource.unwrap_or_default(),
                )
            })
        };
        let text =
            |a: &str, b: &str, c: &str, d: &str| (a.to_owned(), b.to_owned(), c.to_owned(), d.to_owned());
        assert_eq!(read("/api/v1/pods").ok(), Some(text("Pod", "", "", "")));
        assert_eq!(read("/api/v1/namespaces/a/pods/b/status").ok(), Some(text("Pod", "a", "b", "status")));
        assert_eq!(read("/api/v1/namespaces/a").ok(), Some(text("Namespace", "", "a", "")));
        assert_eq!(read("/api/v1/namespaces/a/finalize").ok(), Some(text("Namespace", "", "a", "finalize")));
        assert_eq!(
            read("/apis/resource.k8s.io/v1/resourceslices/x%2Fy").map_err(|failure| failure.code),
            Err(404)
        );
        for bad in [
            "/api/v1/pods/x",
            "/api/v1/nodes/a/binding",
            "/apis/x/v1/y",
            "/api/v1/namespaces/a/nodes",
            "/api",
            "/",
        ] {
            assert_eq!(read(bad).map_err(|failure| failure.code), Err(404), "{bad}");
        }
    }

    #[test]
    fn options_are_decoded() {
        let query = Query::read(Some("labelSelector=a%3Db&watch=1&limit=x&dryRun=All&dryRun=B"));
        assert_eq!(query.get("labelSelector"), "a=b");
        assert!(query.flag("watch") && !query.flag("pretty"));
        assert!(query.integer("limit").is_err());
        assert_eq!(query.all("dryRun").len(), 2);
    }
}
