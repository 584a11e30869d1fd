//! Controllers in this process, and what they told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use client::Connection;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use upkeep::{Choice, Listener, Notice, Options};

/// Controllers in this process. Dropped, they end in the middle of what they do.
pub struct Keeper {
    heard: Arc<Heard>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Heard {
    troubles: Mutex<Vec<String>>,
    worked: AtomicU64,
    retried: AtomicU64,
}

impl Listener for Heard {
    fn hear(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Failed { .. } | Notice::Trouble { .. } => {
                self.troubles.lock().push(format!("{notice:?}"));
            }
            Notice::Worked { .. } => drop(self.worked.fetch_add(1, Ordering::Relaxed)),
            Notice::Retried { .. } => drop(self.retried.fetch_add(1, Ordering::Relaxed)),
            _ => {}
        }
    }
}

impl Keeper {
    /// Starts these controllers.
    ///
    /// # Errors
    /// When there is no controller of such a name.
    pub fn start(connection: &Connection, controllers: &[&str]) -> Result<Self> {
        let heard = Arc::new(Heard::default());
        let controllers = Choice::parse(controllers.iter().copied())?;
        let options = Options { controllers, listener: heard.clone(), ..Options::default() };
        let task = tokio::spawn(upkeep::run(connection.clone(), options, std::future::pending()));
        Ok(Self { heard, task })
    }

    /// How many pieces of work there were, and how many had to be tried again because somebody else was faster.
    #[must_use]
    pub fn worked(&self) -> (u64, u64) {
        (self.heard.worked.load(Ordering::Relaxed), self.heard.retried.load(Ordering::Relaxed))
    }

    /// What went wrong.
    #[must_use]
    pub fn troubles(&self) -> Vec<String> {
        self.heard.troubles.lock().clone()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}
