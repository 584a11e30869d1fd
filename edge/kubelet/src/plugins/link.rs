//! A connection to a plugin over its unix socket, made anew whenever it breaks.
//!
//! The connection is our own and not one of tonic's channels, because a channel does not say when it is lost, and the slices
//! of a driver that cannot be reached have to go.

use std::error::Error;
use std::io;
use std::path::Path;
use std::time::Duration;

use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tonic::body::Body;
use tonic::client::{Grpc, GrpcService};
use tonic::codegen::http::Uri;

/// How long it may take to connect on one machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The pauses between attempts to connect.
const PAUSE_FIRST: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// The largest message that a plugin may send, which is what a kubelet takes.
const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// Sends requests over a connection; clones share it.
pub(crate) type Sender = SendRequest<Body>;

type Broken = Box<dyn Error + Send + Sync>;

/// Connects, and gives what sends requests and what ends with the connection.
///
/// # Errors
/// Nobody listens, or not in time.
pub(crate) async fn connect(path: &Path) -> io::Result<(Sender, impl Future<Output = ()> + use<>)> {
    let connecting = async {
        let stream = UnixStream::connect(path).await?;
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.map_err(io::Error::other)
    };
    let (sender, connection) = timeout(CONNECT_TIMEOUT, connecting).await.map_err(io::Error::other)??;
    Ok((sender, async move {
        // However it ended, it is over.
        let _ = connection.await;
    }))
}

/// Keeps a connection without end. It is in `link` while there is one, and `changed` hears when that changes.
pub(crate) async fn keep(path: &Path, link: &watch::Sender<Option<Sender>>, changed: impl Fn(bool)) {
    let mut pause = PAUSE_FIRST;
    loop {
        if let Ok((sender, connection)) = connect(path).await {
            link.send_replace(Some(sender));
            changed(true);
            connection.await;
            link.send_replace(None);
            changed(false);
            pause = PAUSE_FIRST;
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// A client of the services on a connection.
pub(crate) fn client(
    sender: Sender,
) -> Grpc<impl GrpcService<Body, ResponseBody = Incoming, Error: Into<Broken>, Future: Send> + use<>> {
    let service = tower::service_fn(move |request: Request<Body>| {
        let mut sender = sender.clone();
        async move { sender.send_request(request).await.map(|response: Response<Incoming>| response) }
    });
    // A unix socket has no host, and every request needs one.
    let origin = Uri::from_static("http://localhost");
    Grpc::with_origin(service, origin).max_decoding_message_size(MESSAGE_BYTES_MAX)
}
