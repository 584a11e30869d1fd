//! A program that ends when this process does, however that happens.
//!
//! Invariant: the program hangs on a pipe whose other end only we hold. A process that is killed, or that ends without
//! dropping what it has, closes the pipe all the same.

use std::io;
use std::process::{Child, Command, Stdio};

/// Kills the program once there is nothing more to read.
const SCRIPT: &str = r#""$@" & child=$!; cat > /dev/null; kill -9 "$child"; wait "$child""#;

/// A program on a leash. Dropped, it is killed.
#[derive(Debug)]
pub struct Leashed {
    shell: Child,
}

impl Leashed {
    /// Runs a program with its arguments; where it writes to is given beside, since a command does not tell.
    ///
    /// # Errors
    /// When there is no shell to hold the leash.
    pub fn start(command: &Command, out: impl Into<Stdio>) -> io::Result<Self> {
        let mut leash = Command::new("sh");
        leash.args(["-c", SCRIPT, "leash"]).arg(command.get_program()).args(command.get_args());
        let shell = leash.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(out).spawn()?;
        Ok(Self { shell })
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // The shell says how the program ended, which is as we wanted it.
        let _ = self.shell.wait();
    }
}
