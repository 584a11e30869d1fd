//! The slices that the server has, as far as anybody told us.
//!
//! Invariant: what is known of a slice never gets older. News come twice and out of step, as events of a watch and as
//! answers to writes; a slice that is known to be deleted does not come back by an event that was late.

use std::collections::{BTreeMap, BTreeSet};

use objects::resource::slice::ResourceSlice;

/// Slices by name.
#[derive(Debug, Default)]
pub(crate) struct Known {
    slices: BTreeMap<String, ResourceSlice>,
    /// Uids of slices that were deleted, until the watch says so too.
    deleted: BTreeSet<String>,
}

impl Known {
    /// The slices of a pool.
    pub(crate) fn of_pool(&self, pool: &str) -> Vec<&ResourceSlice> {
        self.slices.values().filter(|slice| slice.spec.pool.name == pool).collect()
    }

    /// The names of all pools that have slices.
    pub(crate) fn pools(&self) -> BTreeSet<&str> {
        self.slices.values().map(|slice| &*slice.spec.pool.name).collect()
    }

    /// The slice is or was as this says. Whether that is news.
    pub(crate) fn apply(&mut self, slice: ResourceSlice) -> bool {
        let old = self.slices.get(&slice.metadata.name);
        if self.deleted.contains(&slice.metadata.uid) || old.is_some_and(|old| !is_newer(&slice, old)) {
            return false;
        }
        self.slices.insert(slice.metadata.name.clone(), slice);
        true
    }

    /// The watch says that the slice is gone. The slice, if that is news.
    pub(crate) fn vanished(&mut self, name: &str, uid: &str) -> Option<ResourceSlice> {
        self.deleted.remove(uid);
        let is_this = self.slices.get(name).is_some_and(|slice| slice.metadata.uid == uid);
        if is_this { self.slices.remove(name) } else { None }
    }

    /// The server answered that there is no such slice.
    pub(crate) fn missing(&mut self, name: &str) {
        if let Some(slice) = self.slices.remove(name) {
            self.deleted.insert(slice.metadata.uid);
        }
    }
}

/// Versions grow. A server whose versions are no numbers is believed as it speaks.
fn is_newer(slice: &ResourceSlice, than: &ResourceSlice) -> bool {
    let version = |slice: &ResourceSlice| slice.metadata.resource_version.parse::<u64>();
    match (version(slice), version(than)) {
        (Ok(new), Ok(old)) => new > old,
        _ => slice.metadata.resource_version != than.metadata.resource_version,
    }
}
