//! A unix socket that is served until it is told to stop, and gone afterwards.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use futures_util::{Stream, stream};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::transport::server::Router;

/// A socket that is served.
pub(crate) struct Socket {
    path: PathBuf,
    stop: watch::Sender<bool>,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Socket {
    /// Listens. A socket that a dead instance left behind is taken away first.
    pub(crate) fn serve(path: PathBuf, services: Router, stop: watch::Sender<bool>) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        remove(&path)?;
        let listener = UnixListener::bind(&path)?;
        let mut stopped = stop.subscribe();
        let until = async move {
            // Whoever forgets the socket wants it to stop, too.
            let _ = stopped.wait_for(|stop| *stop).await;
        };
        let serving = tokio::spawn(services.serve_with_incoming_shutdown(connections(listener), until));
        Ok(Self { path, stop, serving })
    }

    /// Takes no new calls, and waits for those that are under way.
    pub(crate) async fn stop(mut self) {
        // The file goes first: it is what the kubelet sees.
        let _ = remove(&self.path);
        self.stop.send_replace(true);
        let _ = (&mut self.serving).await;
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Nobody is left to tell of a file that cannot be removed; the next instance removes it.
        let _ = remove(&self.path);
        self.serving.abort();
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn connections(listener: UnixListener) -> impl Stream<Item = io::Result<UnixStream>> {
    stream::unfold(listener, |listener| async move {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        Some((accepted, listener))
    })
}
