//! What happens while pods are being considered, so that a refusal that is out of date is not slept on.

use std::collections::BTreeMap;

use cluster::groups::Key;
use decisions::wake::{Wake, Wakes};

/// What happened that could help those that are being considered, since that began and until they are put back.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(BTreeMap<Key, Wakes>);

impl Heard {
    /// Listens for a pod from now on.
    pub fn begin(&mut self, key: &Key) {
        self.0.insert(key.clone(), Wakes::NONE);
    }

    /// Something happened that may concern every pod.
    pub fn hear(&mut self, changes: &Wakes) {
        self.0.values_mut().for_each(|known| known.extend(changes));
    }

    /// Something happened that may concern these pods.
    pub fn hear_if(&mut self, changes: &Wakes, concerns: impl Fn(&Key) -> bool) {
        let concerned = self.0.iter_mut().filter(|(key, _)| concerns(key));
        concerned.for_each(|(_, known)| known.extend(changes));
    }

    /// Something of one pod changed.
    pub fn hear_of(&mut self, key: &Key, changes: &Wakes) {
        if let Some(known) = self.0.get_mut(key) {
            known.extend(changes);
        }
    }

    /// Listens for a pod no more.
    pub fn end(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// The same for a pod that is put back, and tells what it would have been woken by.
    pub fn missed(&mut self, key: &Key, wakes_on: Option<&Wakes>) -> Option<Wake> {
        let (heard, wakes_on) = (self.0.remove(key)?, wakes_on?);
        let could_help = |kind: &Wake| {
            let kind = Wakes::of(&[*kind]);
            heard.meets(&kind) && wakes_on.meets(&kind)
        };
        Wake::ALL.into_iter().find(could_help).filter(|_| wakes_on.meets(&heard))
    }
}
