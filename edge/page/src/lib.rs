//! The web page: a cluster with its devices, waiting pods and decisions, live in a browser.
//!
//! A thread of its own follows the cluster as a scheduler does ([`live`]) and keeps what is shown; requests are answered from that
//! ([`routes`]), and changes are sent to every open page ([`stream`]). Who may ask is decided first ([`access`]).
//!
//! Invariant: nothing is written to the cluster, and nothing is shown that the identity of the connection may not read. What a page
//! does not take in time is not kept for it. Until a page is opened, nothing is followed.

mod access;
mod answer;
mod assets;
mod live;
mod object;
mod routes;
mod stream;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use client::{Connection, Reach};
use decisions::settings::Settings;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use inventory::observed::Namespaces;
use serde_json::Value;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use views::observer::Observer;

use access::Access;
use routes::Routes;

/// Makes a connection to the API server. Its requests are counted by this reach.
pub type Connect =
    Box<dyn Fn(Reach) -> Pin<Box<dyn Future<Output = Result<Connection, String>> + Send>> + Send + Sync>;

/// Answers what would become of pods in a changed cluster.
pub type Planner = Arc<dyn Fn(PlanRequest) -> Result<Value, Refused> + Send + Sync>;

/// What is shown.
pub enum Source {
    /// A cluster, followed as a scheduler follows it.
    Live {
        /// The way to its API server.
        connect: Connect,
        /// The settings of its scheduler.
        settings: Box<Settings>,
        /// Namespaces to read if not all may be read.
        namespaces: Vec<String>,
    },
    /// The state of a moment.
    Still(Box<Observer>),
}

/// How a page is served.
pub struct Options {
    /// Where to listen; port 0 chooses a free port.
    pub listen: SocketAddr,
    /// What is shown.
    pub source: Source,
    /// The namespaces of which claims and pods are named.
    pub named: Namespaces,
    /// What is shown, in words, such as the address of a server.
    pub title: String,
    /// Who plans, if plans can be made.
    pub planner: Option<Planner>,
    /// Where sessions are kept, if a page that is open is to continue after a restart.
    pub sessions: Option<Sessions>,
}

/// Sessions that outlive the server. They are secret, as a kubeconfig is.
pub struct Sessions {
    /// What was kept.
    pub text: String,
    /// Keeps this instead.
    pub save: Box<dyn Fn(&str) + Send + Sync>,
}

/// A question about a changed cluster.
#[derive(Clone, Debug, Default)]
pub struct PlanRequest {
    /// Manifests in YAML or JSON.
    pub manifests: String,
    /// Changes, as `supercargo plan --with` takes them.
    pub with: Vec<String>,
    /// The namespace of manifests that name none.
    pub namespace: Option<String>,
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// A page that cannot be served.
#[derive(Debug, Error)]
pub enum PageError {
    /// The token would be readable on the way.
    #[error(
        "refusing to serve the page on {0} without TLS; hint: use 127.0.0.1 and reach it through `ssh -L` or `kubectl port-forward`"
    )]
    NotPrivate(SocketAddr),
    /// The address cannot be listened on.
    #[error(
        "cannot listen on {address}: {source}; hint: choose another address for the page, such as 127.0.0.1:0"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// How many connections are open at once; others wait to be accepted. Each open page has one for its updates, and a few more for moments.
const CONNECTIONS_MAX: usize = 256;
/// A client that sends no request for so long is cut off.
const IDLE: Duration = Duration::from_secs(30);
/// What a request may fill with its headers.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// How long answers may take when the page ends.
const GRACE: Duration = Duration::from_secs(1);

/// A page that listens.
pub struct Page {
    listener: TcpListener,
    address: SocketAddr,
    access: Arc<Access>,
    routes: Arc<Routes>,
}

impl Page {
    /// Listens; nothing is answered before [`Page::serve`].
    ///
    /// # Errors
    /// When the address is not of this machine alone, or cannot be listened on.
    pub async fn bind(mut options: Options) -> Result<Page, PageError> {
        let address = options.listen;
        if !address.ip().is_loopback() {
            return Err(PageError::NotPrivate(address));
        }
        let failed = |source| PageError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let access = Arc::new(Access::new(address.port(), options.sessions.take()));
        let routes = Arc::new(Routes::new(options, access.clone()));
        Ok(Page { listener, address, access, routes })
    }

    /// The link to open in a browser. It works once.
    #[must_use]
    pub fn link(&self) -> String {
        self.access.link(&format!("{}", self.address))
    }

    /// Where the page listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is done.
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
            let (routes, ends) = (self.routes.clone(), ends.clone());
            connections.spawn(async move {
                talk(socket, routes, ends).await;
                drop(place);
            });
        }
        drop(self.listener);
        ending.send_replace(true);
        self.routes.end();
        let all = async { while connections.join_next().await.is_some() {} };
        // Streams of updates end by themselves; who does not read is cut off.
        let _ = tokio::time::timeout(GRACE * 2, all).await;
    }
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (tokio::net::TcpStream, OwnedSemaphorePermit) {
    loop {
        let place = places.clone().acquire_owned().await.expect("nobody closes the places");
        match listener.accept().await {
            Ok((socket, _)) => return (socket, place),
            // Out of file descriptors, most likely: others will close theirs.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn talk(socket: tokio::net::TcpStream, routes: Arc<Routes>, mut ends: watch::Receiver<bool>) {
    let service = service_fn(|request| {
        let routes = routes.clone();
        async move { Ok::<_, Infallible>(routes.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(socket), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // How a connection ends is the client's affair.
        _ = connection.as_mut() => return,
        _ = ends.wait_for(|ends| *ends) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(GRACE, connection).await;
}
