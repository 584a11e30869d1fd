//! The forms that names may have. Each check returns the faults it found, none when the name is well formed.
//!
//! Several faults of one name are several causes, so a check reports each of them, as Kubernetes does.

/// What is wrong with a name.
pub type Faults = Vec<&'static str>;

const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

fn faults(found: &[(bool, &'static str)]) -> Faults {
    found.iter().filter(|(wrong, _)| *wrong).map(|(_, fault)| *fault).collect()
}

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_label_form(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = bytes.first().zip(bytes.last());
    ends.is_some_and(|(first, last)| is_lower(*first) && is_lower(*last))
        && bytes.iter().all(|byte| is_lower(*byte) || *byte == b'-')
}

fn is_subdomain_form(text: &str) -> bool {
    text.split('.').all(is_label_form)
}

/// Letters and digits at both ends; between them also `-`, `_` and `.`.
fn is_name_form(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = bytes.first().zip(bytes.last());
    ends.is_some_and(|(first, last)| first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// A DNS label: `gpu-0`.
pub fn dns_label(text: &str) -> Faults {
    let fault = if is_subdomain_form(text) {
        "must not contain dots"
    } else {
        "must be lower case letters, digits and '-', with a letter or digit at both ends"
    };
    faults(&[(text.len() > LABEL_MAX, "may have at most 63 characters"), (!is_label_form(text), fault)])
}

/// A DNS label that starts with a letter: `my-service`.
pub fn dns_1035_label(text: &str) -> Faults {
    let form = is_label_form(text) && text.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
    faults(&[
        (text.len() > LABEL_MAX, "may have at most 63 characters"),
        (!form, "must be lower case letters, digits and '-', starting with a letter"),
    ])
}

/// DNS labels joined by dots: `gpu.example.com`.
pub fn dns_subdomain(text: &str) -> Faults {
    faults(&[
        (text.len() > SUBDOMAIN_MAX, "may have at most 253 characters"),
        (
            !is_subdomain_form(text),
            "must be lower case letters, digits, '-' and '.', with a letter or digit around each dot",
        ),
    ])
}

/// What can be one segment of a URL's path.
pub fn path_segment(text: &str) -> Faults {
    faults(&[
        (matches!(text, "." | ".."), "may not be '.' or '..'"),
        (text.contains('/'), "may not contain '/'"),
        (text.contains('%'), "may not contain '%'"),
    ])
}

/// The key of a label, with an optional domain: `topology.kubernetes.io/rack`.
pub fn label_key(text: &str) -> Faults {
    let (prefix, name) = match text.split('/').collect::<Vec<_>>().as_slice() {
        [name] => (None, *name),
        [prefix, name] => (Some(*prefix), *name),
        _ => return vec!["must be a name, or a DNS subdomain, one '/' and a name"],
    };
    let prefix_faults = prefix.map_or(Vec::new(), |prefix| {
        faults(&[
            (prefix.is_empty(), "the part before '/' must not be empty"),
            (prefix.len() > SUBDOMAIN_MAX, "the part before '/' may have at most 253 characters"),
            (!prefix.is_empty() && !is_subdomain_form(prefix), "the part before '/' must be a DNS subdomain"),
        ])
    });
    let name_faults = faults(&[
        (name.is_empty(), "the name must not be empty"),
        (name.len() > LABEL_MAX, "the name may have at most 63 characters"),
        (
            !is_name_form(name),
            "the name must be letters, digits, '-', '_' and '.', with a letter or digit at both ends",
        ),
    ]);
    [prefix_faults, name_faults].concat()
}

/// The value of a label; it may be empty.
pub fn label_value(text: &str) -> Faults {
    faults(&[
        (text.len() > LABEL_MAX, "may have at most 63 characters"),
        (
            !text.is_empty() && !is_name_form(text),
            "must be empty, or letters, digits, '-', '_' and '.', with a letter or digit at both ends",
        ),
    ])
}

/// An identifier as in C: `pcieRoot`.
pub fn c_identifier(text: &str) -> Faults {
    let form = text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    faults(&[(!form, "must be letters, digits and '_', not starting with a digit")])
}

/// A UUID in its usual lower-case form.
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
}

/// A version by the rules of semver.org 2.0.0.
pub fn is_semver(text: &str) -> bool {
    let (rest, build) = text.split_once('+').map_or((text, None), |(rest, build)| (rest, Some(build)));
    let (core, pre) = rest.split_once('-').map_or((rest, None), |(core, pre)| (core, Some(pre)));
    let number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_digit())
            && (part.len() == 1 || !part.starts_with('0'))
    };
    let word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let pre_part = |part: &str| number(part) || (word(part) && !part.bytes().all(|b| b.is_ascii_digit()));
    core.split('.').count() == 3
        && core.split('.').all(number)
        && pre.is_none_or(|pre| pre.split('.').all(pre_part))
        && build.is_none_or(|build| build.split('.').all(word))
}

#[cfg(test)]
mod tests {
    use super::{c_identifier, dns_label, dns_subdomain, is_semver, is_uuid, label_key, label_value};

    #[test]
    fn names_are_accepted_and_refused_as_kubernetes_does() {
        let long = "a".repeat(64);
        for good in ["a", "gpu-0", "0", &long[..63]] {
            assert!(dns_label(good).is_empty(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "a.b", "é"] {
            assert_eq!(dns_label(bad).len(), 1, "{bad}");
        }
        assert_eq!(dns_label(&long).len(), 1);
        assert_eq!(dns_label(&"-".repeat(64)).len(), 2);
        assert!(dns_subdomain("a.b-c.0").is_empty());
        assert_eq!(dns_subdomain("a..b").len(), 1);
        assert!(
            c_identifier("_a9").is_empty() && !c_identifier("9a").is_empty() && !c_identifier("").is_empty()
        );
    }

    #[test]
    fn an_empty_label_key_has_two_faults() {
        assert_eq!(label_key("").len(), 2);
        assert_eq!(label_key("a/b/c").len(), 1);
        assert_eq!(label_key("/b").len(), 1);
        assert!(label_key("example.com/My.Name").is_empty());
        assert!(label_value("").is_empty());
        assert_eq!(label_value("-").len(), 1);
    }

    #[test]
    fn versions_follow_semver_strictly() {
        for good in ["1.2.3", "0.0.0", "1.2.3-rc.1", "1.2.3+build.005", "1.2.3-0a", "1.2.3--"] {
            assert!(is_semver(good), "{good}");
        }
        for bad in ["1.2", "v1.2.3", "01.2.3", "1.2.3-01", "1.2.3-", "1.2.3+", "1.2.3-a..b", "1.2.3.4", ""] {
            assert!(!is_semver(bad), "{bad}");
        }
        assert!(is_uuid("01234567-89ab-cdef-0123-456789abcdef"));
        assert!(!is_uuid("01234567-89AB-cdef-0123-456789abcdef"));
    }
}
