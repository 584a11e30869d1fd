//! What has been said so far: of each object its uid and version, and nothing else.
//!
//! With it a second list of the same objects says only what is new, what changed, and what is no longer there.

use objects::meta::ObjectMeta;
use rustc_hash::FxHashMap;

use super::Gone;

/// The objects that the consumer knows.
#[derive(Default)]
pub(crate) struct Known {
    objects: FxHashMap<(Box<str>, Box<str>), Said>,
    /// Counts the lists, to tell what this one has not named.
    round: u32,
}

struct Said {
    uid: Box<str>,
    version: Box<str>,
    round: u32,
}

/// What an object is to somebody who knows the others.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// It is known in this version.
    None,
    /// It is new or has changed.
    Applied,
    /// Another one of this name was known, which must be gone.
    Succeeded(Gone),
}

impl Known {
    /// A list begins, which will name everything that is there.
    pub(crate) fn begin_list(&mut self) {
        self.round = self.round.wrapping_add(1);
    }

    /// Hears of an object.
    pub(crate) fn hear(&mut self, namespace: &str, name: &str, uid: &str, version: &str) -> News {
        let said = Said { uid: uid.into(), version: version.into(), round: self.round };
        let Some(before) = self.objects.insert((namespace.into(), name.into()), said) else {
            return News::Applied;
        };
        if &*before.uid != uid {
            let (namespace, name) = (namespace.to_owned(), name.to_owned());
            return News::Succeeded(Gone { namespace, name, uid: before.uid.into() });
        }
        // An object without a version cannot be told from itself.
        if !version.is_empty() && &*before.version == version { News::None } else { News::Applied }
    }

    /// Hears that an object was deleted, and says whether it was known.
    pub(crate) fn forget(&mut self, meta: &ObjectMeta) -> bool {
        let key = (Box::from(&*meta.namespace), Box::from(&*meta.name));
        match self.objects.get(&key) {
            Some(said) if *said.uid == *meta.uid => self.objects.remove(&key).is_some(),
            _ => false,
        }
    }

    /// The list has ended: forgets what it has not named, and says what that was, in order.
    pub(crate) fn end_list(&mut self) -> Vec<Gone> {
        let round = self.round;
        let mut gone: Vec<Gone> = self
            .objects
            .extract_if(|_, said| said.round != round)
            .map(|((namespace, name), said)| Gone {
                namespace: namespace.into(),
                name: name.into(),
                uid: said.uid.into(),
            })
            .collect();
        gone.sort();
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::{Gone, Known, News};

    fn gone(name: &str, uid: &str) -> Gone {
        Gone { namespace: "n".to_owned(), name: name.to_owned(), uid: uid.to_owned() }
    }

    #[test]
    fn a_second_list_says_only_what_differs() {
        let mut known = Known::default();
        known.begin_list();
        for name in ["kept", "changed", "replaced", "vanished"] {
            assert_eq!(known.hear("n", name, "1", "10"), News::Applied);
        }
        assert_eq!(known.end_list(), []);
        known.begin_list();
        assert_eq!(known.hear("n", "kept", "1", "10"), News::None);
        assert_eq!(known.hear("n", "changed", "1", "11"), News::Applied);
        assert_eq!(known.hear("n", "replaced", "2", "12"), News::Succeeded(gone("replaced", "1")));
        assert_eq!(known.hear("n", "new", "3", "13"), News::Applied);
        assert_eq!(known.end_list(), [gone("vanished", "1")]);
        known.begin_list();
        assert_eq!(known.end_list().len(), 4, "what vanished is said once");
    }
}
