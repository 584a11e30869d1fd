//! Bounds: how many requests are under way at once, and how many watches one client may have.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::status::Failure;

/// How many requests are worked on at once, watches aside.
const IN_FLIGHT_MAX: usize = 400;
/// How many watches one user may have open.
const WATCHES_MAX: usize = 5_000;

/// The server's bounds.
pub(crate) struct Limits {
    in_flight: Arc<Semaphore>,
    watches: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { in_flight: Arc::new(Semaphore::new(IN_FLIGHT_MAX)), watches: Mutex::new(BTreeMap::new()) }
    }
}

impl Limits {
    /// A place for a request, given back when it is dropped.
    pub(crate) fn request(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let place = Arc::clone(&self.in_flight).try_acquire_owned();
        place.map_err(|_| Failure::too_busy("too many requests are under way, please try again"))
    }

    /// A place for a watch of a user.
    pub(crate) fn watch(&self, user: &str) -> Result<OwnedSemaphorePermit, Failure> {
        let places = {
            let mut watches = self.watches.lock();
            Arc::clone(
                watches.entry(user.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(WATCHES_MAX))),
            )
        };
        places.try_acquire_owned().map_err(|_| Failure::too_busy("too many watches are open for this user"))
    }
}
