//! A server that runs as a child of this process, and does not outlive it.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use thiserror::Error;

/// A server that did not start.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The program could not be run.
    #[error("cannot run the server: {0}")]
    Run(#[from] io::Error),
    /// The program ended, or said nothing of an address.
    #[error("the server did not say where it listens")]
    NoAddress,
}

/// A running server. Dropped, it is killed.
pub struct Launched {
    child: Child,
}

impl Launched {
    /// Runs a server without waiting for anything.
    ///
    /// # Errors
    /// When the program cannot be run.
    pub fn start(command: &mut Command) -> Result<Self, LaunchError> {
        Ok(Self { child: command.stdin(Stdio::null()).spawn()? })
    }

    /// Runs a server that prints a line `address https://…` when it listens, and waits for that line.
    ///
    /// # Errors
    /// When the program cannot be run, or ends before it listens.
    pub fn listening(command: &mut Command) -> Result<(Self, SocketAddr), LaunchError> {
        let mut launched = Self::start(command.stdout(Stdio::piped()))?;
        let out = launched.child.stdout.take().ok_or(LaunchError::NoAddress)?;
        let mut lines = BufReader::new(out).lines();
        let address = lines.find_map(|line| {
            let line = line.ok()?;
            line.strip_prefix("address")?.trim().strip_prefix("https://")?.parse().ok()
        });
        // What it says later is read away, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Ok((launched, address.ok_or(LaunchError::NoAddress)?))
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it with SIGKILL and waits until it is gone.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Tells it to stop with SIGTERM, and waits until it has.
    ///
    /// # Errors
    /// When the operating system refuses, or it ends in any other way than well.
    pub fn stop(&mut self) -> io::Result<()> {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        if !told.success() {
            return Err(io::Error::other("the process cannot be told to stop"));
        }
        let ended = self.child.wait()?;
        if ended.success() { Ok(()) } else { Err(io::Error::other(format!("it ended with {ended}"))) }
    }

    /// Says whether it still runs.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn runs(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        // It may be gone already, which is what is wanted.
        let _ = self.kill();
    }
}
