//! One connection to an API server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A call that got no answer.
#[derive(Debug, Error)]
pub enum CallError {
    /// No connection could be made.
    #[error("cannot connect: {0}")]
    Connect(#[from] io::Error),
    /// The authority's certificate cannot be used.
    #[error("cannot use the certificate of the authority: {0}")]
    Authority(String),
    /// The connection broke; whether the request was carried out is not known.
    #[error("the connection broke: {0}")]
    Broken(#[from] hyper::Error),
    /// The request could not be put together.
    #[error("the request is malformed: {0}")]
    Malformed(#[from] hyper::http::Error),
}

/// Where a server is, and how to be let in.
#[derive(Clone)]
pub struct Place {
    address: SocketAddr,
    tls: Arc<ClientConfig>,
    bearer: String,
}

impl Place {
    /// A server whose certificate was signed by this authority, given as PEM.
    ///
    /// # Errors
    /// When the certificate is malformed.
    pub fn new(address: SocketAddr, authority_pem: &[u8], token: &str) -> Result<Self, CallError> {
        let unusable = |error: &dyn std::fmt::Display| CallError::Authority(error.to_string());
        let authority = CertificateDer::from_pem_slice(authority_pem).map_err(|error| unusable(&error))?;
        let mut roots = RootCertStore::empty();
        roots.add(authority).map_err(|error| unusable(&error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { address, tls: Arc::new(config), bearer: format!("Bearer {token}") })
    }
}

/// What a server said.
#[derive(Debug)]
pub struct RawResponse {
    /// The HTTP code.
    pub code: u16,
    /// The body.
    pub body: Bytes,
}

/// A connection that does one thing at a time.
pub struct Caller {
    place: Place,
    sender: SendRequest<Full<Bytes>>,
}

impl Caller {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens there, or it is not the server that the authority signed.
    pub async fn connect(place: &Place) -> Result<Self, CallError> {
        let socket = TcpStream::connect(place.address).await?;
        socket.set_nodelay(true)?;
        let name = ServerName::IpAddress(place.address.ip().into());
        let stream = TlsConnector::from(Arc::clone(&place.tls)).connect(name, socket).await?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // How the connection ends is told to whoever waits for an answer on it.
        tokio::spawn(connection);
        Ok(Self { place: place.clone(), sender })
    }

    /// Asks, and waits for the whole answer.
    ///
    /// # Errors
    /// When the connection breaks before the answer is complete.
    pub async fn call(
        &mut self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<RawResponse, CallError> {
        let response = self.send(method, path, body.into()).await?;
        let code = response.status().as_u16();
        Ok(RawResponse { code, body: response.into_body().collect().await?.to_bytes() })
    }

    /// Asks for an answer that comes line by line, such as a watch.
    ///
    /// # Errors
    /// When the connection breaks before the answer begins.
    pub async fn lines(mut self, path: &str) -> Result<Lines, CallError> {
        let response = self.send(Method::GET, path, Bytes::new()).await?;
        let code = response.status().as_u16();
        Ok(Lines { code, body: response.into_body(), rest: BytesMut::new(), _caller: self })
    }

    async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>, CallError> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.place.address.to_string())
            .header(AUTHORIZATION, &self.place.bearer)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))?;
        self.sender.ready().await?;
        Ok(self.sender.send_request(request).await?)
    }
}

/// An answer that comes line by line.
pub struct Lines {
    code: u16,
    body: Incoming,
    rest: BytesMut,
    _caller: Caller,
}

impl Lines {
    /// The HTTP code.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// The bytes as they come; `None` at the end.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, CallError> {
        loop {
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            if let Ok(chunk) = frame?.into_data() {
                return Ok(Some(chunk));
            }
        }
    }

    /// The next whole line; `None` at the end.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn line(&mut self) -> Result<Option<Bytes>, CallError> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                return Ok(Some(self.rest.split_to(end + 1).freeze()));
            }
            let Some(chunk) = self.chunk().await? else { return Ok(None) };
            self.rest.extend_from_slice(&chunk);
        }
    }
}
