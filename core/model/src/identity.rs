//! What tells objects apart, as types: what is one cannot be taken for another.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Makes a type of a text, which is read as such and never taken for another.
macro_rules! identity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(Arc<str>);

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> $name {
                $name(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> $name {
                $name(text.into())
            }
        }

        impl From<Arc<str>> for $name {
            fn from(text: Arc<str>) -> $name {
                $name(text)
            }
        }
    };
}

identity! {
    /// The uid of a pod.
    PodUid
}

identity! {
    /// The name of a node.
    NodeName
}

identity! {
    /// The uid of a claim.
    ClaimUid
}

identity! {
    /// The uid of a group of pods, of a group of groups, or of a workload that describes groups.
    GroupUid
}

identity! {
    /// The uid of what a claim is reserved for: a pod, or a group in the stead of its pods.
    ConsumerUid
}

impl From<&PodUid> for ConsumerUid {
    fn from(uid: &PodUid) -> ConsumerUid {
        ConsumerUid(uid.0.clone())
    }
}

impl From<&GroupUid> for ConsumerUid {
    fn from(uid: &GroupUid) -> ConsumerUid {
        ConsumerUid(uid.0.clone())
    }
}

impl ConsumerUid {
    /// Whether it is this pod.
    #[must_use]
    pub fn is(&self, pod: &PodUid) -> bool {
        self.0 == pod.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn an_identity_is_found_by_its_text() {
        let known: BTreeMap<PodUid, u8> = [("a".into(), 1), ("b".into(), 2)].into();
        assert_eq!((known.get("b"), known.get("c")), (Some(&2), None));
        assert!(ConsumerUid::from(&PodUid::from("a")).is(&PodUid::from("a")));
    }
}
