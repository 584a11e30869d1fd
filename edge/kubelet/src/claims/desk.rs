//! Held claims together with their copy on disk.
//!
//! Invariant: whoever changed the claims learns that it is on disk before anything is done about it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use super::checkpoint::{self, CheckpointError, FILE};
use super::held::Held;

/// The claims that this node holds. Clones share them.
#[derive(Clone)]
pub(crate) struct Desk {
    path: PathBuf,
    held: Arc<Mutex<Papers>>,
}

struct Papers {
    held: Held,
    /// What the disk has; nothing if that is not known.
    saved: Option<Held>,
}

impl Desk {
    /// Reads what was held when the node last ran.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub(crate) fn open(root: &Path) -> Result<Self, CheckpointError> {
        let path = root.join(FILE);
        let held = checkpoint::load(&path)?;
        let papers = Papers { saved: Some(held.clone()), held };
        Ok(Self { path, held: Arc::new(Mutex::new(papers)) })
    }

    /// Looks at the claims.
    pub(crate) async fn look<T>(&self, look: impl FnOnce(&Held) -> T) -> T {
        look(&self.held.lock().await.held)
    }

    /// Changes the claims, and keeps what they are now. A change that was made and not kept is kept with the next.
    ///
    /// # Errors
    /// The change says that it cannot be made, or the disk does not take it.
    pub(crate) async fn change<T, E>(
        &self,
        change: impl FnOnce(&mut Held) -> Result<T, E>,
        unkept: impl FnOnce(String) -> E,
    ) -> Result<T, E> {
        let mut papers = self.held.lock().await;
        let changed = change(&mut papers.held)?;
        if papers.saved.as_ref() != Some(&papers.held) {
            papers.saved = None;
            let (path, held) = (self.path.clone(), papers.held.clone());
            let saved = spawn_blocking(move || checkpoint::save(&path, &held)).await;
            match saved.expect("writing a file does not panic") {
                Ok(()) => papers.saved = Some(papers.held.clone()),
                Err(error) => return Err(unkept(error.to_string())),
            }
        }
        Ok(changed)
    }
}
