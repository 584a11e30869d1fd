//! Starts our server for one session, in a folder of its own, and stops it when the session is over.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

use anyhow::{Context, Result, bail};

/// A process, and the end of its output that must stay open for it to go on.
struct Server {
    child: Child,
    _output: BufReader<ChildStdout>,
}

/// A server, and the folder in which a session may leave things.
pub(crate) struct Running {
    server: Option<Server>,
    folder: PathBuf,
    kubeconfig: PathBuf,
}

impl Running {
    /// Takes the server of a kubeconfig, or starts one of our own.
    pub(crate) fn new(kubeconfig: Option<&Path>) -> Result<Self> {
        static SESSIONS: AtomicU32 = AtomicU32::new(0);
        let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("supercargo-clients-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        if let Some(kubeconfig) = kubeconfig {
            return Ok(Self { server: None, folder, kubeconfig: kubeconfig.canonicalize()? });
        }
        let kubeconfig = folder.join("kubeconfig");
        let mut running = Self { server: None, kubeconfig, folder };
        running.server = Some(running.start()?);
        Ok(running)
    }

    fn start(&self) -> Result<Server> {
        let program = env::current_exe()?.with_file_name("supercargo");
        if !program.exists() {
            bail!("there is no server at {}; hint: cargo build --release -p supercargo", program.display());
        }
        let mut child = Command::new(&program)
            .args(["apiserver", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(self.folder.join("server"))
            .arg("--write-kubeconfig")
            .arg(&self.kubeconfig)
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let out = child.stdout.take().context("the server's output is not ours")?;
        let mut reader = BufReader::new(out);
        // It prints its address once it listens.
        if !reader.by_ref().lines().any(|line| line.is_ok_and(|line| line.starts_with("address"))) {
            let ended = child.wait()?;
            bail!("the server did not start: {ended}");
        }
        Ok(Server { child, _output: reader })
    }

    /// Where the server is and who the administrator is.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Where a session may leave things.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.child.kill();
            let _ = server.child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
