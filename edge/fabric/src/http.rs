//! One request, one answer, over a connection of its own: managers are asked seldom and answer slowly.
//!
//! Invariant: every request ends within [`TIMEOUT`], and no answer is larger than [`BODY_BYTES_MAX`].

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::rt::{Read, Write};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::Trouble;

const TIMEOUT: Duration = Duration::from_secs(30);
const BODY_BYTES_MAX: usize = 64 << 20;

/// Where a manager is, and how to be let in.
#[derive(Clone)]
pub struct Address {
    uri: Uri,
    host: String,
    port: u16,
    tls: Option<TlsConnector>,
    token: Option<String>,
}

/// An address that cannot be used.
#[derive(Debug, Error)]
#[error("cannot use {url:?} as the URL of a fabric manager: {why}")]
pub struct BadAddress {
    url: String,
    why: String,
}

impl Address {
    /// An address such as `http://127.0.0.1:8000`; over https, servers are known by the authority.
    ///
    /// # Errors
    /// When it is none, or the authority is none.
    pub fn parse(url: &str, token: Option<String>, authority_pem: Option<&[u8]>) -> Result<Self, BadAddress> {
        let bad = |why: String| BadAddress { url: url.to_owned(), why };
        let uri: Uri = url.parse().map_err(|error| bad(format!("{error}")))?;
        let host = uri
            .host()
            .ok_or_else(|| bad("it has no host name; hint: write it as http://127.0.0.1:8008".to_owned()))?
            .to_owned();
        let (tls, port) = match (uri.scheme_str(), authority_pem) {
            (Some("http"), _) => (None, 80),
            (Some("https"), Some(pem)) => (Some(connector(pem).map_err(bad)?), 443),
            (Some("https"), None) => {
                return Err(bad("https needs the CA certificate of the manager (--manager-ca)".to_owned()));
            }
            _ => {
                return Err(bad(
                    "it must begin with https:// or http://; hint: write it as http://127.0.0.1:8008"
                        .to_owned(),
                ));
            }
        };
        let port = uri.port_u16().unwrap_or(port);
        Ok(Self { uri, host, port, tls, token })
    }

    /// Asks, and reads the whole answer.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), Trouble> {
        let unreachable = |why: String| Trouble::Unreachable { address: self.uri.to_string(), why };
        match timeout(TIMEOUT, self.exchange(method, path, body)).await {
            Err(_) => Err(unreachable(format!("no answer within {} s", TIMEOUT.as_secs()))),
            Ok(Err(why)) => Err(unreachable(why)),
            Ok(Ok((status, body))) => {
                let unreadable = |why: String| Trouble::Unreadable { path: path.to_owned(), why };
                let body = if body.is_empty() { b"null" } else { &body[..] };
                let body = serde_json::from_slice(body).map_err(|error| unreadable(error.to_string()))?;
                Ok((status, body))
            }
        }
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Bytes), String> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await.map_err(text)?;
        stream.set_nodelay(true).map_err(text)?;
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, format!("{}:{}", self.host, self.port))
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/json");
        if let Some(token) = &self.token {
            request = request.header("X-Auth-Token", token);
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(body))).map_err(text)?;
        match &self.tls {
            None => converse(TokioIo::new(stream), request).await,
            Some(tls) => {
                let name = ServerName::try_from(self.host.clone()).map_err(text)?;
                converse(TokioIo::new(tls.connect(name, stream).await.map_err(text)?), request).await
            }
        }
    }
}

async fn converse<S>(stream: S, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes), String>
where
    S: Read + Write + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(stream).await.map_err(text)?;
    let answered = async {
        let response = sender.send_request(request).await.map_err(text)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), BODY_BYTES_MAX).collect().await.map_err(text)?;
        Ok((status, body.to_bytes()))
    };
    tokio::pin!(answered);
    tokio::select! {
        answer = &mut answered => answer,
        // The connection may end before the answer is taken from it.
        _ = connection => answered.await,
    }
}

fn connector(authority_pem: &[u8]) -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority_pem) {
        roots.add(certificate.map_err(text)?).map_err(text)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(text)?;
    Ok(TlsConnector::from(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
