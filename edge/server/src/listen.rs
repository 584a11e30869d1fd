//! The listening socket: accepts connections, speaks TLS, and stops when told.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gates::Gates;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use store::Store;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::authenticate::{User, Users, user_of};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::paths;
use crate::registry::{Log, Registry};
use crate::respond::HttpResponse;
use crate::seed;
use crate::service::Service;
use crate::tls::{Credentials, TlsError};
use crate::upkeep;

/// How a server is set up.
pub struct Options {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Certificates; without them the server speaks plain HTTP, which it does on loopback only.
    pub credentials: Option<Credentials>,
    /// Who may use it.
    pub users: Users,
    /// Which features are on.
    pub gates: Gates,
    /// What was stored before.
    pub store: Store,
    /// Where changes are made durable.
    pub log: Box<dyn Log>,
}

/// What to do about an address that cannot be listened on.
fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => "stop the process that uses the port, or choose another with --listen",
        io::ErrorKind::AddrNotAvailable => {
            "choose an address of this machine with --listen, such as 127.0.0.1"
        }
        io::ErrorKind::PermissionDenied => "choose a port above 1023 with --listen",
        _ => "choose another address with --listen",
    }
}

/// A server that could not start.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; hint: {}", advice(source))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Others could read and change everything.
    #[error("refusing to listen on {0} without TLS; hint: listen on 127.0.0.1, or leave TLS on")]
    NotPrivate(SocketAddr),
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// What every cluster has could not be made.
    #[error("cannot create the first objects: {0}")]
    Seed(String),
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    service: Arc<Service>,
}

/// A client that sends no request for so long is cut off.
const HEADER_SECONDS: u64 = 30;
/// A client that does not finish its handshake is cut off.
const HANDSHAKE: Duration = Duration::from_secs(10);

impl Server {
    /// Listens, and makes what every cluster has.
    ///
    /// # Errors
    /// When the address cannot be listened on, or would be open to others without TLS.
    pub async fn bind(options: Options) -> Result<Self, ListenError> {
        if !options.listen.ip().is_loopback() && options.credentials.is_none() {
            return Err(ListenError::NotPrivate(options.listen));
        }
        let tls = match &options.credentials {
            Some(credentials) => Some(TlsAcceptor::from(credentials.server_config()?)),
            None => None,
        };
        let listen = |source| ListenError::Listen { address: options.listen, source };
        let listener = TcpListener::bind(options.listen).await.map_err(listen)?;
        let registry = Registry::new(options.store, options.log, options.gates);
        seed::seed(&registry).await.map_err(|failure| ListenError::Seed(failure.message))?;
        let address = listener.local_addr().map_err(listen)?.to_string();
        let service = Service {
            address,
            checks: paths::checks(&registry),
            registry,
            users: options.users,
            limits: Limits::default(),
            metrics: Metrics::default(),
        };
        Ok(Self { listener, tls, service: Arc::new(service) })
    }

    /// Where the server listens.
    ///
    /// # Errors
    /// When the socket is gone.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is done.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let upkeep = tokio::spawn(upkeep::run(Arc::clone(&self.service.registry)));
        let mending = tokio::spawn(upkeep::mend(self.service.registry.log()));
        self.accept(stop).await;
        upkeep.abort();
        mending.abort();
    }

    async fn accept(&self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut stop => return,
            };
            match accepted {
                Ok((socket, _)) => {
                    let (tls, service) = (self.tls.clone(), Arc::clone(&self.service));
                    tokio::spawn(connection(socket, tls, service));
                }
                // Out of file descriptors, most likely: others will close theirs.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

async fn connection(socket: TcpStream, tls: Option<TlsAcceptor>, service: Arc<Service>) {
    // Small answers should not wait for larger ones.
    let _ = socket.set_nodelay(true);
    let Some(tls) = tls else {
        return talk(TokioIo::new(socket), None, service).await;
    };
    // A client that speaks no TLS, or none of ours, has gone elsewhere by itself.
    if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, tls.accept(socket)).await {
        let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let user = certificate.and_then(|certificate| user_of(certificate));
        talk(TokioIo::new(stream), user, service).await;
    }
}

async fn talk<S>(stream: TokioIo<S>, user: Option<User>, service: Arc<Service>)
where
    TokioIo<S>: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let answer = service_fn(move |request| {
        let (service, user) = (Arc::clone(&service), user.clone());
        async move { Ok::<HttpResponse, std::convert::Infallible>(service.answer(request, user).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(HEADER_SECONDS));
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(1000);
    // How a connection ends is the client's affair.
    let _ = builder.serve_connection(stream, answer).await;
}
