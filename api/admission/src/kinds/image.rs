//! References to images: what follows from them, and their form.

use objects::core::pod::PodSpec;
use schema::Path;

use crate::cause::Causes;

/// An image that may change behind its name is pulled each time, others once.
pub(crate) fn set_pull_policies(spec: &mut PodSpec) {
    for container in spec.containers.iter_mut().chain(&mut spec.init_containers) {
        if container.image_pull_policy.is_empty() {
            pull_policy(&container.image).clone_into(&mut container.image_pull_policy);
        }
    }
    for image in spec.volumes.iter_mut().filter_map(|volume| volume.image.as_mut()) {
        if image.pull_policy.is_empty() {
            pull_policy(&image.reference).clone_into(&mut image.pull_policy);
        }
    }
}

/// A reference has no blanks at its ends.
pub(crate) fn validate_edges(image: &str, container: &Path<'_>, causes: &mut Causes) {
    if image.trim() != image {
        causes.invalid(&container.field("image"), "must not begin or end with a blank");
    }
}

fn pull_policy(reference: &str) -> &'static str {
    if tag(reference) == Some("latest") { "Always" } else { "IfNotPresent" }
}

/// The tag of a well-formed reference, which is `latest` if it has neither a tag nor a digest.
fn tag(reference: &str) -> Option<&str> {
    let (rest, digest) = match reference.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (reference, None),
    };
    let last_slash = rest.rfind('/').map_or(0, |at| at + 1);
    let (name, tag) = match rest[last_slash..].split_once(':') {
        Some((last, tag)) => (&rest[..last_slash + last.len()], Some(tag)),
        None => (rest, None),
    };
    let well_formed = is_name(name) && tag.is_none_or(is_tag) && digest.is_none_or(is_digest);
    if !well_formed {
        return None;
    }
    match (tag, digest) {
        (None, None) => Some("latest"),
        (tag, _) => tag,
    }
}

/// A host, if the first part looks like one, and parts in lower case.
fn is_name(name: &str) -> bool {
    let host_like = |part: &str| {
        part == "localhost" || part.contains(['.', ':']) || part.chars().any(|c| c.is_ascii_uppercase())
    };
    let path = match name.split_once('/') {
        Some((host, path)) if host_like(host) => {
            let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
            if !host.chars().all(allowed) {
                return false;
            }
            path
        }
        _ => name,
    };
    let hexadecimal =
        path.len() == 64 && path.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    !hexadecimal && path.split('/').all(is_part)
}

/// Letters and digits, with single separators between them.
fn is_part(part: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
    edge(part.chars().next())
        && edge(part.chars().next_back())
        && part.chars().all(allowed)
        && !part.contains("..")
        && !part.contains("___")
        && !["._", "_.", ".-", "-.", "_-", "-_"].iter().any(|mix| part.contains(mix))
}

fn is_tag(tag: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    (1..=128).contains(&tag.len())
        && tag.bytes().next().is_some_and(word)
        && tag.bytes().all(|b| word(b) || matches!(b, b'.' | b'-'))
}

fn is_digest(digest: &str) -> bool {
    digest.split_once(':').is_some_and(|(algorithm, hex)| {
        !algorithm.is_empty() && hex.len() >= 32 && hex.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::pull_policy;

    #[test]
    fn only_latest_is_pulled_each_time() {
        for always in ["busybox", "busybox:latest", "registry.example.com:5000/a/b", "localhost/a"] {
            assert_eq!(pull_policy(always), "Always", "{always}");
        }
        let digest = format!("busybox@sha256:{}", "0".repeat(64));
        for once in ["busybox:1.36", "host:5000/a:1", digest.as_str(), "UPPER", "", "a:", "a b"] {
            assert_eq!(pull_policy(once), "IfNotPresent", "{once}");
        }
    }
}
