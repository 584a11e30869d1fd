//! Drives a real Chromium without a window, for tests of the web page.
//!
//! Messages of the DevTools protocol go through pipes, as JSON with a zero byte after each, so that no port is open and nothing but
//! the browser itself is needed. [`audit`] is a script that judges a page by rules of accessibility.
//!
//! Invariant: the browser ends with the value that started it, and leaves nothing behind.

pub mod audit;
mod pipe;
mod tab;

use std::env;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};
use serde_json::json;

use pipe::Pipe;
pub use tab::{Look, Tab};

/// Where Chromium is looked for, after `$CHROMIUM`.
const PLACES: [&str; 4] = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
];

/// A browser that runs.
pub struct Browser {
    pipe: Arc<Pipe>,
    profile: PathBuf,
}

/// The Chromium of this machine, if there is one.
#[must_use]
pub fn chromium() -> Option<PathBuf> {
    let named = env::var_os("CHROMIUM").map(PathBuf::from).into_iter();
    named.chain(PLACES.iter().map(PathBuf::from)).find(|path| path.is_file())
}

impl Browser {
    /// Starts a Chromium with a profile of its own.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(program: &Path) -> Result<Browser> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let profile = env::temp_dir().join(format!("supercargo-browser-{}-{number}", process::id()));
        let pipe = Pipe::start(program, &profile).context("cannot start the browser")?;
        Ok(Browser { pipe: Arc::new(pipe), profile })
    }

    /// Opens an address in a tab that looks like this.
    ///
    /// # Errors
    /// The browser does not answer.
    pub fn open(&self, address: &str, look: Look) -> Result<Tab> {
        let made = self.pipe.call(None, "Target.createTarget", &json!({ "url": "about:blank" }))?;
        let target = made["targetId"].as_str().context("a tab has an id")?.to_owned();
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = self.pipe.call(None, "Target.attachToTarget", &attach)?;
        let session = attached["sessionId"].as_str().context("a session has an id")?.to_owned();
        let tab = Tab::new(self.pipe.clone(), session);
        tab.begin(look)?;
        tab.go(address)?;
        Ok(tab)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.pipe.end();
        // What is left of a profile is only in the way.
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
