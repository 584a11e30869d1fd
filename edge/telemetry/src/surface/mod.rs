//! What a scheduler answers about itself over HTTP: whether it is well, what it measured, how it is configured.
//!
//! Paths and answers are those of the Kubernetes scheduler. Nothing here changes anything, and nothing waits for the
//! scheduler: checks are values that are looked at. Connections are bounded in number and in time, so that no client
//! keeps the surface from others, or the process from ending.

mod answer;
mod checks;
mod readers;
mod tls;
mod zpages;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::metrics::Exposition;
use answer::Pages;
pub use checks::{Check, Checks, Flag, Health, Pulse};
pub use readers::{Judge, Judgement, Readers};
pub use tls::{TlsError, Transport};
pub use zpages::Component;

/// How a surface is set up.
pub struct Options {
    /// Where to listen; Kubernetes' scheduler does on port 10259 of all addresses.
    pub listen: SocketAddr,
    /// TLS or not.
    pub transport: Transport,
    /// What `/healthz`, `/livez` and `/readyz` look at.
    pub checks: Checks,
    /// The configuration as it came out of flags, file and defaults.
    pub configuration: Value,
    /// What `/statusz` and `/flagz` show.
    pub component: Component,
    /// What `/metrics` shows.
    pub metrics: Arc<dyn Exposition>,
    /// Who may see more than whether all is well.
    pub readers: Readers,
}

/// The port that Kubernetes' scheduler listens on, unless it is told otherwise.
pub const PORT: u16 = 10259;

/// The port that Kubernetes' controller manager listens on, unless it is told otherwise.
pub const CONTROLLERS_PORT: u16 = 10257;

/// A surface that could not be set up.
#[derive(Debug, Error)]
pub enum SurfaceError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; hint: choose another --secure-port, or 0 to disable it")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Tokens would be readable on the way.
    #[error("refusing to take tokens on {0} without TLS; hint: listen on 127.0.0.1, or leave TLS on")]
    NotPrivate(SocketAddr),
    /// The certificate cannot be made or used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// How many clients are served at once; others wait to be accepted.
const CONNECTIONS_MAX: usize = 64;
/// A client that does not finish its handshake is cut off.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A client that sends no request for so long is cut off.
const IDLE: Duration = Duration::from_secs(30);
/// After this long a connection ends with the answer that is under way, so that none is kept for ever.
const LIFE: Duration = Duration::from_secs(300);
/// What a request may fill with its headers.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// How long an answer that is under way may take when its connection ends.
const GRACE: Duration = Duration::from_secs(5);

/// A surface that listens.
pub struct Surface {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    certificate: Option<String>,
    pages: Arc<Pages>,
}

impl Surface {
    /// Listens; nothing is answered before [`Surface::serve`].
    ///
    /// # Errors
    /// When the address cannot be listened on, or the certificate cannot be used.
    pub async fn bind(options: Options) -> Result<Self, SurfaceError> {
        let address = options.listen;
        let judged = matches!(options.readers, Readers::Judged(_));
        if judged && matches!(options.transport, Transport::Plain) && !address.ip().is_loopback() {
            return Err(SurfaceError::NotPrivate(address));
        }
        let (tls, certificate) = match options.transport.prepare(address.ip())? {
            Some(prepared) => (Some(TlsAcceptor::from(prepared.config)), prepared.certificate),
            None => (None, None),
        };
        let listener =
            TcpListener::bind(address).await.map_err(|source| SurfaceError::Listen { address, source })?;
        let pages = Pages::new(options);
        Ok(Self { listener, tls, certificate, pages: Arc::new(pages) })
    }

    /// Where the surface listens.
    ///
    /// # Errors
    /// When the socket is gone.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The certificate that was made for this surface, as PEM, for clients that want to recognise it.
    #[must_use]
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// Answers until `stop` is done, then finishes the answers that are under way, for a few seconds at most.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let (ending, ends) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let (socket, place) = tokio::select! {
                accepted = accept(&self.listener, &places) => accepted,
                () = &mut stop => break,
            };
            while connections.try_join_next().is_some() {}
            let (tls, pages, ends) = (self.tls.clone(), Arc::clone(&self.pages), ends.clone());
            connections.spawn(async move {
                connection(socket, tls, pages, ends).await;
                drop(place);
            });
        }
        // New clients are turned away at once, and not when the last old one has gone.
        drop(self.listener);
        ending.send_replace(true);
        let all = async { while connections.join_next().await.is_some() {} };
        // A little more than each of them takes by itself; who is left is cut off.
        let _ = tokio::time::timeout(GRACE + Duration::from_secs(1), all).await;
    }
}

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    loop {
        let place = Arc::clone(places).acquire_owned().await.expect("nobody closes the places");
        match listener.accept().await {
            Ok((socket, _)) => return (socket, place),
            // Out of file descriptors, most likely: others will close theirs.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn connection(
    socket: TcpStream,
    tls: Option<TlsAcceptor>,
    pages: Arc<Pages>,
    mut ends: watch::Receiver<bool>,
) {
    let Some(tls) = tls else {
        return talk(TokioIo::new(socket), pages, ends).await;
    };
    let shaken = tokio::select! {
        shaken = tokio::time::timeout(HANDSHAKE, tls.accept(socket)) => shaken,
        _ = ends.wait_for(|ends| *ends) => return,
    };
    // A client that speaks no TLS, or none of ours, has gone elsewhere by itself.
    if let Ok(Ok(stream)) = shaken {
        talk(TokioIo::new(stream), pages, ends).await;
    }
}

async fn talk<S>(stream: TokioIo<S>, pages: Arc<Pages>, mut ends: watch::Receiver<bool>)
where
    TokioIo<S>: hyper::rt::Read + hyper::rt::Write + Unpin,
{
    let service = service_fn(|request| {
        let pages = Arc::clone(&pages);
        async move { Ok::<_, Infallible>(pages.answer(&request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(stream, service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // How a connection ends is the client's affair.
        _ = connection.as_mut() => return,
        _ = ends.wait_for(|ends| *ends) => {}
        () = tokio::time::sleep(LIFE) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(GRACE, connection).await;
}
