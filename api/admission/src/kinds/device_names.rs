//! The forms of names and lists that several device kinds share.

use std::collections::BTreeSet;

use schema::Path;

use crate::cause::Causes;
use crate::names;

const DRIVER_MAX: usize = 63;
const POOL_MAX: usize = 253;
const IDENTIFIER_MAX: usize = 32;
const BINDING_CONDITIONS_MAX: usize = 4;
/// How much of a key a path shows.
const SHOWN_KEY_MAX: usize = DRIVER_MAX + 1 + IDENTIFIER_MAX;

/// A driver's name: a DNS subdomain of at most 63 bytes, in either case.
pub(crate) fn driver_name(name: &str, path: &Path<'_>, causes: &mut Causes) {
    if name.is_empty() {
        causes.required(path, "must be the name of a driver");
        return;
    }
    if name.len() > DRIVER_MAX {
        causes.too_long(path, DRIVER_MAX);
    }
    causes.malformed(path, name, names::dns_subdomain(&name.to_lowercase()));
}

/// A pool's name: DNS subdomains joined by slashes.
pub(crate) fn pool_name(name: &str, path: &Path<'_>, causes: &mut Causes) {
    if name.is_empty() {
        causes.required(path, "must be the name of a pool");
        return;
    }
    if name.len() > POOL_MAX {
        causes.too_long(path, POOL_MAX);
    }
    for part in name.split('/') {
        causes.malformed(path, part, names::dns_subdomain(part));
    }
}

/// The name of an attribute or capacity: an identifier, with an optional domain.
pub(crate) fn qualified_name(name: &str, path: &Path<'_>, causes: &mut Causes) {
    match name.split('/').collect::<Vec<_>>().as_slice() {
        [identifier] => c_identifier(identifier, path, causes),
        [domain, identifier] => {
            if domain.is_empty() {
                causes.invalid(path, "the domain must not be empty");
            } else {
                driver_name(domain, path, causes);
            }
            if identifier.is_empty() {
                causes.invalid(path, "the name must not be empty");
            } else {
                c_identifier(identifier, path, causes);
            }
        }
        // Kubernetes lets names with more slashes pass, and stored objects have them.
        _ => {}
    }
}

/// An attribute name with its domain, which must be lower case.
pub(crate) fn fully_qualified_name(name: &str, path: &Path<'_>, causes: &mut Causes) {
    match name.split('/').collect::<Vec<_>>().as_slice() {
        [identifier] => {
            c_identifier(identifier, path, causes);
            causes.invalid(path, "must have a domain, as in example.com/name");
        }
        [domain, identifier] => {
            if domain.is_empty() {
                causes.invalid(path, "the domain must not be empty");
            } else {
                if domain.len() > DRIVER_MAX {
                    causes.too_long(path, DRIVER_MAX);
                }
                causes.malformed(path, domain, names::dns_subdomain(domain));
            }
            if identifier.is_empty() {
                causes.invalid(path, "the name must not be empty");
            } else {
                c_identifier(identifier, path, causes);
            }
        }
        _ => {}
    }
}

/// Whether `fully_qualified_name` finds nothing wrong.
pub(crate) fn is_fully_qualified(name: &str) -> bool {
    let mut causes = Causes::default();
    fully_qualified_name(name, &Path::ROOT, &mut causes);
    causes.is_empty()
}

fn c_identifier(identifier: &str, path: &Path<'_>, causes: &mut Causes) {
    if identifier.len() > IDENTIFIER_MAX {
        causes.too_long(path, IDENTIFIER_MAX);
    }
    causes.malformed(path, identifier, names::c_identifier(identifier));
}

/// A map's key as a path shows it: a long one without its middle.
pub(crate) fn shown_key(key: &str) -> String {
    if key.len() <= SHOWN_KEY_MAX {
        return key.to_owned();
    }
    let shown = SHOWN_KEY_MAX - "...".len();
    let start = key.floor_char_boundary(shown.div_ceil(2));
    let end = key.ceil_char_boundary(key.len() - shown / 2);
    format!("{}...{}", &key[..start], &key[end..])
}

/// Both lists of conditions or neither, without repetition or overlap.
pub(crate) fn binding_conditions(ready: &[String], failed: &[String], path: &Path<'_>, causes: &mut Causes) {
    let ready_path = path.field("bindingConditions");
    let failed_path = path.field("bindingFailureConditions");
    for (list, path) in [(ready, &ready_path), (failed, &failed_path)] {
        causes.each(list, BINDING_CONDITIONS_MAX, path, |causes, condition, path| {
            causes.malformed(path, condition, names::label_key(condition));
        });
        let mut seen = BTreeSet::new();
        for (index, condition) in list.iter().enumerate() {
            if !seen.insert(condition) {
                causes.duplicate(&path.index(index), condition);
            }
        }
    }
    let both: BTreeSet<&String> = ready.iter().collect();
    for (index, condition) in failed.iter().enumerate() {
        if both.contains(condition) {
            causes.invalid(&failed_path.index(index), "the same condition cannot mean both ready and failed");
        }
    }
    if ready.is_empty() && !failed.is_empty() {
        causes.invalid(&ready_path, "must be set together with bindingFailureConditions");
    }
    if failed.is_empty() && !ready.is_empty() {
        causes.invalid(&failed_path, "must be set together with bindingConditions");
    }
}

/// A device's own time to become ready.
pub(crate) fn binding_timeout(timeout: Option<&str>, path: &Path<'_>, causes: &mut Causes) {
    let Some(timeout) = timeout else { return };
    match model::duration::parse(timeout) {
        Ok(length) if length.is_zero() => {
            causes.invalid(&path.field("bindingTimeout"), "must be longer than zero")
        }
        Ok(_) => {}
        Err(error) => causes.invalid(&path.field("bindingTimeout"), error.to_string()),
    }
}

/// Which calls to the node's plugin are left out.
pub(crate) fn skip_node_operations(operations: &[String], path: &Path<'_>, causes: &mut Causes) {
    const KNOWN: [&str; 3] = ["NodePrepareResources", "NodeUnprepareResources", "*"];
    let mut seen = BTreeSet::new();
    for (index, operation) in operations.iter().enumerate() {
        if !seen.insert(operation.as_str()) {
            causes.duplicate(&path.index(index), operation);
        }
        if !KNOWN.contains(&operation.as_str()) {
            causes.not_supported(&path.index(index), operation, &KNOWN);
        }
    }
    if seen.contains("NodePrepareResources")
        && !seen.contains("NodeUnprepareResources")
        && !seen.contains("*")
    {
        causes.invalid(
            path,
            "what is not prepared cannot be unprepared: NodeUnprepareResources must be left out too",
        );
    }
}
