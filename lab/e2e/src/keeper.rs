//! Controllers in this process, and what they told.

use std::sync::Arc;

use anyhow::Result;
use client::Connection;
use gates::{Gate, Gates};
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
}

impl Listener for Heard {
    fn hear(&self, notice: &Notice<'_>) {
        if matches!(notice, Notice::Failed { .. } | Notice::Trouble { .. }) {
            self.troubles.lock().push(format!("{notice:?}"));
        }
    }
}

impl Keeper {
    /// Starts these controllers.
    ///
    /// # Errors
    /// When there is no controller of such a name.
    pub fn start(connection: &Connection, controllers: &[&str]) -> Result<Self> {
        Self::start_with(connection, controllers, Gates::default())
    }

    /// Starts these controllers with these features.
    ///
    /// # Errors
    /// When there is no controller of such a name.
    pub fn start_with(connection: &Connection, controllers: &[&str], gates: Gates) -> Result<Self> {
        let heard = Arc::new(Heard::default());
        let controllers = Choice::parse(controllers.iter().copied())?;
        let gates = gates.with(Gate::DRAControlPlaneController, true);
        let options = Options { controllers, gates, listener: heard.clone(), ..Options::default() };
        let task = tokio::spawn(upkeep::run(connection.clone(), options, std::future::pending()));
        Ok(Self { heard, task })
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
